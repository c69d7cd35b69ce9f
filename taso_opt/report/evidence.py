"""What a report shows beside its figures: rewritten places as drawings, costs by operator, errors by output."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DrawnNode:
    """One box of a drawing; `operands` are the numbers of earlier nodes.

    `kind` is operator, folded (an operator over weights, computed ahead of time), value, weight, or more (left out).
    """

    kind: str
    label: str
    detail: str
    operands: tuple[int, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """A small graph, operands before what uses them; `outputs` are numbers of nodes."""

    nodes: tuple[DrawnNode, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Place:
    """One application of a rule.

    `number` counts from 1 in the order of application; `nodes` names the first of the `replaced` nodes. `position` says
    how far from the inputs (0) to the outputs (1) that is. `predicted_gain_ms` is the predicted change of this place
    alone, None where it is not known. Drawings are left out (None) where a report would have too many of them.
    """

    number: int
    rule: str
    nodes: tuple[str, ...]
    replaced: int
    position: float
    predicted_gain_ms: float | None
    before: Drawing | None = None
    after: Drawing | None = None


@dataclass(frozen=True)
class OperatorCost:
    """What all kernels of one kind cost, as predicted: how many there are and their milliseconds in all."""

    operator: str
    count_before: int
    count_after: int
    before_ms: float
    after_ms: float


@dataclass(frozen=True)
class OutputError:
    """One output of the model: its largest errors over all inputs tried, what was allowed, whether it agrees."""

    name: str
    max_abs: float
    max_rel: float
    tolerance: float
    agrees: bool


@dataclass(frozen=True)
class SearchPoint:
    """The best predicted cost at one moment of the search."""

    seconds: float
    explored: int
    expanded: int
    best_ms: float
