"""Regions of light operators that are measured whole, because the runtime may replace several of them by one kernel.

Which spellings of a normalization or of an activation the runtime recognises is not known here: a region around such
operators is measured under all of the runtime's optimizations, so that a spelling that it does not recognise shows its
true cost, and so does a fusion that makes things slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import permutations

from taso_opt.core.term import Apply, Term, is_constant
from taso_opt.spec.builder import Builder

SEEDS = frozenset({"Erf", "Gelu", "LayerNormalization", "ReduceMean"})
"""Operators around which runtimes fuse several light ones, beside those of activations that are spelled out (see
`_is_activation`); regions without them stay single operators."""

POLYNOMIALS = frozenset({"Add", "Sub", "Mul", "Div", "Neg", "Pow"})
"""What polynomials are made by."""

Depth = Callable[[Term], int | None]

MOST_MEMBERS = 40
"""A region with more operators is left apart: nothing fuses so many, and each change would be measured anew."""


def regions(
    live: Sequence[Term], groups: Sequence[Sequence[Term]], builder: Builder, below: Depth = lambda term: None
) -> list[list[Term]]:
    """The groups, those of single light operators merged into regions; `live` lists operands before users.

    Light operators belong together when one uses the other and no heavy operator lies on any way between them: as many
    heavy ones lie below the one as below the other. `below` tells of terms beyond the boundary, where no operator is
    light, how many operators lie on the longest way up to them.
    """
    single = {group[0] for group in groups if len(group) == 1 and _is_light(group[0], builder)}
    if not has_seed(single):
        return [list(group) for group in groups]
    levels = _levels(live, single, below)
    home: dict[Term, list[Term]] = {}
    for term in live:
        if term not in single:
            continue
        members = home[term] = [term]
        for operand in term.children:
            other = home.get(operand)
            if other is not None and other is not members and levels[operand] == levels[term]:
                members = _merged(other, members, home)
    found: list[list[Term]] = []
    done: set[int] = set()
    place = {term: at for at, term in enumerate(live)}
    for group in groups:
        members = home.get(group[0], list(group))
        if len(group) > 1 or not _is_region(members):
            found.append(list(group))
        elif id(members) not in done:
            done.add(id(members))
            found.append(sorted(members, key=place.__getitem__))
    return found


def has_seed(members: Iterable[Term]) -> bool:
    """Whether some operator is one around which runtimes fuse."""
    return any(isinstance(term, Apply) and (term.operator in SEEDS or _is_activation(term)) for term in members)


def _is_activation(term: Apply) -> bool:
    """Whether it is of an activation in pieces: a value times a sigmoid of a polynomial of it, a number plus a tanh.

    The gates of recurrent cells are not: what they multiply is not all that they are computed from.
    """
    if term.operator not in ("Add", "Mul"):
        return False
    return any(_completes(term.operator, *pair) for pair in permutations(term.args))


def _completes(operator: str, one: Term, other: Term) -> bool:
    if not isinstance(one, Apply):
        return False
    if operator == "Add":
        return one.operator == "Tanh" and is_constant(other)
    return one.operator == "Sigmoid" and _is_polynomial(one.args[0], other)


def _is_polynomial(term: Term, other: Term) -> bool:
    """Whether a term is made of another one and constants, by sums, products and powers."""
    seen: set[Term] = set()
    stack = [term]
    while stack:
        top = stack.pop()
        if top in seen or is_constant(top):
            continue
        seen.add(top)
        if top is not other:
            if not isinstance(top, Apply) or top.operator not in POLYNOMIALS or len(seen) > MOST_MEMBERS:
                return False
            stack += top.children
    return other in seen


def _merged(first: list[Term], second: list[Term], home: dict[Term, list[Term]]) -> list[Term]:
    for term in second:
        home[term] = first
    first += second
    return first


def _is_region(members: Sequence[Term]) -> bool:
    return has_seed(members) and 1 < len(members) <= MOST_MEMBERS


def _is_light(term: Term, builder: Builder) -> bool:
    if not isinstance(term, Apply):
        return False
    operator = builder.operator(term)
    return term.operator in SEEDS or (operator is not None and operator.elementwise)


def _levels(live: Sequence[Term], light: set[Term], below: Depth) -> Mapping[Term, int]:
    """The largest number of heavy operators on a way up to each term."""
    levels: dict[Term, int] = {}
    stack = list(reversed(live))
    while stack:
        top = stack[-1]
        depth = below(top)
        missing = [] if depth is not None else [child for child in top.children if child not in levels]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if depth is None:
            heavy = isinstance(top, Apply) and top not in light and not is_constant(top)
            depth = heavy + max((levels[child] for child in top.children), default=0)
        levels[top] = depth
    return levels
