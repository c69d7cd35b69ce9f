"""Candidates about distances: squared differences of each row with each other row, added up, are a product of the rows.

Models that look for the nearest of some vectors, or compute functions of distances, often subtract all of these from
each row and square and add up what they get: tensors with an axis more than the distances have. The sum of squares of
each row, less twice the product of the two, says the same; its positive part, since rounding may leave a little less
than nothing, of which the root would be no number (as scikit-learn's and PyTorch's distances are computed).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from taso_opt.core.literal import literal
from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.schemes.passing import confirmed
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.elementwise import SWAP

ROWS = "*b m 1 k"
OTHERS = ("n k", "*b 1 n k")
"""The rows of one matrix, and of as many matrices as the first rows are of."""


def discover_distances(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates about squared distances of rows, in the order of their text form."""
    builder = library.builder()
    return confirmed(_rules(builder), builder, seed, operators)


def _rules(builder: Builder) -> Iterator[Rule]:
    x = Var("x", parse_scheme(ROWS))
    for scheme in OTHERS:
        y = Var("y", parse_scheme(scheme))
        for pair, square in product(((x, y), (y, x)), (_power, _product)):
            differences = square(builder, builder.apply("Sub", pair, {}))
            yield Rule((_added(builder, differences),), (_by_product(builder, x, y),))


def _power(builder: Builder, rows: Term) -> Term:
    return builder.apply("Pow", (rows,), {"exponent": (2, 1)})


def _product(builder: Builder, rows: Term) -> Term:
    return builder.apply("Mul", (rows, rows), {})


def _added(builder: Builder, rows: Term) -> Term:
    return builder.apply("ReduceSum", (rows,), {"axes": (-1,)})


def _by_product(builder: Builder, x: Var, y: Var) -> Term:
    """The squared distances of two kinds of rows by their product."""
    *batch, rows, _, columns = x.type.shape
    number = y.type.shape[-2]
    matrix = builder.apply("Reshape", (x,), {"shape": (*batch, rows, columns)})
    others: Term = y
    if y.type.rank > len(SWAP):
        others = builder.apply("Reshape", (y,), {"shape": (*batch, number, columns)})
    products = builder.apply("MatMul", (matrix, builder.apply("Transpose", (others,), {"perm": SWAP})), {})
    shared = builder.apply("Reshape", (products,), {"shape": (*batch, rows, number, 1)})
    apart = builder.apply("Add", [_added(builder, _power(builder, one)) for one in (x, y)], {})
    return builder.apply(
        "Relu", (builder.apply("Sub", (apart, builder.apply("Mul", (literal(2), shared), {})), {}),), {}
    )
