"""Lifting: a rule about two tensors is applied to any number of them, and what results computes the same."""

import numpy as np
import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var, operator_count, postorder
from taso_opt.core.types import TensorType
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.patterns.lift import compile_fold, compile_rule
from taso_opt.rewrite.steps import Rewriter
from taso_opt.semantics.arrays import ModularArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.spec import load_specs
from taso_opt.spec.builder import Builder
from taso_opt.spec.text import parse_rule

ROWS = (
    "(MatMul(x, w), MatMul(y, w)) = (Split(MatMul(Concat(x, y; axis=-2), w); axis=-2, sizes=(m, p))[0], "
    "Split(MatMul(Concat(x, y; axis=-2), w); axis=-2, sizes=(m, p))[1]) where x[*b, m, k], y[*b, p, k], w[k, n]"
)
COLUMNS = (
    "(MatMul(x, w), MatMul(x, v)) = (Split(MatMul(x, Concat(w, v; axis=-1)); axis=-1, sizes=(n, p))[0], "
    "Split(MatMul(x, Concat(w, v; axis=-1)); axis=-1, sizes=(n, p))[1]) where x[*b, m, k], w[k, n], v[k, p]"
)
CONVS = (
    "(Conv(x, f; dilations=(d, e), group=1, pads=(a, b, c, g), strides=(s, t)), "
    "Conv(x, h; dilations=(d, e), group=1, pads=(a, b, c, g), strides=(s, t))) = "
    "(Split(Conv(x, Concat(f, h; axis=-4); dilations=(d, e), group=1, pads=(a, b, c, g), strides=(s, t)); "
    "axis=-3, sizes=(m, p))[0], Split(Conv(x, Concat(f, h; axis=-4); dilations=(d, e), group=1, pads=(a, b, c, g), "
    "strides=(s, t)); axis=-3, sizes=(m, p))[1]) where x[n, q, y, z], f[m, q, i, j], h[p, q, i, j]"
)
RELU_OF_CONCAT = "Concat(Relu(x), Relu(y); axis=-2) = Relu(Concat(x, y; axis=-2)) where x[*b, n, m], y[*b, p, m]"
RELU_OF_PARTS = (
    "(Relu(Split(x; axis=-2, sizes=(n, p))[0]), Relu(Split(x; axis=-2, sizes=(n, p))[1])) = "
    "(Split(Relu(x); axis=-2, sizes=(n, p))[0], Split(Relu(x); axis=-2, sizes=(n, p))[1]) where x[*b, n+p, m]"
)
BIAS_OF_PARTS = (
    "(Add(Split(x; axis=-1, sizes=(n, p))[0], y), Add(Split(x; axis=-1, sizes=(n, p))[1], z)) = "
    "(Split(Add(x, Concat(y, z; axis=-1)); axis=-1, sizes=(n, p))[0], "
    "Split(Add(x, Concat(y, z; axis=-1)); axis=-1, sizes=(n, p))[1]) where x[*b, n+p], y[n], z[p]"
)
SUM_OF_MATMULS = (
    "MatMul(Concat(x, z; axis=-1), Concat(y, w; axis=-2)) = Add(MatMul(x, y), MatMul(z, w)) "
    "where x[*b, m, k], y[k, n], z[*b, m, l], w[l, n]"
)
UNSPLIT = (
    "Concat(Split(x; axis=-2, sizes=(n, p))[0], Split(x; axis=-2, sizes=(n, p))[1]; axis=-2) = x where x[*b, n+p, m]"
)
ROWS_OF_STACKS = (
    "Concat(Reshape(x; shape=(p*q, k)), Reshape(y; shape=(r*q, k)); axis=-2) = "
    "Reshape(Concat(x, y; axis=-3); shape=(p*q+r*q, k)) where x[p, q, k], y[r, q, k]"
)


def image(name, *shape):
    return Var(name, TensorType("float32", shape))


def steps_of(text, *roots):
    op = load_specs().builder()
    rewriter = Rewriter(op, RuleSet((parse_rule(text, op),)))
    return op, list(rewriter.steps(postorder(roots)))


def assert_equal(op, roots, steps):
    """Every step leaves the value of every root as it was, exactly."""
    xp, generator = ModularArrays(), np.random.default_rng(0)
    leaves = {term: xp.random(generator, term.type.shape) for term in postorder(roots) if isinstance(term, Var | Const)}
    before = evaluate_arrays(op, xp, roots, leaves)
    for step in steps:
        rewritten = substitute_terms(op, roots, step.mapping)
        assert rewritten is not None
        for old, new in zip(before, evaluate_arrays(op, xp, rewritten, leaves), strict=True):
            assert np.array_equal(old, new)


def test_the_split_of_a_merge_is_made_once_for_however_many_parts(monkeypatch):
    made, apply = [], Builder.apply

    def counted(self, operator, *given):
        made.append(operator)
        return apply(self, operator, *given)

    monkeypatch.setattr(Builder, "apply", counted)
    splits = []
    for count in (2, 9):
        op = load_specs().builder()
        steps_of(ROWS, *(op.MatMul(image(f"x{at}", 2, 6), image("w", 6, 4)) for at in range(count)))
        splits.append(made.count("Split"))
        made.clear()
    assert splits[0] == splits[1] > 0


def test_five_matmuls_of_one_weight_are_stacked_in_one_step():
    op = load_specs().builder()
    w = image("w", 6, 4)
    roots = [op.MatMul(image(f"x{at}", rows, 6), w) for at, rows in enumerate((1, 2, 1, 3, 1))]
    op, steps = steps_of(ROWS, *roots)
    assert [len(step.replacements) for step in steps] == [5]
    rewritten = substitute_terms(op, roots, steps[0].mapping)
    assert operator_count(rewritten) == 3
    assert_equal(op, roots, steps)


def test_matmuls_that_need_each_other_are_not_merged():
    op = load_specs().builder()
    w = image("w", 4, 4)
    first = op.MatMul(image("x", 1, 4), w)
    second = op.MatMul(op.Relu(first), w)
    _, steps = steps_of(ROWS, second)
    assert steps == []


def test_three_steps_of_a_recurrence_give_up_only_their_independent_products():
    op = load_specs().builder()
    w, u, h = image("w", 4, 4), image("u", 4, 4), image("h", 1, 4)
    for at in range(3):
        h = op.Relu(op.Add(op.MatMul(image(f"x{at}", 1, 4), w), op.MatMul(h, u)))
    op, steps = steps_of(ROWS, h)
    assert [len(step.replacements) for step in steps] == [3]
    assert_equal(op, [h], steps)


def test_merging_of_columns_with_different_widths_keeps_values():
    op = load_specs().builder()
    roots = [op.MatMul(image("x", 2, 3, 6), image(f"w{at}", 6, width)) for at, width in enumerate((4, 1, 5))]
    op, steps = steps_of(COLUMNS, *roots)
    assert [len(step.replacements) for step in steps] == [3]
    assert_equal(op, roots, steps)


def test_convolutions_merge_only_at_equal_windows():
    op = load_specs().builder()
    x = image("x", 1, 3, 8, 8)
    plain = {"strides": (1, 1), "dilations": (1, 1), "group": 1}
    roots = [op.Conv(x, image(f"f{at}", at + 2, 3, 3, 3), pads=(1, 1, 1, 1), **plain) for at in range(3)]
    roots.append(op.Conv(x, image("g", 2, 3, 3, 3), pads=(0, 0, 0, 0), **plain))
    op, steps = steps_of(CONVS, *roots)
    assert [len(step.replacements) for step in steps] == [3]
    assert_equal(op, roots, steps)


def test_grouped_convolutions_do_not_match_a_rule_for_one_group():
    op = load_specs().builder()
    windows = {"strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 0, 0), "group": 2}
    roots = [op.Conv(image("x", 1, 4, 8, 8), image(f"f{at}", 4, 2, 3, 3), **windows) for at in range(2)]
    _, steps = steps_of(CONVS, *roots)
    assert steps == []


def test_a_map_over_a_long_concatenation_moves_out_in_one_step():
    op = load_specs().builder()
    root = op.Concat(*(op.Relu(image(f"x{at}", at + 1, 4)) for at in range(4)), axis=-2)
    op, steps = steps_of(RELU_OF_CONCAT, root)
    assert len(steps) == 1
    assert operator_count(substitute_terms(op, [root], steps[0].mapping)) == 2
    assert_equal(op, [root], steps)


def test_rows_of_several_stacks_are_rows_of_all_of_them_however_many_there_are():
    op = load_specs().builder()
    stacks = [image(f"x{at}", depth, 3, 4) for at, depth in enumerate((1, 5, 1, 2))]
    root = op.Concat(*(op.Reshape(one, shape=(3 * one.type.shape[0], 4)) for one in stacks), axis=-2)
    op, steps = steps_of(ROWS_OF_STACKS, root)
    assert [step.image for step in steps] == [op.Reshape(op.Concat(*stacks, axis=-3), shape=(27, 4))]
    assert_equal(op, [root], steps)


def test_a_map_over_all_parts_of_a_split_becomes_one():
    op = load_specs().builder()
    split = op.Split(image("x", 7, 4), axis=-2, sizes=(1, 4, 2))
    roots = [op.Relu(op.item(split, part)) for part in range(3)]
    op, steps = steps_of(RELU_OF_PARTS, *roots)
    assert [len(step.replacements) for step in steps] == [3]
    assert operator_count(substitute_terms(op, roots, steps[0].mapping)) == 2
    assert_equal(op, roots, steps)


def test_a_map_over_some_parts_of_a_split_stays():
    op = load_specs().builder()
    split = op.Split(image("x", 7, 4), axis=-2, sizes=(1, 4, 2))
    roots = [op.Relu(op.item(split, 0)), op.Relu(op.item(split, 2)), op.item(split, 1)]
    _, steps = steps_of(RELU_OF_PARTS, *roots)
    assert steps == []


def test_biases_of_parts_are_joined_in_the_order_of_the_parts():
    op = load_specs().builder()
    split = op.Split(image("x", 3, 9), axis=-1, sizes=(2, 3, 4))
    roots = [op.Add(op.item(split, part), image(f"b{part}", width)) for part, width in ((2, 4), (0, 2), (1, 3))]
    op, steps = steps_of(BIAS_OF_PARTS, *roots)
    assert [len(step.replacements) for step in steps] == [3]
    assert_equal(op, roots, steps)


def test_a_concatenation_of_all_parts_is_the_whole_and_of_shuffled_parts_is_not():
    op = load_specs().builder()
    split = op.Split(image("x", 7, 4), axis=-2, sizes=(1, 4, 2))
    ordered = op.Concat(*(op.item(split, part) for part in range(3)), axis=-2)
    op, steps = steps_of(UNSPLIT, ordered)
    assert [step.image for step in steps] == [image("x", 7, 4)]
    shuffled = op.Concat(*(op.item(split, part) for part in (0, 2, 1)), axis=-2)
    partial = op.Concat(op.item(split, 0), op.item(split, 1), axis=-2)
    assert steps_of(UNSPLIT, shuffled)[1] == []
    assert steps_of(UNSPLIT, partial)[1] == []


def test_a_sum_of_two_products_becomes_one_and_back():
    op = load_specs().builder()
    root = op.Add(op.MatMul(image("x", 2, 3), image("y", 3, 5)), op.MatMul(image("z", 2, 4), image("w", 4, 5)))
    op, steps = steps_of(SUM_OF_MATMULS, root)
    assert steps
    assert_equal(op, [root], steps)
    joined = steps[0].image
    op, back = steps_of(SUM_OF_MATMULS, joined)
    assert_equal(op, [joined], back)


@pytest.mark.parametrize("text", [ROWS, COLUMNS, CONVS, RELU_OF_CONCAT, RELU_OF_PARTS, BIAS_OF_PARTS, UNSPLIT])
def test_rules_with_corresponding_halves_are_lifted(text):
    op = load_specs().builder()
    compiled = compile_rule(parse_rule(text, op), op)
    assert compiled is not None
    assert compiled.lifted


def test_the_sizes_of_a_scheme_must_agree():
    op = load_specs().builder()
    text = "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[*b, k, n], z[*b, n, p]"
    batched = op.MatMul(op.MatMul(image("x", 2, 3, 4), image("y", 2, 4, 5)), image("z", 2, 5, 6))
    broadcast = op.MatMul(op.MatMul(image("x", 2, 3, 4), image("y", 4, 5)), image("z", 2, 5, 6))
    assert len(steps_of(text, batched)[1]) == 1
    assert steps_of(text, broadcast)[1] == []


def test_integers_are_not_reals():
    op = load_specs().builder()
    text = "Mul(Add(x, y), z) = Add(Mul(x, z), Mul(y, z)) where x[*a], y[*a], z[*a]"
    x, y, z = (Var(name, TensorType("int64", (3,))) for name in "xyz")
    assert steps_of(text, op.Mul(op.Add(x, y), z))[1] == []


SUM_OF_CONVS = (
    "Add(Conv(x, y; dilations=(d, e), group=1, pads=(a, b, r, t), strides=(s, u)), "
    "Conv(z, w; dilations=(d, e), group=1, pads=(a, b, r, t), strides=(s, u))) = "
    "Conv(Concat(x, z; axis=-3), Concat(y, w; axis=-3); dilations=(d, e), group=1, pads=(a, b, r, t), strides=(s, u)) "
    "where x[n, c, h, v], y[m, c, i, j], z[n, k, h, v], w[m, k, i, j]"
)
GROUPED = (
    "Concat(Conv(x, y; dilations=(d, e), group=g, pads=(a, b, r, t), strides=(s, u)), "
    "Conv(z, w; dilations=(d, e), group=q, pads=(a, b, r, t), strides=(s, u)); axis=-3) = "
    "Conv(Concat(x, z; axis=-3), Concat(y, w; axis=-4); dilations=(d, e), group=g+q, pads=(a, b, r, t), "
    "strides=(s, u)) "
    "where x[n, c*g, h, v], y[g*m, c, i, j], z[n, c*q, h, v], w[m*q, c, i, j]"
)
WINDOWS = {"dilations": (1, 1), "pads": (1, 1, 1, 1), "strides": (1, 1)}


def branches(op, count, groups=1):
    """Convolutions of images and kernels of their own, with some number of groups each."""
    return [
        op.Conv(image(f"x{at}", 1, 2 * groups, 5, 5), image(f"f{at}", 3 * groups, 2, 3, 3), group=groups, **WINDOWS)
        for at in range(count)
    ]


def test_five_convolutions_in_one_sum_become_one_however_they_are_bracketed():
    op = load_specs().builder()
    a, b, c, d, e = branches(op, 5)
    for root in (op.Add(op.Add(op.Add(op.Add(a, b), c), d), e), op.Add(op.Add(a, op.Add(b, c)), op.Add(d, e))):
        op, steps = steps_of(SUM_OF_CONVS, root)
        whole = [step for step in steps if operator_count(substitute_terms(op, [root], step.mapping)) == 3]
        assert len(whole) == 1
        assert_equal(op, [root], steps)


def test_what_else_stands_in_a_sum_stays_there():
    op = load_specs().builder()
    a, b, c = branches(op, 3)
    other = image("t", 1, 3, 5, 5)
    root = op.Add(op.Add(op.Add(a, other), b), c)
    op, steps = steps_of(SUM_OF_CONVS, root)
    assert min(operator_count(substitute_terms(op, [root], step.mapping)) for step in steps) == 4
    assert_equal(op, [root], steps)


def test_a_partial_sum_that_something_else_needs_is_not_taken_apart():
    op = load_specs().builder()
    a, b, c = branches(op, 3)
    partial = op.Add(a, b)
    roots = [op.Add(partial, c), op.Relu(partial)]
    op, steps = steps_of(SUM_OF_CONVS, *roots)
    assert steps and all(step.mapping.keys() == {partial} for step in steps)
    assert_equal(op, roots, steps)


def test_rules_about_a_sum_of_two_find_any_two_operands_of_a_longer_one():
    op = load_specs().builder()
    first, second = branches(op, 2)
    a, c, d = op.Sigmoid(first), first, second
    root = op.Add(op.Add(c, a), d)
    op, steps = steps_of(SUM_OF_CONVS, root)
    assert steps and all(operator_count(substitute_terms(op, [root], step.mapping)) == 6 for step in steps)
    assert_equal(op, [root], steps)


def test_the_groups_of_convolutions_side_by_side_add_up():
    op = load_specs().builder()
    root = op.Concat(*branches(op, 2), *branches(op, 1, groups=2), axis=-3)
    op, steps = steps_of(GROUPED, root)
    (rewritten,) = substitute_terms(op, [root], steps[0].mapping)
    assert rewritten.operator == "Conv" and rewritten.attribute("group") == 4
    assert_equal(op, [root], steps)


def test_a_variable_and_a_size_may_have_one_name():
    text = "Add(MatMul(x, w), MatMul(x, y)) = MatMul(x, Add(w, y)) where x[m, w], w[w, n], y[w, n]"
    op = load_specs().builder()
    x, v, w = image("x", 2, 3), image("v", 3, 4), image("w", 3, 4)
    op, steps = steps_of(text, op.Add(op.MatMul(x, v), op.MatMul(x, w)))
    assert len(steps) == 1


SQUARED = (
    "Mul(MatMul(x, Transpose(z; perm=(-1, -2))), MatMul(y, Transpose(z; perm=(-1, -2)))) = "
    "MatMul(Mul(x, y), Transpose(Mul(z, z); perm=(-1, -2))) where x[*b, m, 1], y[*b, m, 1], z[k, 1]"
)
AVERAGED = (
    "Add(ReduceMean(x; axes=(-1,)), ReduceMean(y; axes=(-1,))) = "
    "Mul(2, ReduceMean(Concat(x, y; axis=-1); axes=(-1,))) where x[*b, n], y[*b, n]"
)


@pytest.mark.parametrize("text", [SQUARED, AVERAGED], ids=["a power of a shared factor", "a number of elements"])
def test_what_holds_for_a_number_of_operands_is_not_said_of_more(text):
    op = load_specs().builder()
    assert compile_fold(parse_rule(text, op), op) is None


def test_two_of_three_products_of_one_column_are_joined_with_its_square():
    op = load_specs().builder()
    column = op.Transpose(image("z", 5, 1), perm=(-1, -2))
    products = [op.MatMul(image(f"x{at}", 4, 1), column) for at in range(3)]
    whole = op.Mul(op.Mul(products[0], products[1]), products[2])
    op, steps = steps_of(SQUARED, whole)
    assert len(steps) == 4  # of three pairs one stands in the graph as it is
    assert_equal(op, [whole], steps)


def test_thousands_of_operands_are_matched_one_after_the_other():
    op = load_specs().builder()
    rows = [image(f"x{at}", 1, 4) for at in range(3000)]
    _, steps = steps_of(RELU_OF_CONCAT, op.Concat(*map(op.Relu, rows), axis=-2))
    assert [old.operator for step in steps for old, _ in step.replacements] == ["Concat"]


def test_what_is_only_laid_out_anew_is_not_cut_up_for_that():
    op = load_specs().builder()
    root = op.Reshape(image("x", 1, 12), shape=(3, 4))
    split = "Split(x; axis=-1, sizes=(n, n, n))"
    parts = ", ".join(f"{split}[{at}]" for at in range(3))
    text = f"Concat({parts}; axis=-2) = Reshape(x; shape=(3, n)) where x[1, 3*n]"
    assert steps_of(text, root)[1] == []
    apart = op.Split(image("x", 1, 12), axis=-1, sizes=(4, 4, 4))
    (step,) = steps_of(text, op.Concat(*(op.item(apart, at) for at in range(3)), axis=-2))[1]
    assert step.image == root
