"""Sequences of steps that compute what is linear along one axis of a tensor as one product with constants.

As (x - x[last]) W + x[last], where all that lies between x and the sum is a matrix along time: slices and joins of the
identity, weights, and products and sums of these. A single path folds by single steps, and so does a sum of products.
Where paths part and meet and some of them are slices, joins or means, one of them said as a product takes more than it
saves, and where they do so again and again, as in z = a A z + b h (APPNP; Gasteiger et al., ICLR 2019), single steps
are too many; all of them together are one product, so that all of it is one move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from taso_opt.core.dims import Dim
from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, Term
from taso_opt.rewrite.finding.step import Step, StepSequence
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.reaching import NoRuleError, steps_at

COLUMNS, ROWS = -1, -2
SWAP = (COLUMNS, ROWS)
RANK_OF_LINES = 3
ALONG_ANY = frozenset({"Add", "Sub", "Mul", "Div", "Neg"})
ALONG_THEIR_OWN = frozenset({"Slice", "Concat"})
MATRICES = ALONG_THEIR_OWN | {"AveragePool", "Expand"}
"""What is no product, and yet a matrix along its axis."""

FEWEST_PRODUCTS = 4
"""Of a region in which there is nothing but products, sums and multiples: fewer fold by single steps."""

LONGEST, LONGEST_ROW = 1024, 4096
"""Elements of an axis, and of all rows of a tensor in one: what is linear along it becomes a matrix of as many rows."""

MOST_SOURCES = 4
"""How many of the tensors that a term is linear in are told for each of their axes, the first of them."""

MOST_STEPS = 4
"""One after the other at one term, that say it as a product."""


class Along(NamedTuple):
    """A tensor, and the axis of it along which others are linear."""

    source: Term
    axis: int


Axes = Mapping[Along, int]
"""Of a term, its axis that has come of the axis of each tensor that it is linear in, the first tensors first."""


def condensed(
    terms: Sequence[Term], outputs: Iterable[Term], rewriter: Rewriter, expired: Callable[[], bool]
) -> Iterator[StepSequence]:
    """The sequence of each region of a graph, which is given by its terms, children before parents.

    A region ends with what nothing goes on with linearly. Of the tensors that this is linear in the first one is taken
    from which rules say it.
    """
    axes = linear_along(terms, rewriter)
    going_on = {(along, child) for term in axes for along in axes[term] for child in term.children}
    last = frozenset(outputs)
    for term, sources in axes.items():
        if expired():
            return
        ends = (along for along in sources if term in last or (along, term) not in going_on)
        found = (_sequence(term, along, axes, rewriter) for along in ends if along.source is not term)
        yield from [sequence for sequence in found if sequence is not None][:1]


def linear_along(terms: Iterable[Term], rewriter: Rewriter) -> dict[Term, Axes]:
    """What each term of a graph is linear in; what is computed before the model runs is left out."""
    found: dict[Term, Axes] = {}
    for term in terms:
        if not rewriter.is_constant(term):
            own = {Along(term, axis): axis for axis in (COLUMNS, ROWS) if _length(term, axis, rewriter) > 1}
            row = _all_rows(term, rewriter)
            picked = {} if row is None else {Along(row, COLUMNS): COLUMNS}
            found[term] = {**picked, **_inherited(term, found, rewriter), **own}
    return found


def _length(term: Term, axis: int, rewriter: Rewriter, longest: int = LONGEST) -> int:
    """How many elements an axis has; none where it is open, or too long for a matrix."""
    types = rewriter.builder.types(term)
    if len(types) != 1 or types[0].rank < len(SWAP):
        return 0
    size = types[0].shape[axis]
    return size if isinstance(size, int) and size <= longest else 0


def _all_rows(term: Term, rewriter: Rewriter) -> Term | None:
    """The tensor of which a term is some rows in one, as those of a time step, with all of its rows in one."""
    if not isinstance(term, Apply) or term.operator != "Reshape":
        return None
    (part,) = term.args
    if not isinstance(part, Apply) or part.operator != "Slice" or part.attribute("axis") != ROWS:
        return None
    (whole,) = part.args
    builder = rewriter.builder
    *batch, rows, columns = builder.type(whole).shape
    if builder.type(term).shape[:-1] != tuple(batch) or rewriter.is_constant(whole):
        return None
    row = builder.apply("Reshape", (whole,), {"shape": (*batch, rows * columns)})
    return row if _length(row, COLUMNS, rewriter, LONGEST_ROW) else None


def _inherited(term: Term, found: Mapping[Term, Axes], rewriter: Rewriter) -> Axes:
    """What a term is linear in, since its operands are, but for weights."""
    data = [child for child in term.children if not rewriter.is_constant(child)]
    if not isinstance(term, Apply) or not data:
        return {}
    axes: dict[Along, int] = {}
    for along, axis in found[data[0]].items():
        leads_to = _axis_of(term, axis, rewriter)
        is_common = all(found[other].get(along) == axis for other in data)
        told = sum(other.axis == along.axis for other in axes)
        if leads_to is not None and is_common and _length(term, leads_to, rewriter) and told < MOST_SOURCES:
            axes[along] = leads_to
    return axes


def _axis_of(term: Apply, axis: int, rewriter: Rewriter) -> int | None:
    """The axis of a term that comes of an axis of its operands; None where it is not linear along that alone."""
    weights = [at for at, operand in enumerate(term.args) if rewriter.is_constant(operand)]
    if term.operator == "Transpose" and term.attribute("perm") == SWAP:
        return ROWS if axis == COLUMNS else COLUMNS
    if term.operator == "MatMul":
        return axis if weights == [1 if axis == COLUMNS else 0] else None
    if term.operator in ALONG_THEIR_OWN:
        return axis if term.attribute("axis") == axis and not weights else None
    if term.operator in ("AveragePool", "Reshape"):
        result, operand = map(_lines, _shapes(term, rewriter))
        return axis if axis == COLUMNS and operand is not None and result == operand else None
    if term.operator == "Expand":
        return axis if _differs_at(axis, *_shapes(term, rewriter)) else None
    is_linear = {"Mul": len(weights) == 1, "Div": weights == [1]}.get(term.operator, term.operator in ALONG_ANY)
    return axis if is_linear else None


def _shapes(term: Apply, rewriter: Rewriter) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    """Those of a term with one operand and of this."""
    (operand,) = term.args
    return rewriter.builder.type(term).shape, rewriter.builder.type(operand).shape


def _lines(shape: tuple[Dim, ...]) -> tuple[Dim, ...] | None:
    """The sizes before the columns of lines, which may be images of one row; None of other tensors."""
    is_image = len(shape) == RANK_OF_LINES + 1 and shape[ROWS] == 1
    return shape[: RANK_OF_LINES - 1] if is_image or len(shape) == RANK_OF_LINES else None


def _differs_at(axis: int, shape: tuple[Dim, ...], other: tuple[Dim, ...]) -> bool:
    """Whether two shapes are the same but for one axis."""
    at = axis % len(shape)
    return shape[:at] == other[:at] and shape[at + 1 :] == other[at + 1 :]


def _sequence(end: Term, along: Along, axes: Mapping[Term, Axes], rewriter: Rewriter) -> StepSequence | None:
    """What says the end of a region as one product, None where no rule does or where single steps lead there."""
    members = _members(end, along, axes)
    operators = Counter(term.operator for term in members if isinstance(term, Apply))
    meet = any(len([child for child in term.children if child in axes]) > 1 for term in members)
    fewest = FEWEST_PRODUCTS if MATRICES.isdisjoint(operators) else 1
    if not meet or operators["MatMul"] < fewest:
        return None
    try:
        return _Condensed(along, rewriter).sequence(members)
    except NoRuleError:
        return None


def _members(end: Term, along: Along, axes: Mapping[Term, Axes]) -> list[Term]:
    """All terms from a source to the end of a region, children before parents, without the source."""
    found: dict[Term, None] = {}
    stack = [end]
    while stack:
        term = stack[-1]
        inside = [one for one in term.children if along in axes.get(one, ()) and one is not along.source]
        inside = [one for one in inside if one not in found]
        if inside and term not in found:
            stack.extend(inside)
        else:
            found[stack.pop()] = None
    return [term for term in found if term is not along.source]


class _Condensed:
    """Terms that are said one by one as a product of a source with constants, transposed or with a constant added."""

    def __init__(self, along: Along, rewriter: Rewriter) -> None:
        self._rewriter, self._builder = rewriter, rewriter.builder
        self._steps: list[Step] = []
        self._failed: dict[Term, int] = {}
        self._data = along.source if along.axis == COLUMNS else self._transposed(along.source)
        self._said = {along.source: self._with_identity(along)}

    def sequence(self, members: Sequence[Term]) -> StepSequence:
        """All steps, and what replaces the last of the members."""
        for member in members:
            term = member if any(child in self._said for child in member.children) else self._picked(member)
            operands = [self._said.get(child, child) for child in term.children]
            self._said[member] = self._reduced(self._rewriter.with_children(term, operands), MOST_STEPS)
        return tuple(self._steps), ((members[-1], self._said[members[-1]]),)

    def _picked(self, member: Term) -> Term:
        """Some rows in one as a part of all rows in one."""
        step = next((step for step in self._steps_at(member) if self._data in step.image.children), None)
        if step is None:
            raise NoRuleError
        self._steps.append(step)
        return step.image

    def _with_identity(self, along: Along) -> Term:
        """The source as the product of its columns with the identity, transposed where its rows are meant."""
        apply, source = self._builder.apply, along.source
        kind = self._builder.type(source)
        ones = apply("Expand", (literal(1, kind.dtype),), {"shape": (kind.shape[along.axis],) * 2})
        product = apply("MatMul", (self._data, apply("IdentityMatrix", (ones,), {})), {})
        self._steps += self._between(product, self._data)
        if along.axis == COLUMNS:
            return product
        self._steps += self._between(self._transposed(self._data), source)
        return self._transposed(product)

    def _transposed(self, term: Term) -> Term:
        return self._builder.apply("Transpose", (term,), {"perm": SWAP})

    def _reduced(self, term: Term, most: int) -> Term:
        """A term with operands that are said as products, said as one in so many ways at most; the steps are taken."""
        term = self._without_detours(term)
        if self._is_said(term):
            return term
        if self._failed.get(term, 0) >= most:
            raise NoRuleError
        for steps, image in sorted(self._ways_from(term), key=lambda way: not self._is_said(way[1])):
            taken = len(self._steps)
            self._steps += steps
            try:
                return self._reduced(self._with_said_operand(image, most - 1), most - 1)
            except NoRuleError:
                del self._steps[taken:]
        self._failed[term] = most
        raise NoRuleError

    def _without_detours(self, term: Term) -> Term:
        """A term without what its operands do and undo, as where they are transposed twice."""
        for undone in map(self._rewriter.undone, term.children):
            if undone is not None and not self._is_said(undone.root):
                self._steps.append(undone)
                term = self._rewriter.with_child(term, undone.root, undone.image)
        return term

    def _ways_from(self, term: Term) -> list[tuple[list[Step], Term]]:
        ways = [([step], step.image) for step in self._steps_at(term)]
        try:
            return [*self._turned(term), *ways]
        except NoRuleError:
            return ways

    def _turned(self, term: Term) -> list[tuple[list[Step], Term]]:
        """Weights times a transpose, as the transpose of a product with the transposed weights."""
        if not isinstance(term, Apply) or term.operator != "MatMul" or not self._rewriter.is_constant(term.args[0]):
            return []
        weights, rows = term.args
        data = self._operand(rows, ("Transpose",))
        if data is None:
            return []
        turned = self._transposed(weights)
        image = self._transposed(self._builder.apply("MatMul", (data, turned), {}))
        back = self._builder.apply("MatMul", (self._transposed(turned), rows), {})
        return [([*self._between(image, back), *self._between(self._transposed(turned), weights)], image)]

    def _between(self, term: Term, other: Term) -> list[Step]:
        """The step between two terms, which holds in either direction."""
        if term is other:
            return []
        step = next((step for step in self._steps_at(term) if step.image is other), None)
        if step is None:
            raise NoRuleError
        return [step]

    def _steps_at(self, term: Term) -> list[Step]:
        sums = dict(self._rewriter.sums([*term.children, term]).values())
        longer = (step for whole in sums.items() for step in self._rewriter.sum_rewrites(*whole))
        return [*steps_at(term, self._rewriter), *longer]

    def _with_said_operand(self, term: Term, most: int) -> Term:
        """A product in another shape or transposed, or constants with one; other terms are no way to one."""
        operand = self._operand(term, ("Squeeze", "Unsqueeze", "Transpose", "Add", "MatMul", "Mul"))
        if operand is None:
            raise NoRuleError
        return term if self._is_said(term) else self._rewriter.with_child(term, operand, self._reduced(operand, most))

    def _operand(self, term: Term, operators: Sequence[str]) -> Term | None:
        """The operand beside constants of a term by one of some operators; None where there is none, or several."""
        data = [child for child in term.children if not self._rewriter.is_constant(child)]
        is_one = isinstance(term, Apply) and term.operator in operators and len(data) == 1
        return data[0] if is_one else None

    def _is_said(self, term: Term) -> bool:
        """Whether a term is a product of the data with constants, with others added, transposed, as images at most."""
        for operator in ("Unsqueeze", "Transpose", "Add"):
            term = self._operand(term, [operator]) or term
        return self._is_product(term)

    def _is_product(self, term: Term) -> bool:
        if not isinstance(term, Apply) or term.operator != "MatMul":
            return False
        data, weights = term.args
        return data is self._data and self._rewriter.is_constant(weights)
