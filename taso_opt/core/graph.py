"""A graph: input variables and output terms; a model, a region of one and a side of a rule are all the same."""

from __future__ import annotations

from dataclasses import dataclass

from taso_opt.core.term import Term, Var, operator_count, postorder


@dataclass(frozen=True, slots=True)
class Graph:
    """Named inputs and ordered outputs; everything between is reachable from the outputs."""

    inputs: tuple[Var, ...]
    outputs: tuple[Term, ...]

    def terms(self) -> list[Term]:
        """All reachable terms, children before parents."""
        return postorder(self.outputs)

    @property
    def size(self) -> int:
        """How many operators the graph has."""
        return operator_count(self.outputs)
