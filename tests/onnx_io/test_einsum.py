"""Einsum is read as the products and sums that it consists of, and is opaque where it takes an axis twice."""

import numpy as np
import pytest

from taso_opt.core.term import Apply
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.spec import OPAQUE

SIZES = {"b": 2, "h": 3, "n": 5, "m": 4, "d": 6, "e": 7}
PRODUCTS = {
    "bnhd,bmhd->bhnm": ["MatMul", "Transpose", "Transpose"],  # scores of attention, heads behind elements
    "bhnm,bmhd->bnhd": ["MatMul", "Transpose", "Transpose"],
    "nd,de->ne": ["MatMul"],
    "n d, e d -> n e": ["MatMul", "Transpose"],
    "nd,de->en": ["MatMul", "Transpose"],
    "hnd,hde->hne": ["MatMul"],
    "bnd,dhe->bhne": ["MatMul", "Reshape", "Reshape", "Reshape", "Transpose"],
    "nhd,hde->ne": ["MatMul", "Reshape", "Reshape"],
    "bd,bmd->bm": ["MatMul", "Reshape", "Reshape", "Transpose"],
    "bnd,bnd->b": ["MatMul", "Reshape", "Reshape", "Reshape"],
    "nmd,mnd->d": ["MatMul", "Reshape", "Reshape", "Reshape", "Transpose", "Transpose"],
    "d,d->": ["MatMul", "Reshape", "Reshape", "Reshape"],
    "nd->dn": ["Transpose"],
    "bnhd->bhnd": ["Transpose"],
    "nd->n": ["ReduceSum", "Reshape"],
    "bnd->d": ["ReduceSum", "Reshape", "Transpose"],
    "nd->": ["ReduceSum", "Reshape"],
    "nd,de": ["MatMul", "Transpose"],
    "nd,de,em->nm": ["MatMul", "MatMul"],
    "bnd,de,bmd->bnme": ["MatMul", "Mul", *["Reshape"] * 4, *["Transpose"] * 4],
    "bd,be->bde": ["Mul", "Reshape", "Reshape"],
    "nd,nd->nd": ["Mul"],
    "n,d->dn": ["Mul", "Reshape", "Reshape", "Transpose"],
    "nd,md->n": ["MatMul", "ReduceSum", "Reshape", "Reshape", "Reshape", "Transpose"],
    "nd,me->": ["Mul", "ReduceSum", "ReduceSum", "Reshape", "Reshape"],
    "...d,de->...e": ["MatMul", "Reshape", "Reshape"],
    "...nd,...md->...nm": ["MatMul", "Reshape", "Reshape", "Transpose", "Transpose", "Transpose"],
    "...d->d...": ["Transpose"],
    "...n,n": ["MatMul", "Reshape", "Reshape", "Reshape"],
}
OTHERS = (
    "nn,nd->nd",  # a diagonal
    "nn->n",
    "nd,de->nee",
    "nd->nn",
    "nd->nd2",
    "nd->nb",  # a letter from nowhere
    "nd,de->ne,",
    "...nd,de->ne",  # axes that are neither kept nor named
    "nD",  # which of a small and a large letter comes first
    "n->n->n",
)
STRETCHED = ("b", "h")
"""What an ellipsis stands for in the first operand; in the others it stands for the last of these."""


def read_einsum(read, equation):
    """The model of one such node, and the shapes of its operands."""
    operands = equation.replace(" ", "").partition("->")[0].split(",")
    named = [letters.replace("...", "".join(STRETCHED[min(at, 1) :])) for at, letters in enumerate(operands)]
    shapes = [[SIZES[letter] for letter in letters.lower() if letter in SIZES] for letters in named]
    given = ", ".join(f"float{shape or '[]'} x{at}" for at, shape in enumerate(shapes))
    names = ", ".join(f"x{at}" for at in range(len(shapes)))
    graph = f'g ({given}) => (float y) {{ y = Einsum <equation = "{equation}"> ({names}) }}'
    return read(f'<ir_version: 8, opset_import: ["" : 17]> {graph}'), shapes


def operators(model):
    return sorted(term.operator for term in model.graph.terms() if isinstance(term, Apply))


@pytest.mark.parametrize("equation", PRODUCTS)
def test_a_product_is_read_with_what_its_letters_say(read, equation):
    model, shapes = read_einsum(read, equation)
    assert operators(model) == PRODUCTS[equation]
    generator = np.random.default_rng(3)
    values = [generator.standard_normal(shape) for shape in shapes]
    given = dict(zip(model.graph.inputs, values, strict=True))
    (found,) = evaluate_arrays(model.builder, FloatArrays(), model.graph.outputs, given)
    np.testing.assert_allclose(found, np.einsum(equation, *values), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("equation", OTHERS)
def test_what_takes_an_axis_twice_or_fits_no_equation_is_opaque(read, equation):
    assert operators(read_einsum(read, equation)[0]) == [OPAQUE]


def test_operands_of_sizes_that_may_differ_are_opaque(read):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[N, 3] x, float[M, 3] y) => (float z) { %s }'
    assert operators(read(text % 'z = Einsum <equation = "nd,nd->n"> (x, y)')) == [OPAQUE]
    assert "MatMul" in operators(read(text % 'z = Einsum <equation = "nd,md->nm"> (x, y)'))
