"""Tells which parts of graphs run as the same kernels, without forming the kernels of each.

Models repeat themselves: what a rule changes in one layer, branch or time step it changes in the others too. Two parts
that have the same operators, types and numbers, connected alike, are cut into units that cost the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from taso_opt.core.term import Apply, Const, Item, Term
from taso_opt.cost.kernels.layout import NOTHING, Around
from taso_opt.cost.kernels.regions import has_seed
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.onnx_io import BLOCKED, PLAIN


class _Own(NamedTuple):
    """A term apart from its operands, as a part of something."""

    number: int
    is_seed: bool
    commutes: bool


class PartNumbers:
    """Numbers parts of graphs: those with one number run as kernels that cost the same."""

    def __init__(self, finder: UnitFinder) -> None:
        self._finder = finder
        self._numbers: dict[Any, int] = {}
        self._inside: dict[Term, _Own] = {}
        self._outside: dict[Term, int] = {}

    def number(self, outputs: Sequence[Term], boundary: Collection[Term], around: Around) -> int:
        """The number of what the outputs need, down to the boundary, where this is around it."""
        place: dict[Term, int] = {}
        look: list[Any] = []
        ends: list[Term] = []
        has_seeds = has_inputs = False
        stack = list(reversed(outputs))
        while stack:
            term = stack[-1]
            if term in place:
                stack.pop()
                continue
            if term.is_constant or term in boundary:
                ends.append(term)
                look.append(self._outside.get(term) or self._operand(term))
            else:
                own = self._inside.get(term) or self._own(term)
                below = self._ordered(term) if own.commutes else term.children
                missing = [child for child in below if child not in place]
                if missing:
                    stack.extend(reversed(missing))
                    continue
                look += own.number, *map(place.__getitem__, below)
                has_seeds, has_inputs = has_seeds or own.is_seed, has_inputs or not below
            place[stack.pop()] = len(place)
        look += map(place.__getitem__, outputs)
        if around is not NOTHING:
            look += self._surroundings(ends, outputs, around)
        if has_seeds:
            look += self._depths(ends, boundary, has_inputs)
        return self._numbered(tuple(look))

    def _own(self, term: Term) -> _Own:
        """What is known of a term by itself."""
        builder = self._finder.builder
        operator = builder.operator(term) if isinstance(term, Apply) else None
        is_seed, commutes = has_seed((term,)), operator is not None and operator.commutative
        number = self._numbered((*_what(term), builder.types(term), is_seed))
        known = self._inside[term] = _Own(number, is_seed, commutes)
        return known

    def _operand(self, term: Term) -> int:
        """The number of a term as an operand that is not looked into."""
        finder = self._finder
        is_constant, types = finder.is_constant(term), finder.builder.types(term)
        look = is_constant, isinstance(term, Const), finder.number(term), types
        known = self._outside[term] = self._numbered(look)
        return known

    def _ordered(self, term: Term) -> Sequence[Term]:
        """The operands of a commutative operator in an order that does not depend on their names, as far as it goes."""
        return sorted(term.children, key=lambda child: (self._inside.get(child) or self._own(child)).number)

    def _surroundings(self, ends: Sequence[Term], outputs: Sequence[Term], around: Around) -> list[Any]:
        """The layouts in which there are operands, in which results are wanted, and which of them the model gives."""
        blocked, there, wanted, given = around.blocked, around.there, around.wanted, around.given
        found = [(one in blocked, (one, PLAIN) in there, (one, BLOCKED) in there) for one in ends]
        return [*found, *[((one, PLAIN) in wanted, (one, BLOCKED) in wanted, one in given) for one in outputs]]

    def _depths(self, ends: Sequence[Term], boundary: Collection[Term], has_inputs: bool) -> list[int]:
        """How deep operands lie, which decides between regions: counted from the least deep one that is computed.

        That is an input of the graph where one is inside. Constants that lie less deep than that decide nothing.
        """
        depths = [(self._finder.depth_of(term), term) for term in ends]
        computed = [depth for depth, term in depths if term in boundary and not self._finder.is_constant(term)]
        base = 0 if has_inputs else min(computed, default=0)
        return [max(depth - base, 0) for depth, _ in depths]

    def _numbered(self, look: tuple[Any, ...]) -> int:
        """The number of a look, from 1 on."""
        return self._numbers.setdefault(look, len(self._numbers) + 1)


def _what(term: Term) -> tuple[Any, ...]:
    if isinstance(term, Apply):
        return term.operator, len(term.args), term.attributes
    return type(term), term.index if isinstance(term, Item) else None
