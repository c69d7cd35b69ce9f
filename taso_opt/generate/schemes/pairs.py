"""Candidates about rows in pairs: what is added up of each row with each other row is a product of the rows.

Models that look for the nearest of some vectors, or compute functions of distances or angles, often subtract all of
these from each row, or multiply each row by them, and add up what they get: tensors with an axis more than the result
has. Sums of multiples are a product of matrices. The sum of squares of each row, less twice such a product, is the sum
of squared differences; its positive part, since rounding may leave a little less than nothing, of which the root would
be no number (as scikit-learn's and PyTorch's distances are computed). That is tried with fixed vectors alone: of the
rows of one tensor each has a distance of nothing to itself, of which rounding would leave anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

from taso_opt.core.literal import literal
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.layout import reshaped, transposed
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.elementwise import SWAP

ROWS = "*b m 1 k"
OTHERS = ("n k", "*b 1 n k")
"""The rows of one matrix, and of as many matrices as the first rows are of."""

COLUMNS = (("*b m k 1", "k n", None, -2), ("*b m k 1", "*b 1 k n", -3, -2), ("*b k m 1", "*b k 1 n", -2, -3))
"""Rows and columns, which axis of the latter has size one, and the axis along which multiples of them are added up."""


def discover_pairs(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about sums of multiples and of squared differences, in the order of their text form."""
    builder = library.builder()
    return confirmed((*_of_rows(builder), *_of_columns(builder)), builder, seed, operators)


def _of_rows(builder: Builder) -> Iterator[Rule]:
    """Inner products of rows, and distances, with differences in either order."""
    x = Var("x", parse_scheme(ROWS))
    fixed, several = (Var("y", parse_scheme(scheme)) for scheme in OTHERS)
    for y in (fixed, several):
        yield Rule((_added(builder, _times(builder, x, y), -1),), (_inner(builder, x, y),))
    yield from _scaled_differences(builder, x, fixed)
    squared = _distances(builder, x, fixed)
    for difference in (builder.apply("Sub", pair, {}) for pair in ((x, fixed), (fixed, x))):
        for squares in (_power(builder, difference), _times(builder, difference, difference)):
            yield Rule((_added(builder, squares, -1),), (squared,))
        for name, target in (("ReduceSumSquare", squared), ("ReduceL2", builder.apply("Sqrt", (squared,), {}))):
            yield Rule((builder.apply(name, (difference,), {"axes": (-1,)}),), (target,))


def _scaled_differences(builder: Builder, x: Var, y: Var) -> Iterator[Rule]:
    """Differences over, or times, a deviation or one of each feature: of rows that have it already."""
    for name, scheme in product(("Div", "Mul"), ("", "k")):
        s = Var("s", parse_scheme(scheme))
        scaled = (builder.apply(name, (one, s), {}) for one in (x, y))
        sides = zip(permutations((x, y)), permutations(scaled), strict=True)
        for difference, result in sides:
            source = builder.apply(name, (builder.apply("Sub", difference, {}), s), {})
            yield Rule((source,), (builder.apply("Sub", result, {}),))


def _of_columns(builder: Builder) -> Iterator[Rule]:
    """Products of matrices, and of one that is transposed, element by element."""
    for *schemes, alone, axis in COLUMNS:
        x, y = (Var(name, parse_scheme(scheme)) for name, scheme in zip("xy", schemes, strict=True))
        source = _added(builder, _times(builder, x, y), axis)
        rows = _matrix(builder, x, -1)
        rows = rows if axis in SWAP else transposed(builder, rows)
        found = builder.apply("MatMul", (rows, y if alone is None else _matrix(builder, y, alone)), {})
        yield Rule((source,), (reshaped(builder, found, builder.type(source).shape),))


def _inner(builder: Builder, x: Var, y: Var) -> Term:
    """The inner products of two kinds of rows by the product of their matrices."""
    others = _matrix(builder, y, -3) if y.type.rank > len(SWAP) else y
    products = builder.apply("MatMul", (_matrix(builder, x, -2), transposed(builder, others)), {})
    return reshaped(builder, products, (*builder.type(products).shape, 1))


def _distances(builder: Builder, x: Var, y: Var) -> Term:
    """The squared distances of rows to fixed rows by their inner products."""
    norms = _added(builder, _power(builder, x), -1), builder.apply("SquaredNorms", (y,), {})
    twice = _times(builder, literal(2), _inner(builder, x, y))
    return builder.apply("Relu", (builder.apply("Sub", (builder.apply("Add", norms, {}), twice), {}),), {})


def _matrix(builder: Builder, x: Var, axis: int) -> Term:
    """A tensor without an axis of size one."""
    shape = list(x.type.shape)
    del shape[axis]
    return reshaped(builder, x, tuple(shape))


def _power(builder: Builder, rows: Term) -> Term:
    return builder.apply("Pow", (rows,), {"exponent": (2, 1)})


def _times(builder: Builder, x: Term, y: Term) -> Term:
    return builder.apply("Mul", (x, y), {})


def _added(builder: Builder, rows: Term, axis: int) -> Term:
    return builder.apply("ReduceSum", (rows,), {"axes": (axis,)})
