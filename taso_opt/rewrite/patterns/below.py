"""Which operators stand below a term within so many levels, for patterns that ask for more than its top shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_

from taso_opt.core.term import Apply, Item, Term, bottom_up
from taso_opt.rewrite.patterns.pattern import Application, Fold, Join, Output, Part, Pattern

LEVELS = 12
"""Further down all operators count as being there."""


class OperatorsBelow:
    """Sets of operators as the bits of numbers."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._known: dict[Term, tuple[int, ...]] = {}

    def of(self, term: Term) -> tuple[int, ...]:
        """The operators of a term within one level, within two and so on; without recursion."""
        return bottom_up(self._known, term, self._found)

    def _found(self, term: Term) -> tuple[int, ...]:
        own = self._bit(term.operator) if isinstance(term, Apply) else 0
        below = [self._known[child] for child in term.children]
        if isinstance(term, Item):  # which output it is makes no level
            return below[0]
        return (own, *(reduce(or_, (one[level] for one in below), own) for level in range(LEVELS - 1)))

    def asked(self, pattern: Pattern) -> tuple[int, int]:
        """The operators that a pattern asks for, and within how many levels they must be, less one."""
        found = list(_operators(pattern, 0))
        bits = reduce(or_, (self._bit(name) for name, _ in found), 0)
        return bits, max((level for _, level in found), default=0)

    def may_hold(self, asked: tuple[int, int], term: Term) -> bool:
        """Whether what a pattern asks for is below the term."""
        bits, level = asked
        return level >= LEVELS or bits & ~self.of(term)[level] == 0

    def _bit(self, operator: str) -> int:
        return self._bits.setdefault(operator, 1 << len(self._bits))


def _operators(pattern: Pattern, level: int) -> Iterator[tuple[str, int]]:
    match pattern:
        case Application(operator, args):
            yield operator, level
            for argument in args:
                yield from _operators(argument, level + 1)
        case Output(inner):
            yield from _operators(inner, level)
        case Part(inner):
            yield "Split", level
            yield from _operators(inner, level + 1)
        case Join(inner):
            yield "Concat", level
            yield from _operators(inner, level + 1)
        case Fold(operator, inner):
            yield operator, level
            yield from _operators(inner, level + 1)
