"""A size that a pattern gives as a part of a sum is what the other parts leave; a dilation that may be any is 1."""

import pytest

from taso_opt.core.dims import symbol
from taso_opt.core.literal import literal
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Var
from taso_opt.core.types import TensorType
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule

INSIDE = (
    "Slice(Concat(x, y; axis=-1); axis=-1, sizes=(n, p, q+r)) = Slice(x; axis=-1, sizes=(n, p, q)) "
    "where x[*b, n+p+q], y[*b, r]"
)
ACROSS = (
    "Slice(Concat(x, y; axis=-1); axis=-1, sizes=(n, p+q, r)) = "
    "Concat(Slice(x; axis=-1, sizes=(n, p, 0)), Slice(y; axis=-1, sizes=(0, q, r)); axis=-1) "
    "where x[*b, n+p], y[*b, q+r]"
)


def results(text, sizes):
    """What a rule makes of a slice of a tensor of 5 columns joined with one of 3."""
    op = load_specs().builder()
    x, y = (Var(name, TensorType("float32", (2, width))) for name, width in (("x", 5), ("y", 3)))
    term = op.Slice(op.Concat(x, y, axis=-1), axis=-1, sizes=sizes)
    steps = Rewriter(op, RuleSet((parse_rule(text, op),))).rewrites(term)
    return op, x, y, [step.image for step in steps]


@pytest.mark.parametrize("behind", [0, 1, 3])
def test_what_is_left_of_a_sum_is_found_even_if_it_is_nothing(behind):
    kept = (1, 4 - behind, 3 + behind)
    op, x, _, found = results(INSIDE, kept)
    assert found == [op.Slice(x, axis=-1, sizes=(1, 4 - behind, behind))]


@pytest.mark.parametrize("sizes", [(1, 5, 2), (5, 3, 0), (6, 1, 1)])
def test_a_size_below_zero_is_no_match(sizes):
    assert results(INSIDE, sizes)[-1] == []


def test_two_open_sizes_are_found_from_one_equation_each():
    op, x, y, found = results(ACROSS, (3, 4, 1))
    parts = op.Slice(x, axis=-1, sizes=(3, 2, 0)), op.Slice(y, axis=-1, sizes=(0, 2, 1))
    assert found == [op.Concat(*parts, axis=-1)]


@pytest.mark.parametrize("sizes", [(0, 5, 3), (0, 3, 5), (5, 2, 1), (6, 1, 1)])
def test_a_slice_inside_one_operand_is_not_across(sizes):
    assert results(ACROSS, sizes)[-1] == []


def test_a_dilation_that_does_not_matter_is_one():
    op = load_specs().builder()
    window = "group=c, pads=(0, 0, 0, 0), strides=(1, 1)"
    rule = (
        f"Mul(x, Reshape(y; shape=(c, 1, 1))) = Conv(x, y; dilations=(d_h, d_w), {window}) "
        "where x[n, c, h, w], y[c, 1, 1, 1]"
    )
    x, y = (Var(name, TensorType("float32", shape)) for name, shape in (("x", (1, 4, 5, 5)), ("y", (4, 1, 1, 1))))
    scaled, plain = op.Mul(x, op.Reshape(y, shape=(4, 1, 1))), {"group": 4, "pads": (0, 0, 0, 0), "strides": (1, 1)}
    rewriter = Rewriter(op, RuleSet((parse_rule(rule, op),)))
    (step,) = rewriter.rewrites(scaled)
    assert step.image == op.Conv(x, y, **plain, dilations=(1, 1))
    (back,) = rewriter.rewrites(op.Conv(x, y, **plain, dilations=(2, 1)))
    assert back.image == scaled


@pytest.mark.parametrize(("columns", "half"), [(1, 1), (3, 2), (4, None), (7, 4)])
def test_a_multiple_that_a_number_was_taken_from_is_found_where_it_divides(columns, half):
    op = load_specs().builder()
    rule = "Transpose(x; perm=(-1, -2)) = Reshape(x; shape=(2*a-1, m)) where x[m, 2*a-1]"
    x = Var("x", TensorType("float32", (1, columns)))
    steps = Rewriter(op, RuleSet((parse_rule(rule, op),))).rewrites(op.Transpose(x, perm=(-1, -2)))
    found = [step.image for step in steps]
    assert found == ([] if half is None else [op.Reshape(x, shape=(2 * half - 1, 1))])


@pytest.mark.parametrize(("columns", "fits"), [(1, False), (3, True)])
def test_a_size_is_at_least_one(columns, fits):
    op = load_specs().builder()
    rule = "Transpose(x; perm=(-1, -2)) = Reshape(x; shape=(2*a+1, m)) where x[m, 2*a+1]"
    term = op.Transpose(Var("x", TensorType("float32", (1, columns))), perm=(-1, -2))
    assert bool(Rewriter(op, RuleSet((parse_rule(rule, op),))).rewrites(term)) is fits


@pytest.mark.parametrize(("rows", "slopes", "fits"), [(3, 4, False), (symbol("N"), 4, False), (symbol("N"), 1, True)])
def test_a_slope_that_would_make_a_tensor_larger_is_none_whatever_size_is_open(rows, slopes, fits):
    op = load_specs().builder()
    rule = "Where(Less(x, 0), Mul(x, s), x) = PRelu(x, s) where s[*any_s], x[*any_x]"
    x, s = Var("x", TensorType("float32", (rows, 1))), Var("s", TensorType("float32", (slopes,)))
    term = op.Where(op.Less(x, literal(0, "float32")), op.Mul(x, s), x)
    found = [step.image for step in Rewriter(op, RuleSet((parse_rule(rule, op),))).rewrites(term)]
    assert found == ([op.PRelu(x, s)] if fits else [])
