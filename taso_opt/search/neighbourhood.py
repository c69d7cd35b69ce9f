"""One graph, and what a step changes of it where it is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from taso_opt.core.term import Apply, Const, Term, postorder, with_children
from taso_opt.cost import Around, Layouts
from taso_opt.rewrite.finding.step import Replacements, Step, StepSequence, mapping_of
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.chaining import chained
from taso_opt.search.sequences.condensing import condensed
from taso_opt.search.sequences.descent import descents
from taso_opt.search.sequences.picturing import pictured
from taso_opt.search.sequences.rising import raised
from taso_opt.search.sequences.tabulating import tabulated
from taso_opt.search.sequences.unrolling import unrolled
from taso_opt.search.sequences.widening import widenings

PLAIN_LAYOUTS = Layouts()
Rebuild = Callable[[Term, tuple[Term, ...]], Term]
Expired = Callable[[], bool]


@dataclass(frozen=True, eq=False)
class Remaining(Collection[Term]):
    """The terms of a graph but for some: a view, since thousands of changes of one graph would be as many sets."""

    present: frozenset[Term]
    dead: frozenset[Term]

    def __contains__(self, term: object) -> bool:
        return term in self.present and term not in self.dead

    def __iter__(self) -> Iterator[Term]:
        return (term for term in self.present if term not in self.dead)

    def __len__(self) -> int:
        return len(self.present - self.dead)


@dataclass(frozen=True)
class LocalChange:
    """What steps remove from a graph and what they add, each as outputs over a boundary of terms that stay.

    `dead` are all terms above the boundary before, `born` all after. Where a step touches terms that the runtime
    executes together with others, these are above the boundary too, on both sides. `saved` is as in a move.
    """

    steps: tuple[Step, ...]
    replacements: Replacements
    removed: tuple[Term, ...]
    kept: Collection[Term]
    added: tuple[Term, ...]
    dead: frozenset[Term]
    born: frozenset[Term]
    around: Around
    saved: int


def live_operators(terms: Iterable[Term], is_constant: Callable[[Term], bool]) -> int:
    """How many of some terms are operators that are computed when the model runs."""
    return sum(isinstance(term, Apply) and not is_constant(term) for term in terms)


class Neighbourhood:
    """One graph, indexed so that a step's local effect is found without rebuilding it."""

    def __init__(
        self,
        outputs: Sequence[Term],
        groups: Iterable[frozenset[Term]] = (),
        rebuild: Rebuild = with_children,
        layouts: Layouts = PLAIN_LAYOUTS,
        is_constant: Callable[[Term], bool] = lambda term: isinstance(term, Const),
    ) -> None:
        """`groups` are the terms that the runtime executes together; `rebuild` makes a term over other children.

        What `is_constant` is computed before the model runs.
        """
        self._layouts, self._is_constant = layouts, is_constant
        self.terms = postorder(outputs)
        self._place = {term: place for place, term in enumerate(self.terms)}
        self._group = {term: group for group in groups if len(group) > 1 for term in group}
        self._rebuild = rebuild
        self._outputs = frozenset(outputs)
        self._present = frozenset(self.terms)
        self._live = frozenset(term for term in self.terms if isinstance(term, Apply) and not is_constant(term))
        self._uses = Counter(child for term in self.terms for child in term.children)
        self._uses.update(outputs)
        self._users: dict[Term, set[Term]] = {term: set() for term in self.terms}
        for term in self.terms:
            for child in term.children:
                self._users[child].add(term)
        self._changes: list[LocalChange] | None = None

    @property
    def size(self) -> int:
        """How many terms are computed when the model runs or are operands of these; what weights are made of is not."""
        live = [term for term in self.terms if not self._is_constant(term)]
        return len({*live, *(child for term in live for child in term.children)})

    def only_consumer(self, term: Term) -> Term | None:
        """The one term that uses `term`, None when several do or an output is it."""
        return next(iter(self._users[term]), None) if self._uses[term] == 1 else None

    def used_by(self, term: Term, users: Collection[Term]) -> bool:
        """Whether some terms are all that uses `term`, and no output is it; nothing here uses what steps have made."""
        here = self._users.get(term, ())
        return self._uses[term] == sum(user.children.count(term) for user in here if user in users)

    def descents(self, rewriter: Rewriter, joining: Sequence[Step], expired: Expired) -> Iterator[StepSequence]:
        """Sequences that take a slice down to where what it leaves away is not computed, and joins down to the inputs.

        Some of the joins are those that the `joining` steps make.
        """
        found = descents(self.terms, self._present, self.used_by, rewriter, joining)
        return takewhile(lambda _: not expired(), found)

    def chained(self, rewriter: Rewriter, expired: Expired) -> Iterator[StepSequence]:
        """Sequences that say the cells of a recurrence as one operator."""
        return chained(sorted(self._outputs), rewriter, expired)

    def unrolled(self, rewriter: Rewriter, expired: Expired) -> Iterator[StepSequence]:
        """Sequences that compute recurrences of sums and multiples as one product with constants."""

        return unrolled(sorted(self._outputs), self._used_beyond, rewriter, expired)

    def condensed(self, rewriter: Rewriter, expired: Expired) -> Iterator[StepSequence]:
        """Sequences that compute what is linear along one axis of a tensor as one product with constants."""
        return condensed(self.terms, self._outputs, rewriter, expired)

    def tabulated(self, rewriter: Rewriter) -> Iterator[StepSequence]:
        """Sequences that compute what looked-up rows go through once for each row of a table."""
        return tabulated(self.terms, self._used_beyond, rewriter)

    def widenings(self, rewriter: Rewriter) -> Iterator[StepSequence]:
        """Sequences that fill blocks of channels where the runtime leaves its blocked layout."""
        return widenings(self.terms, self._outputs, self._layouts.converted, rewriter)

    def pictured(self, rewriter: Rewriter) -> Iterator[StepSequence]:
        """Sequences that compute rows of matrices as pixels of images, from one product to the next."""
        return pictured(self.terms, self.used_by, rewriter)

    def raised(self, rewriter: Rewriter) -> StepSequence:
        """The steps that compute lines as images of one row."""
        return raised(self.terms, self._outputs, rewriter)

    def look(self, term: Term, rewriter: Rewriter) -> tuple[int, int]:
        """What places have in common that look alike, what uses them included."""
        consumer = self.only_consumer(term)
        return rewriter.look(term), -1 if consumer is None else rewriter.look(consumer)

    def with_undone(self, step: Step, rewriter: Rewriter) -> StepSequence:
        """A step, with those that take away again what it adds and undoes, as the join of all parts of a split."""
        _, new = self._built_on(image for _, image in step.replacements)
        undone = [found for found in map(rewriter.undone, new) if found is not None]
        if not undone:
            return (step,), step.replacements
        mapping = mapping_of(undone)
        pairs = [(old, rewriter.replaced(image, mapping, self._present)) for old, image in step.replacements]
        if any(image is None for _, image in pairs):
            return (step,), step.replacements
        return (step, *undone), tuple((old, image) for old, image in pairs if image is not None)

    def changes(self, rewriter: Rewriter, expired: Expired) -> list[LocalChange]:
        """What each step changes, found once; once it is `expired`, those found until then are all."""
        if self._changes is not None:
            return self._changes
        steps = takewhile(lambda _: not expired(), rewriter.steps(self.terms))
        changes = [self.local_change(*self.with_undone(step, rewriter)) for step in steps]
        if not expired():
            self._changes = changes
        return changes

    def local_change(self, steps: tuple[Step, ...], replacements: Replacements) -> LocalChange:
        """The terms that die and the terms that appear when the steps are taken."""
        images = dict(replacements)
        needed, born = self._built_on(images.values())
        dead = self._dead(list(images), needed)
        around = self._around((*images, *dead))
        for term in sorted(around, key=self._place.__getitem__):
            new = tuple(images.get(child, child) for child in term.children)
            if term not in images and new != term.children:
                images[term] = self._rebuild(term, new)
        changed = [old for old in images if old not in around or self._is_used_beyond(old, around)]
        same = [one for one in around - dead if one not in images and self._is_used_beyond(one, around | dead)]
        same.sort(key=self._place.__getitem__)
        added = (*(images[old] for old in changed), *same)
        if around:
            born = self._built_on(added, around)[1]
        dead |= around
        removed = (*(old for old in changed if old in dead), *same)
        roots = [*((old, images[old]) for old in changed), *((one, one) for one in same)]
        around_it = self._layouts.around(dead, born, roots)
        kept = Remaining(self._present, dead)
        saved = len(self._live & dead) - live_operators(born, self._is_constant)
        return LocalChange(steps, replacements, removed, kept, added, dead, frozenset(born), around_it, saved)

    def _around(self, terms: Iterable[Term]) -> frozenset[Term]:
        """What the runtime executes together with some of the terms."""
        nothing: frozenset[Term] = frozenset()
        return nothing.union(*{self._group.get(term, nothing) for term in terms})

    def _used_beyond(self, members: Sequence[Term]) -> list[Term]:
        """Those of some terms that others use too."""
        among = frozenset(members)
        return [term for term in members if self._is_used_beyond(term, among)]

    def _is_used_beyond(self, term: Term, around: frozenset[Term]) -> bool:
        return term in self._outputs or not around.issuperset(self._users[term])

    def _built_on(self, added: Iterable[Term], above: Collection[Term] = ()) -> tuple[set[Term], set[Term]]:
        """The present terms that the added ones are built on, and the new ones among and below these.

        Present terms that are `above` the boundary are taken for new.
        """
        present: set[Term] = set()
        new: set[Term] = set()
        stack = list(added)
        while stack:
            term = stack.pop()
            if term in self._present and term not in above:
                present.add(term)
            elif term not in new:
                new.add(term)
                stack.extend(term.children)
        return present, new

    def _dead(self, replaced: Sequence[Term], needed: set[Term]) -> frozenset[Term]:
        uses = dict.fromkeys(replaced, 0)
        dead: dict[Term, None] = {}
        stack = [term for term in replaced if term not in needed]
        while stack:
            term = stack.pop()
            if term in dead:
                continue
            dead[term] = None
            for child in term.children:
                left = uses.get(child, self._uses[child]) - 1
                uses[child] = left
                if left <= 0 and child not in needed:
                    stack.append(child)
        return frozenset(dead)
