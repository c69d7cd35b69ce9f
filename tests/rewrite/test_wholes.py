"""Rules about joined, reshaped or transposed weights are applied to whole ones, and what results computes the same."""

from dataclasses import replace

import numpy as np
import pytest

from taso_opt.core.rule import Certificate, RuleSet
from taso_opt.core.term import Apply, Const, Var, operator_count, postorder
from taso_opt.rewrite.derived.wholes import with_wholes
from taso_opt.rewrite.steps import Rewriter
from taso_opt.semantics.arrays import ModularArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.spec.text import parse_rule
from taso_opt.verify.explain import preconditions
from terms import tensor

JOINED = "Concat(Split(x; axis={0}, sizes=(n, p))[0], Split(x; axis={0}, sizes=(n, p))[1]; axis={0}) = x where x[{1}]"
ROWS = JOINED.format(-2, "*b, n+p, m")
CHANNELS = JOINED.format(-3, "*b, n+p, h, w")
RESHAPED = "Reshape(Reshape(x; shape=(*t,)); shape=(*s,)) = Reshape(x; shape=(*s,)) where x[*a]"
SUM_OF_MATMULS = (
    "MatMul(Concat(x, z; axis=-1), Concat(y, w; axis=-2)) = Add(MatMul(x, y), MatMul(z, w)) "
    "where x[*b, m, k], y[k, n], z[*b, m, l], w[l, n]"
)
CONV = "dilations=(d_h, d_w), group={}, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
SUM_OF_CONVS = (
    f"Conv(Concat(x, z; axis=-3), Concat(y, w; axis=-3), v; {CONV.format(1)}) = "
    f"Add(Conv(x, y; {CONV.format(1)}), Conv(z, w, v; {CONV.format(1)})) "
    "where x[n, c, h, m], y[f, c, i, j], z[n, d, h, m], w[f, d, i, j], v[f]"
)
BIAS = (
    f"Conv(y, z, Reshape(x; shape=(g*j,)); {CONV.format('g')}) = Add(x, Conv(y, z; {CONV.format('g')})) "
    "where x[g*j, 1, 1], y[n, g*c, h, w], z[g*j, c, k, i]"
)
TWICE = "Transpose(Transpose(x; perm=(-1, -2)); perm=(-1, -2)) = x where x[*b, m, n]"
COLUMN = "MatMul(x, Transpose(y; perm=(-1, -2))) = ReduceSum(Mul(x, y); axes=(-1,)) where x[*b, m, k], y[*b, 1, k]"


def rewritten(op, texts, root):
    rules = RuleSet(tuple(parse_rule(text, op) for text in texts))
    return [step.image for step in Rewriter(op, rules).rewrites(root)]


def agree(op, old, new):
    """Whether two terms have equal values modulo a prime."""
    generator, arrays = np.random.default_rng(0), ModularArrays(8191)
    leaves = [term for term in postorder((old,)) if isinstance(term, Var | Const)]
    values = {leaf: generator.integers(0, 8191, leaf.type.shape) for leaf in leaves}
    left, right = (evaluate_arrays(op, arrays, (term,), values)[0] for term in (old, new))
    return np.array_equal(left, right)


@pytest.mark.parametrize("count", [2, 4])
def test_a_product_of_joined_rows_and_one_weight_becomes_a_sum_of_products(op, count):
    inputs = [tensor(Var, f"x{at}", 3, at + 1) for at in range(count)]
    weight = tensor(Const, "w", sum(one.type.shape[1] for one in inputs), 5)
    whole = op.MatMul(op.Concat(*inputs, axis=-1), weight)
    (total,) = rewritten(op, [SUM_OF_MATMULS, ROWS], whole)
    products = [term for term in postorder((total,)) if isinstance(term, Apply) and term.operator == "MatMul"]
    assert {product.args[0] for product in products} == set(inputs)
    assert agree(op, whole, total)


def test_however_many_are_joined_before_a_weight_ends_no_search(op):
    inputs = [tensor(Var, f"x{at}", 1, 1) for at in range(1200)]
    whole = op.MatMul(op.Concat(*inputs, axis=-1), tensor(Const, "w", 1200, 5))
    (total,) = rewritten(op, [SUM_OF_MATMULS, ROWS], whole)
    assert operator_count([total]) >= 2 * 1200


def test_a_rule_that_does_not_lift_takes_the_first_or_the_last_of_many_operands_away(op):
    inputs = [tensor(Var, f"x{at}", 1, at + 1, 3, 3) for at in range(3)]
    windows = {"dilations": (1, 1), "group": 1, "pads": (0, 0, 0, 0), "strides": (1, 1)}
    weight, bias = tensor(Const, "w", 2, 6, 1, 1), tensor(Const, "b", 2)
    whole = op.Conv(op.Concat(*inputs, axis=-3), weight, bias, **windows)
    found = rewritten(op, [SUM_OF_CONVS, CHANNELS], whole)
    images = [{term.args[0] for term in postorder((new,)) if getattr(term, "operator", "") == "Conv"} for new in found]
    assert images == [
        {inputs[0], op.Concat(*inputs[1:], axis=-3)},
        {op.Concat(*inputs[:2], axis=-3), inputs[2]},
    ]
    assert all(agree(op, whole, new) for new in found)


def test_a_bias_of_a_grouped_convolution_is_added_behind_it(op):
    windows = {"dilations": (1, 1), "group": 3, "pads": (1, 1, 1, 1), "strides": (2, 2)}
    image, weight, bias = tensor(Var, "x", 1, 6, 5, 5), tensor(Const, "w", 3, 2, 3, 3), tensor(Const, "b", 3)
    whole = op.Conv(image, weight, bias, **windows)
    (total,) = rewritten(op, [BIAS, RESHAPED], whole)
    assert set(total.args) == {op.Conv(image, weight, **windows), op.Reshape(bias, shape=(3, 1, 1))}
    assert agree(op, whole, total)


def test_a_weight_is_the_transpose_of_its_transpose(op):
    image, weight = tensor(Var, "x", 4, 6), tensor(Const, "w", 6, 1)
    whole = op.MatMul(image, weight)
    (total,) = rewritten(op, [COLUMN, TWICE], whole)
    assert total is op.ReduceSum(op.Mul(image, op.Transpose(weight, perm=(-1, -2))), axes=(-1,))
    assert agree(op, whole, total)


def test_a_product_turns_as_a_whole_where_its_weight_has_one_column(op):
    turn = (
        "MatMul(x, Transpose(y; perm=(-1, -2))) = Transpose(MatMul(y, Transpose(x; perm=(-1, -2))); perm=(-1, -2)) "
        "where x[*b, m, k], y[*b, n, k]"
    )
    image = tensor(Var, "x", 4, 6)
    assert rewritten(op, [turn, TWICE], op.MatMul(image, tensor(Const, "w", 6, 2))) == []
    whole = op.MatMul(image, tensor(Const, "w", 6, 1))
    (turned,) = rewritten(op, [turn, TWICE], whole)
    assert turned.operator == "Transpose" and agree(op, whole, turned)


def test_what_is_computed_at_run_time_is_not_taken_apart(op):
    image, weight, constant = tensor(Var, "x", 4, 6), tensor(Var, "w", 6, 1), tensor(Const, "c", 6, 1)
    assert rewritten(op, [COLUMN, TWICE], op.MatMul(image, weight)) == []
    assert len(rewritten(op, [COLUMN, TWICE], op.MatMul(image, op.Relu(constant)))) == 1


@pytest.mark.parametrize(
    "texts",
    [
        [SUM_OF_MATMULS],
        [SUM_OF_MATMULS, CHANNELS],
        [SUM_OF_MATMULS, ROWS.replace("sizes=(n, p)", "sizes=(n, n)").replace("n+p", "2*n")],
        [SUM_OF_MATMULS, ROWS.replace("*b, n+p, m", "n+p, m")],
        [SUM_OF_MATMULS, ROWS.replace("*b, n+p, m", "*b, n+p, 4")],
        [COLUMN, TWICE.replace("*b, m, n", "*b, m, m")],
        [SUM_OF_MATMULS, ROWS.replace("[0]", "[2]").replace("[1]", "[0]").replace("[2]", "[1]")],
        [BIAS, ROWS],
        [COLUMN, "Transpose(Transpose(x; perm=(-2, -3, -1)); perm=(-2, -3, -1)) = x where x[*b, k, m, n]"],
        ["Relu(Concat(x, y; axis=-2)) = Concat(Relu(x), Relu(y); axis=-2) where x[*b, n, m], y[*b, p, m]", ROWS],
    ],
    ids=[
        "no rule",
        "another axis",
        "equal parts",
        "matrices",
        "four columns",
        "squares",
        "parts in the other order",
        "nothing reshaped",
        "another transpose",
        "a lone join",
    ],
)
def test_without_a_rule_about_the_whole_nothing_is_said_of_it(op, texts):
    assert list(with_wholes([parse_rule(text, op) for text in texts], op)) == []


def test_sizes_of_parts_that_nothing_tells_make_no_rule(op):
    sides = "Add(Concat(x, y; axis=-2), Concat(z, w; axis=-1)) = Add(Concat(z, w; axis=-1), Concat(x, y; axis=-2)) "
    rule = parse_rule(sides + "where x[1, k+l], y[1, k+l], z[2, k], w[2, l]", op)
    columns = parse_rule(JOINED.format(-1, "*b, n+p"), op)
    assert list(with_wholes([rule, columns], op)) == []
    (of_rows,) = with_wholes([rule, parse_rule(ROWS, op)], op)
    assert [one.operator for one in of_rows.source[0].args if isinstance(one, Apply)] == ["Concat"]


def test_a_rule_about_a_whole_says_that_it_is_for_constants(op):
    rules = [
        parse_rule(text.replace("x[", "weights[").replace("(x", "(weights").replace("= x", "= weights"), op)
        for text in (COLUMN, TWICE)
    ]
    (of_whole,) = with_wholes(rules, op)
    assert [str(condition) for condition in of_whole.conditions] == ["weights_ is constant"]
    assert "weights_ is a constant of the model" in preconditions(of_whole)


def test_a_rule_about_a_whole_names_the_axioms_of_both_rules(op):
    rules = [
        replace(parse_rule(text, op), certificate=Certificate((axiom,), "z3", "specs"))
        for text, axiom in ((SUM_OF_MATMULS, "one"), (ROWS, "other"))
    ]
    found = list(with_wholes(rules, op))
    assert {rule.certificate.axioms for rule in found} == {("one", "other")}
