"""Sequences of steps that compute a recurrence of sums and multiples of rows as one product with constants.

Every state s_t = a x_t + b s_{t-1} is a sum of multiples of the first state and of x_1 to x_t: a row of constants times
the join of all these. Steps that say one state so read more than they save; all states at once are one product, so that
all of it is one move. The rules behind it are those that say a row as the product of an identity matrix and itself, a
product with a part of a join as one with all of it, and sums and multiples of products of one matrix as such a product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from taso_opt.core.dims import Dim, product
from taso_opt.core.term import Apply, Item, Term, postorder
from taso_opt.cost.kernels.units import SHAPES
from taso_opt.rewrite.finding.merges import Place
from taso_opt.rewrite.finding.step import Replacements, Step, StepSequence, changes_of
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.linear import Region, linear_regions
from taso_opt.search.sequences.reaching import NoRuleError, steps_at
from taso_opt.search.sequences.shortening import shortened
from taso_opt.spec.shared.shapes import is_star

FEWEST_SUMS = 3
"""Of one state after another: what is shorter gains nothing by a product."""

MOST_STEPS = 3
"""One after the other at one term, that say a sum or multiple of products as a product."""

ROWS = -2


def unrolled(
    outputs: Sequence[Term],
    used_beyond: Callable[[Sequence[Term]], Sequence[Term]],
    rewriter: Rewriter,
    expired: Callable[[], bool],
) -> Iterator[StepSequence]:
    """The sequence for each linear region of a graph, those of its terms replaced that are `used_beyond` it.

    What moves data between the product and the rest of the graph is put right in the same sequence.
    """
    terms = postorder(outputs)
    for region in linear_regions(terms, rewriter):
        if expired():
            return
        if region.sums >= FEWEST_SUMS and region.numbers and len(region.sources) > 1:
            used = used_beyond(region.members)
            for shape in _rows(rewriter.builder.type(region.members[0]).shape):
                found = _Unrolled(region, shape, rewriter).sequence(used)
                if found is not None:
                    yield from _put_right(found, outputs, frozenset(terms), rewriter, expired)


def _put_right(
    found: StepSequence,
    outputs: Sequence[Term],
    present: frozenset[Term],
    rewriter: Rewriter,
    expired: Callable[[], bool],
) -> Iterator[StepSequence]:
    """A sequence with steps that spare what moves data; none where no graph computes what it leads to."""
    steps, replacements = found
    new = rewriter.all_replaced(outputs, dict(replacements))
    if new is not None:
        shorter, new = shortened(new, present, rewriter, expired)
        yield (*steps, *shorter), changes_of(outputs, new)


def _rows(shape: tuple[Dim, ...]) -> list[tuple[Dim, ...]]:
    """The shapes that a tensor may have to be joined with others: one row, or rows with an axis of one place each.

    What they are parts of, or become parts of, may have the one or the other.
    """
    if any(map(is_star, shape)):
        return []
    apart = (*shape[:-1], 1, *shape[-1:])
    found = [
        (1, product(shape)),
        *([shape] if len(shape) > 1 and shape[ROWS] == 1 else []),
        *([apart] if shape else []),
    ]
    return list(dict.fromkeys(found))


class _Unrolled:
    """One region, whose terms are said one by one as products of constants with the join of all sources."""

    def __init__(self, region: Region, shape: tuple[Dim, ...], rewriter: Rewriter) -> None:
        """Of a shape that has the same elements in rows of one row each."""
        self._rewriter, self._builder = rewriter, rewriter.builder
        self._region = region
        self._shape = self._builder.type(region.members[0]).shape
        self._row_shape = shape
        self._steps: list[Step] = []
        self._rows = [self._row(source) for source in sorted(region.sources, key=self._place)]
        self._join = self._joined(self._rows)
        self._products: dict[Term, Term] = {}

    def sequence(self, used: Sequence[Term]) -> StepSequence | None:
        """All steps, and what replaces some members; None where a rule is missing."""
        try:
            for at, row in enumerate(self._rows):
                self._products[row] = self._picked(at)
            for member in self._region.members:
                self._products[self._row(member)] = self._combined(member)
            return tuple(self._steps), self._replacements(used)
        except NoRuleError:
            return None

    def _picked(self, at: int) -> Term:
        """The row at a place as the product of constants with the join of all rows."""
        row, apply = self._rows[at], self._builder.apply
        parts = (self._rows[:at], [row], self._rows[at + 1 :])
        join = self._joined([self._joined(part) for part in parts if part])
        unit = apply("IdentityMatrix", (self._reshaped(self._region.numbers[0], (1, 1)),), {})
        weights = apply("Pad", (unit,), {"pads": (0, at, 0, len(self._rows) - at - 1)})
        product = self._taken(apply("MatMul", (weights, join), {}), lambda new: _is_product_with(unit, new))
        self._taken(product.children[1], lambda new: new is row)
        self._taken(apply("MatMul", (unit, row), {}), lambda new: new is row)
        self._taken(join, lambda new: new is self._join)
        return apply("MatMul", (weights, self._join), {})

    def _combined(self, member: Term) -> Term:
        """A sum or multiple of rows that have been said as products with the join of all as such a product."""
        row = self._taken(self._row(member), self._is_over_rows)
        products = [self._products.get(operand, operand) for operand in row.children]
        return self._taken(self._rewriter.with_children(row, products), self._is_product)

    def _is_over_rows(self, term: Term) -> bool:
        return all(child in self._products or self._rewriter.is_constant(child) for child in term.children)

    def _is_product(self, term: Term) -> bool:
        weights = term.children[0]
        return self._rewriter.is_constant(weights) and _is_product_with(weights, term) and self._join in term.children

    def _replacements(self, used: Sequence[Term]) -> Replacements:
        """What replaces terms of the region: parts of one product where there are several."""
        products = dict.fromkeys(self._products[self._row(term)] for term in used)
        rows = {product: product for product in products}
        if len(products) > 1:
            merges = self._rewriter.merges(postorder(list(products)), list(products))
            merge = next((step for step in merges if step.mapping.keys() == rows.keys()), None)
            if merge is None:
                raise NoRuleError
            self._steps.append(merge)
            rows = merge.mapping
        return tuple((term, self._as_it_was(rows[self._products[self._row(term)]], term)) for term in used)

    def _as_it_was(self, row: Term, member: Term) -> Term:
        """The row that a member has been as a tensor of the shape of the member."""
        if self._row(member) is member:
            return row
        self._taken(self._reshaped(self._row(member), self._shape), lambda new: new is member)
        return self._reshaped(row, self._shape)

    def _taken(self, term: Term, goal: Callable[[Term], bool]) -> Term:
        """What rules make of a term, in the fewest steps, that is what is asked for; the steps are taken."""
        reached: dict[Term, tuple[Step, ...]] = {term: ()}
        frontier = [term]
        for _ in range(MOST_STEPS + 1):
            for one in frontier:
                if goal(one):
                    self._steps += reached[one]
                    return one
            following = [(one, step) for one in frontier for step in steps_at(one, self._rewriter)]
            frontier = []
            for one, step in following:
                new = step.image
                if new not in reached:
                    reached[new] = (*reached[one], step)
                    frontier.append(new)
        raise NoRuleError

    def _place(self, source: Term) -> tuple[Place, int]:
        """Sorts sources as merges do; what is a part of a tensor stands beside its other parts, in their order."""
        part = source
        while isinstance(part, Apply) and part.operator in SHAPES:
            part = part.args[0]
        if isinstance(part, Item):
            return self._rewriter.place(part.term), part.index
        sizes = part.attribute("sizes") if isinstance(part, Apply) and part.operator == "Slice" else ()
        match sizes:
            case (int(before), *_):
                return self._rewriter.place(part.children[0]), before
        return self._rewriter.place(source), 0

    def _row(self, term: Term) -> Term:
        return term if self._shape == self._row_shape else self._reshaped(term, self._row_shape)

    def _reshaped(self, term: Term, shape: tuple[Dim, ...]) -> Term:
        return self._builder.apply("Reshape", (term,), {"shape": shape})

    def _joined(self, rows: Sequence[Term]) -> Term:
        return rows[0] if len(rows) == 1 else self._builder.apply("Concat", rows, {"axis": ROWS})


def _is_product_with(weights: Term, term: Term) -> bool:
    return isinstance(term, Apply) and term.operator == "MatMul" and term.args[0] is weights
