"""Tells from the operators at the top of a term which rules can match there, before any matching is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Generic, TypeAlias, TypeVar

from taso_opt.core.term import Apply, Const, Item, Term, Var
from taso_opt.rewrite.pattern import Application, Fold, Join, Literal, Output, Part, Pattern, Variable, head

DEPTH = 3
"""Levels of operators that are looked at; sources of rules are seldom deeper."""

Outline: TypeAlias = tuple[str, tuple["Outline", ...]]
"""The operators of a term down to some depth: the root's and the outlines of its operands."""

LEAF: Outline = ("", ())
CONSTANT: Outline = ("constant", ())

R = TypeVar("R")


class RuleIndex(Generic[R]):
    """Entries by what their pattern asks of the operators of a term; the answer is kept for each outline met."""

    def __init__(self, entries: Iterable[R], pattern: Callable[[R], Pattern]) -> None:
        self._pattern = pattern
        self._bits: dict[str, int] = {}
        self._by_head: dict[str, list[tuple[R, int]]] = {}
        for entry in entries:
            root = head(pattern(entry))
            if root is not None:
                asked = self._set(asked_operators(pattern(entry), DEPTH))
                self._by_head.setdefault(root, []).append((entry, asked))
        self._found: dict[Outline, tuple[R, ...]] = {}
        self._outlines: tuple[dict[Term, Outline], ...] = tuple({} for _ in range(DEPTH + 1))

    def begins(self, term: Term) -> bool:
        """Whether the pattern of some entry begins with the operator of the term."""
        return self._outline(term, 1)[0] in self._by_head

    def candidates(self, term: Term) -> tuple[R, ...]:
        """The entries whose pattern may match the term, in the order given."""
        outline = self._outline(term, DEPTH)
        found = self._found.get(outline)
        if found is None:
            missing = ~self._set(_operators(outline))
            entries = [entry for entry, asked in self._by_head.get(outline[0], ()) if not asked & missing]
            found = tuple(entry for entry in entries if may_fit(self._pattern(entry), outline, DEPTH))
            self._found[outline] = found
        return found

    def of_operator(self, term: Term) -> Sequence[R]:
        """The entries whose pattern begins with the operator of the term, whatever stands below."""
        return [entry for entry, _ in self._by_head.get(self._outline(term, 1)[0], ())]

    def _set(self, operators: Iterable[str]) -> int:
        """Operators as the bits of a number."""
        return reduce(or_, (self._bits.setdefault(name, 1 << len(self._bits)) for name in operators), 0)

    def _outline(self, term: Term, depth: int) -> Outline:
        known = self._outlines[depth].get(term)
        if known is None:
            known = self._drawn(term, depth)
            self._outlines[depth][term] = known
        return known

    def _drawn(self, term: Term, depth: int) -> Outline:
        match term:
            case Var():
                return LEAF
            case Const():
                return CONSTANT
            case Item(inner):
                return "Item", ((self._outline(inner, depth - 1),) if depth > 1 else ())
            case Apply(operator, args):
                return operator, (tuple(self._outline(argument, depth - 1) for argument in args) if depth > 1 else ())


def asked_operators(pattern: Pattern, depth: int) -> Iterator[str]:
    """The operators that a pattern asks for within so many levels of an outline, however often and wherever."""
    root = head(pattern)
    if depth == 0 or root is None or isinstance(pattern, Fold):
        return
    yield root
    match pattern:
        case Application(_, args):
            for argument in args:
                yield from asked_operators(argument, depth - 1)
        case Join(inner) | Output(inner):
            yield from asked_operators(inner, depth - 1)
        case Part(inner) if depth > 1:
            yield "Split"
            yield from asked_operators(inner, depth - 2)


def _operators(outline: Outline) -> Iterator[str]:
    operator, below = outline
    yield operator
    for one in below:
        yield from _operators(one)


def may_fit(pattern: Pattern, outline: Outline, depth: int) -> bool:
    """Whether the operators that a pattern asks for are there, as far as the outline shows them."""
    if isinstance(pattern, Variable | Fold) or depth == 0:
        return True
    if isinstance(pattern, Literal):
        return outline is CONSTANT
    operator, below = outline
    if head(pattern) != operator:
        return False
    if depth == 1:
        return True
    match pattern:
        case Application(name, args, _, commutative):
            if len(args) != len(below):
                return name == "Concat" and 2 == len(args) < len(below)
            orders = (below, below[::-1]) if commutative else (below,)
            return any(all(map(may_fit, args, order, (depth - 1,) * len(args))) for order in orders)
        case Join(inner):
            return len(below) > 1 and all(may_fit(inner, part, depth - 1) for part in below)
        case Output(inner):
            return may_fit(inner, below[0], depth - 1)
        case Part(inner):
            split, under = below[0]
            return split == "Split" and (depth == 2 or may_fit(inner, under[0], depth - 2))
