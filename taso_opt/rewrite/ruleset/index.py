"""Tells from the operators and shapes at the top of a term which rules can match there, before matching is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Const, Item, Term
from taso_opt.core.types import FLOATS, WHOLE_NUMBERS, TensorType
from taso_opt.rewrite.patterns.pattern import Application, Fold, Join, Literal, Output, Part, Pattern, Variable, head

DEPTH = 3
"""Levels of operators that are looked at; sources of rules are seldom deeper."""

CONSTANT = "constant"
"""Stands for the operator of a constant; an input has none."""

OTHER = -1
"""Stands for a size that no rule asks for."""

Sizes: TypeAlias = tuple[int, ...] | None
"""A shape as far as rules ask for numbers in it; None where no variable of a rule can stand for the term."""

R = TypeVar("R")


class Outline(NamedTuple):
    """A term down to some depth: its operator, its shape, and the outlines of its operands."""

    operator: str
    sizes: Sizes
    below: tuple[Outline, ...]


class Outlines:
    """Draws the outlines of terms, each once for all indexes of rules."""

    def __init__(self, types: Callable[[Term], tuple[TensorType, ...]], asked: frozenset[int]) -> None:
        """`types` tells the types of all outputs of a term; the sizes that are `asked` for are told apart."""
        self._types, self._asked = types, asked
        self._sizes: dict[tuple[TensorType, ...], Sizes] = {}
        self._drawn: tuple[dict[Term, Outline], ...] = tuple({} for _ in range(DEPTH + 1))

    def of(self, term: Term, depth: int = DEPTH) -> Outline:
        """The outline of a term down to some depth, which counts operators."""
        known = self._drawn[depth].get(term)
        if known is None:
            below = tuple(self.of(child, depth - 1) for child in term.children) if depth > 1 else ()
            known = self._drawn[depth][term] = Outline(operator_name(term), self._sizes_of(term), below)
        return known

    def _sizes_of(self, term: Term) -> Sizes:
        types = self._types(term)
        if types not in self._sizes:
            fits = len(types) == 1 and types[0].dtype in FLOATS | WHOLE_NUMBERS
            self._sizes[types] = (
                tuple(size if size in self._asked else OTHER for size in types[0].shape) if fits else None
            )
        return self._sizes[types]


class RuleIndex(Generic[R]):
    """Entries by what their pattern asks of the upper operators of a term; the answer is kept for each outline met."""

    def __init__(
        self, entries: Callable[[Outline], Sequence[R]], pattern: Callable[[R], Pattern], outlines: Outlines
    ) -> None:
        """`entries` tells those that come into question for an outline by its operators."""
        self._entries, self._pattern, self._outlines = entries, pattern, outlines
        self._found: dict[Outline, tuple[R, ...]] = {}

    def candidates(self, term: Term) -> tuple[R, ...]:
        """The entries whose pattern may match the term, in the order given."""
        outline = self._outlines.of(term)
        found = self._found.get(outline)
        if found is None:
            entries = self._entries(outline)
            found = tuple(entry for entry in entries if may_fit(self._pattern(entry), outline, DEPTH))
            self._found[outline] = found
        return found


def asked_sizes(rules: Iterable[Rule]) -> frozenset[int]:
    """The numbers among the sizes of variables, and 1: a number of a rule may be a tensor of one element."""
    shapes = {one.type.shape for rule in rules for one in rule.variables}
    return frozenset([1, *(size for shape in shapes for size in shape if isinstance(size, int))])


def operator_name(term: Term) -> str:
    """The operator of a term as outlines have it."""
    if isinstance(term, Apply):
        return term.operator
    return "Item" if isinstance(term, Item) else CONSTANT if isinstance(term, Const) else ""


def upper_operators(term: Term, depth: int = DEPTH) -> Iterator[str]:
    """The operators of a term within so many levels, its own first, as its outline has them; none of leaves."""
    if depth and term.children:
        yield operator_name(term)
        for child in term.children:
            yield from upper_operators(child, depth - 1)


def operators_of(outline: Outline) -> Iterator[str]:
    """The operators of an outline, its own first."""
    yield outline.operator
    for one in outline.below:
        yield from operators_of(one)


def may_fit(pattern: Pattern, outline: Outline, depth: int) -> bool:
    """Whether the operators and sizes that a pattern asks for are there, as far as the outline shows them."""
    if isinstance(pattern, Fold) or depth == 0:
        return True
    operator, sizes, below = outline
    if isinstance(pattern, Variable):
        return sizes is not None and pattern.may_fit(sizes)
    if isinstance(pattern, Literal):
        return operator != "" and sizes is not None and all(size == 1 for size in sizes)
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
            split, _, under = below[0]
            return split == "Split" and (depth == 2 or may_fit(inner, under[0], depth - 2))
