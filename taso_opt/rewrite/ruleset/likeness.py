"""Tells which rules fit a term from how they fit another one that looks alike.

Models repeat themselves: time steps, branches and heads have the same operators over tensors of the same types. Whether
a pattern fits depends on no more than that, unless it asks for one term at two places or for the value of a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from taso_opt.core.condition import ANY
from taso_opt.core.term import Apply, Item, Term
from taso_opt.rewrite.patterns.below import OperatorsBelow
from taso_opt.rewrite.patterns.pattern import Application, Output, Pattern, Variable
from taso_opt.rewrite.ruleset.index import RuleIndex
from taso_opt.spec.builder import Builder

DEPTH = 4
"""Levels of operators and operands that two terms must have in common; sources of rules are seldom deeper."""

TOLD = (0, 0)
"""Stands for what a pattern asks for where looks tell whether it fits."""

R = TypeVar("R")


class Likeness:
    """Numbers terms: those with one number have the same operators, attributes and types down to `DEPTH` levels."""

    def __init__(self, builder: Builder, is_constant: Callable[[Term], bool]) -> None:
        self._builder, self._is_constant = builder, is_constant
        self._numbers: dict[Any, int] = {}
        self._known: tuple[dict[Term, int], ...] = tuple({} for _ in range(DEPTH + 1))
        self._kinds: tuple[dict[Term, int], ...] = tuple({} for _ in range(DEPTH + 1))

    def number(self, term: Term, depth: int = DEPTH) -> int:
        """The number of a term by so many of its levels, its own included."""
        known = self._known[depth].get(term)
        if known is None:
            left = _left(term, depth)
            below = tuple(self.number(child, left) for child in term.children) if left else ()
            look = type(term), self._own(term), self._builder.types(term), self._is_constant(term), below
            known = self._known[depth][term] = self._numbers.setdefault(look, len(self._numbers))
        return known

    def kind(self, term: Term, depth: int = DEPTH) -> int:
        """The same where operands may stand in any order, as those of a sum do in the order of their names."""
        known = self._kinds[depth].get(term)
        if known is None:
            left = _left(term, depth)
            below = tuple(sorted(self.kind(child, left) for child in term.children)) if left else ()
            look = "kind", type(term), self._own(term), self._builder.types(term), self._is_constant(term), below
            known = self._kinds[depth][term] = self._numbers.setdefault(look, len(self._numbers))
        return known

    def _own(self, term: Term) -> Any:
        match term:
            case Apply(operator, args, attributes):
                return operator, len(args), attributes
            case Item():
                return term.index
            case _:
                return None


def _left(term: Term, depth: int) -> int:
    """How many levels are left below a term: which output it is makes no level."""
    return depth if isinstance(term, Item) else depth - 1


class _Fitting(NamedTuple, Generic[R]):
    """The entries that may fit terms of one look, with what must be below each where looks do not tell all of that."""

    entries: tuple[R, ...]
    deeper: tuple[tuple[int, int], ...]


class LikeIndex(Generic[R]):
    """A rule index that remembers which of its entries fit the terms of each look."""

    def __init__(
        self,
        index: RuleIndex[R],
        pattern: Callable[[R], Pattern],
        fits: Callable[[R, Term], bool],
        likeness: Likeness,
        below: OperatorsBelow,
    ) -> None:
        """`fits` tells whether the pattern of an entry fits a term."""
        self._index, self._pattern, self._fits = index, pattern, fits
        self._likeness, self._below = likeness, below
        self._found: dict[int, _Fitting[R]] = {}
        self._asked: dict[int, tuple[int, int]] = {}

    def candidates(self, term: Term) -> tuple[R, ...]:
        """The entries that fit the term, and those that have to be tried because looks do not tell."""
        if not self._index.candidates(term):
            return ()
        number = self._likeness.number(term)
        found = self._found.get(number)
        if found is None:
            found = self._found[number] = self._fitting(term)
        if not found.deeper:
            return found.entries
        below = self._below.may_hold
        return tuple(one for one, asked in zip(found.entries, found.deeper, strict=True) if below(asked, term))

    def _fitting(self, term: Term) -> _Fitting[R]:
        """What fits all terms that look like this one, as far as looks tell."""
        entries = [(one, self._asks(one)) for one in self._index.candidates(term)]
        fitting = [
            (one, asked)
            for one, asked in entries
            if (self._fits(one, term) if asked == TOLD else asked[1] >= DEPTH or self._below.may_hold(asked, term))
        ]
        deeper = tuple(asked for _, asked in fitting) if any(asked[1] >= DEPTH for _, asked in fitting) else ()
        return _Fitting(tuple(one for one, _ in fitting), deeper)

    def _asks(self, entry: R) -> tuple[int, int]:
        """What must be below a term for an entry to be tried; `TOLD` where looks tell whether it fits."""
        pattern = self._pattern(entry)
        known = self._asked.get(id(pattern))  # the entries keep their patterns alive
        if known is None:
            known = self._asked[id(pattern)] = TOLD if is_told_by_looks(pattern) else self._below.asked(pattern)
        return known


def is_told_by_looks(pattern: Pattern) -> bool:
    """Whether terms that look alike all fit a pattern or none of them does."""
    names: list[str] = []
    return _levels(pattern, names) <= DEPTH and len(set(names)) == len(names)


def _levels(pattern: Pattern, names: list[str]) -> float:
    """How many levels of a term a pattern looks at, infinity where looks do not tell; notes the variables' names."""
    match pattern:
        case Variable(name) if pattern.bounds in (None, ANY):
            names.append(name)
            return 1
        case Application(_, args):
            return 1 + max((_levels(one, names) for one in args), default=0)
        case Output(inner):
            return 1 + _levels(inner, names)
        case _:
            return float("inf")
