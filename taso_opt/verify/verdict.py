"""What the verifier answers about one equation: proved, refuted with a counterexample, or unknown with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from taso_opt.core.rule import FpClass


class Contradiction(AssertionError):
    """An equation is both proved and refuted: an axiom is false or a meaning is wrong; the message names both."""


@dataclass(frozen=True)
class Proved:
    """The equation follows from the axioms, and evaluation agreed on `instances` random instances.

    `from_recorded` tells whether the axioms that its certificate names were enough. `conditions` were not stated with
    the equation and are needed for it to be true, such as `s >= 0`.
    """

    from_recorded: bool
    engine: str
    instances: int
    fp_class: FpClass
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counterexample:
    """An instance on which the two sides differ.

    `variables` are the types of the instance, `source` and `target` its two sides with their attributes. `place`
    counts in the output that differs; it is empty when already the shapes differ.
    """

    arithmetic: str
    variables: tuple[str, ...]
    source: str
    target: str
    place: tuple[int, ...]
    source_value: str
    target_value: str

    def __str__(self) -> str:
        at = f" at {list(self.place)}" if self.place else ""
        return (
            f"{self.source} is {self.source_value} but {self.target} is {self.target_value}{at} "
            f"for {', '.join(self.variables)} ({self.arithmetic})"
        )


@dataclass(frozen=True)
class Refuted:
    """The equation is false: here is where."""

    counterexample: Counterexample


@dataclass(frozen=True)
class Unknown:
    """Neither a proof nor a counterexample was found; `reason` says what stopped the search."""

    reason: str


Verdict: TypeAlias = Proved | Refuted | Unknown
