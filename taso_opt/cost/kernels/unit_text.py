"""Units as text: the keys under which their costs are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Protocol

from taso_opt.core.term import Apply, Term
from taso_opt.cost.kernels.regions import has_seed
from taso_opt.spec.builder import Builder


class Knowledge(Protocol):
    """What is known of the terms of a graph."""

    builder: Builder

    def is_constant(self, term: Term) -> bool:
        """Whether a term depends on constants only."""
        ...

    def number(self, term: Term) -> Fraction | None:
        """The value of a constant of one element, None where it is not known."""
        ...


class UnitText:
    """Writes one unit: operators, attributes, operand types, which operands are weights and which are shared.

    Operands of commutative operators stand in an order that depends on nothing but the unit, weights last, where they
    are written too, so that one unit has one text.
    """

    def __init__(self, known: Knowledge, members: frozenset[Term]) -> None:
        self._known, self._members = known, members
        self._names: dict[Term, str] = {}
        self._spelt: dict[Term, str] = {}
        self._shapes: dict[Term, str] = {}
        self._with_numbers = has_seed(members)

    def of(self, roots: Iterable[Term]) -> str:
        """The text of the unit with these roots, in the order of their shapes."""
        return " ".join(map(self._spelled, roots))

    @property
    def operands(self) -> list[Term]:
        """What the unit takes from outside, in the order of the text."""
        return list(self._names)

    def _spelled(self, term: Term) -> str:
        """A term at its place: with names for operands, which may be shared, and numbers for members seen before."""
        if term in self._spelt:
            return self._spelt[term]
        if term in self._members and isinstance(term, Apply):
            text = self._application(term, self._spelled)
            self._spelt[term] = f"#{len(self._spelt)}"
            return text
        if self._with_numbers and self._known.number(term) is not None:
            return self._leaf(term)
        if term not in self._names:
            letter = "w" if self._known.is_constant(term) else "x"
            self._names[term] = f"{letter}{len(self._names)}:{self._leaf(term)}"
        return self._names[term]

    def shape(self, term: Term) -> str:
        """A term without names: what it is apart from its place."""
        if term not in self._shapes:
            if isinstance(term, Apply) and term in self._members:
                self._shapes[term] = self._application(term, self.shape)
            else:
                self._shapes[term] = self._leaf(term)
        return self._shapes[term]

    def _application(self, term: Apply, said: Callable[[Term], str]) -> str:
        values = sorted(self._known.builder.bound_attributes(term).items())
        attributes = "".join(f";{name}={value}" for name, value in values)
        return f"{term.operator}({','.join(map(said, self._operands(term)))}{attributes})"

    def _operands(self, term: Apply) -> Sequence[Term]:
        operator = self._known.builder.operator(term)
        if operator is None or not operator.commutative:
            return term.args
        return sorted(term.args, key=lambda operand: (self._known.is_constant(operand), self.shape(operand)))

    def _leaf(self, term: Term) -> str:
        number = self._known.number(term) if self._with_numbers else None
        if number is not None:
            return str(number)
        kind = self._known.builder.type(term)
        return f"{kind.dtype}{kind}"
