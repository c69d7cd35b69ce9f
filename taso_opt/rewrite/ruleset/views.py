"""What rules see of a term: its upper operators, over leaves of which only the types matter.

A step high up in a graph makes every term new that stands above it, and models repeat themselves: time steps, branches
and heads. So what rules make of a term is found once for all terms of one view, over stand-ins for the leaves,
and then said of each of them by putting its own leaves in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from taso_opt.core.condition import ANY
from taso_opt.core.term import OPAQUE, Apply, Const, Item, Term, Var, bottom_up
from taso_opt.rewrite.patterns.pattern import Application, Fold, Join, Output, Part, Pattern, Variable
from taso_opt.spec.builder import Builder

DEPTH = 2
"""How many operators deep a view is; few rules look deeper."""

F = TypeVar("F")


class View(NamedTuple):
    """The operators of a term down to its leaves, numbered, each with its operands; the leaves; and the constants."""

    nodes: tuple[Hashable, ...]
    leaves: tuple[Term, ...]
    constants: tuple[Term, ...]


class Views:
    """Takes views of terms, and brings what is found over stand-ins back to the leaves of a term."""

    def __init__(self, builder: Builder, is_constant: Callable[[Term], bool]) -> None:
        self._builder, self._is_constant = builder, is_constant
        self._stand_ins: set[Term] = set()
        self._without: dict[Term, bool] = {}

    def view(self, term: Term) -> View:
        """The view of a term.

        What stands at several places is one node. Constants of one element are themselves, since rules ask for their
        values.
        """
        numbers: dict[Term, int] = {term: 0}
        nodes: list[Hashable] = []
        leaves: list[Term] = []
        constants: list[Term] = []
        level = [term]
        for depth in range(DEPTH + 1):
            following: list[Term] = []
            for top in level:
                if depth == DEPTH or self.is_leaf(top):
                    nodes.append((self._is_constant(top), self._builder.types(top)))
                    leaves.append(top)
                    continue
                below = level if isinstance(top, Item) else following
                operands: list[Term | int] = []
                for child in top.children:
                    if self._is_number(child):
                        operands.append(child)
                        constants.append(child)
                        continue
                    if child not in numbers:
                        numbers[child] = len(numbers)
                        below.append(child)
                    operands.append(numbers[child])
                nodes.append((_own(top), *operands))
            level = following
        return View(tuple(nodes), tuple(leaves), tuple(constants))

    def over_stand_ins(self, term: Term, view: View) -> tuple[Term, tuple[Term, ...]]:
        """A term over variables and weights in place of the leaves of its view, and these."""
        stand_ins = tuple(self._stand_in(leaf, number) for number, leaf in enumerate(view.leaves))
        return self.replaced(term, images_of(view, view.leaves, stand_ins)), stand_ins

    def replaced(self, term: Term, images: dict[Term, Term]) -> Term:
        """A term with others for its leaves; notes the images of all that is between."""
        known = images.get(term)
        if known is None:
            below = tuple(self.replaced(child, images) for child in term.children)
            known = images[term] = self._builder.rebuild(term, below) if below else term
        return known

    def brought_back(self, term: Term, images: dict[Term, Term]) -> Term:
        """The same of a term over stand-ins; what has none of them, as numbers of any depth, is not looked into."""
        stack = [term]
        while stack:  # without recursion: what a rule says of a wide join is as deep as that is wide
            top = stack[-1]
            if top in images or self._has_none(top):
                stack.pop()
                continue
            missing = [child for child in top.children if child not in images and not self._has_none(child)]
            if missing:
                stack.extend(reversed(missing))
            else:
                images[top] = self._builder.rebuild(top, tuple(images.get(child, child) for child in top.children))
        return images.get(term, term)

    def _has_none(self, term: Term) -> bool:
        """Whether no stand-in is part of a term."""
        known = self._without.get(term)
        return bottom_up(self._without, term, self._found_none) if known is None else known

    def _found_none(self, part: Term) -> bool:
        return part not in self._stand_ins and all(self._without[child] for child in part.children)

    def is_leaf(self, term: Term) -> bool:
        """Whether rules see no operator at a term."""
        applied = term.term if isinstance(term, Item) else term
        return not isinstance(applied, Apply) or applied.operator == OPAQUE

    def _stand_in(self, leaf: Term, number: int) -> Term:
        found = (Const if self._is_constant(leaf) else Var)(f"leaf {number}", self._builder.type(leaf))
        self._stand_ins.add(found)
        return found

    def _is_number(self, term: Term) -> bool:
        """Whether a term is a constant of one element, or of nobody knows how many."""
        return self._is_constant(term) and any((kind.elements or 1) == 1 for kind in self._builder.types(term))


class FoundInViews(Generic[F]):
    """What is found at the terms of each view, which is looked for once."""

    def __init__(self, views: Views, find: Callable[[Term], Iterable[F]]) -> None:
        """`find` looks at a term over stand-ins."""
        self._views, self._find = views, find
        self._known: dict[tuple[Hashable, ...], tuple[tuple[Term, ...], tuple[F, ...]]] = {}

    def at(self, term: Term) -> tuple[tuple[F, ...], dict[Term, Term]]:
        """What is found at a term, over stand-ins, and the leaves of the term that these stand for; none at a leaf."""
        if self._views.is_leaf(term):
            return (), {}
        view = self._views.view(term)
        if view.nodes not in self._known:
            alike, stand_ins = self._views.over_stand_ins(term, view)
            self._known[view.nodes] = stand_ins, tuple(self._find(alike))
        stand_ins, found = self._known[view.nodes]
        return found, images_of(view, stand_ins, view.leaves)


def images_of(view: View, leaves: Sequence[Term], images: Sequence[Term]) -> dict[Term, Term]:
    """What `Views.replaced` needs to put one kind of leaves for another; constants, however deep, stay as they are."""
    return {**{one: one for one in view.constants}, **dict(zip(leaves, images, strict=True))}


def _own(term: Term) -> Hashable:
    """What a node is beside its operands."""
    return (term.operator, term.attributes) if isinstance(term, Apply) else term.index if isinstance(term, Item) else ""


def is_seen_in_views(pattern: Pattern) -> bool:
    """Whether a pattern asks for no operator that is deeper than views are, and for no values of weights."""
    return _operators(pattern) <= DEPTH


def _operators(pattern: Pattern) -> int:
    match pattern:
        case Application(_, args):
            return 1 + max(map(_operators, args), default=0)
        case Output(inner):
            return _operators(inner)
        case Join(inner) | Part(inner) | Fold(_, inner):
            return 1 + _operators(inner)
        case Variable(bounds=bounds) if bounds not in (None, ANY):
            return DEPTH + 1
        case _:
            return 0
