"""The laws that an optimizer lives on are found, each in its most general form, from the specs alone."""

from itertools import product

import pytest

from taso_opt.generate.equations.confirm import holds, holds_in_floats
from taso_opt.spec.text import format_rule, parse_rule

WINDOW = "dilations=(d_h, d_w), group={group}, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
CONV = WINDOW.format(group=1)
GROUPED = WINDOW.format(group="g")
POOL = "kernel=(k_h, k_w), pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
MAX = f"dilations=(d_h, d_w), {POOL}"
PARTS = "axis={axis}, sizes=({sizes})"


def pair(left, whole, axis, sizes):
    """The text of an equation between two outputs and both parts of a split."""
    parts = ", ".join(f"Split({whole}; axis={axis}, sizes=({sizes}))[{part}]" for part in (0, 1))
    return f"({left}) = ({parts})"


@pytest.mark.parametrize("types", ["x[*b, m, k], y[*b, k, n], z[*b, n, p]", "x[*b, m, k], y[k, n], z[n, p]"])
def test_matmul_is_associative_with_and_without_batches_of_weights(discovered, covers, types):
    rules = discovered("chain", "MatMul, Transpose")
    assert covers(rules, f"MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where {types}")


def test_the_transpose_of_a_matmul_is_the_matmul_of_the_transposes(discovered, covers):
    rules = discovered("chain", "MatMul, Transpose")
    t = "Transpose({}; perm=(-1, -2))".format
    text = f"{t('MatMul(x, y)')} = MatMul({t('y')}, {t('x')}) where x[*b, m, k], y[*b, k, n]"
    assert covers(rules, text)
    assert covers(rules, f"{t(t('x'))} = x where x[*b, m, k]")


@pytest.mark.parametrize("types", ["x[*b, m, k], y[*b, k, n], z[*b, k, p]", "x[*b, m, k], y[k, n], z[k, p]"])
def test_two_matmuls_that_share_the_left_operand_merge(discovered, covers, types):
    rules = discovered("columns", "MatMul, Concat, Split")
    merged = pair("MatMul(x, y), MatMul(x, z)", "MatMul(x, Concat(y, z; axis=-1))", -1, "n, p")
    assert covers(rules, f"{merged} where {types}")


@pytest.mark.parametrize("types", ["x[*b, m, k], y[*b, p, k], z[*b, k, n]", "x[*b, m, k], y[*b, p, k], z[k, n]"])
def test_two_matmuls_that_share_the_right_operand_stack_their_rows(discovered, covers, types):
    rules = discovered("stacked rows", "MatMul, Concat, Split")
    merged = pair("MatMul(x, z), MatMul(y, z)", "MatMul(Concat(x, y; axis=-2), z)", -2, "m, p")
    assert covers(rules, f"{merged} where {types}")


def test_a_sum_of_two_matmuls_is_one_over_joined_operands(discovered, covers):
    rules = discovered("inner", "MatMul, Add, Concat")
    joined = "MatMul(Concat(x, z; axis=-1), Concat(y, w; axis=-2))"
    text = f"Add(MatMul(x, y), MatMul(z, w)) = {joined} where x[*b, m, k], y[k, n], z[*b, m, l], w[l, n]"
    assert covers(rules, text)


def test_matmul_distributes_over_sums_on_both_sides_and_lets_scalars_out(discovered, covers):
    sums = discovered("linear", "MatMul, Add")
    scaled = discovered("linear", "MatMul, Mul")
    assert covers(sums, "MatMul(x, Add(y, z)) = Add(MatMul(x, y), MatMul(x, z)) where x[*b, m, k], y[k, n], z[k, n]")
    left = "MatMul(Add(x, y), z) = Add(MatMul(x, z), MatMul(y, z)) where"
    assert covers(sums, f"{left} x[*b, m, k], y[*b, m, k], z[k, n]")
    assert covers(sums, f"{left} x[*b, m, k], y[*b, m, k], z[*b, k, n]")
    # Two of the three places that a scalar may stand in are stated; the third follows.
    places = ["MatMul(Mul(x, s), y)", "MatMul(x, Mul(y, s))", "Mul(MatMul(x, y), s)"]
    found = [
        covers(scaled, f"{one} = {other} where x[m, k], y[k, n], s[]")
        for one, other in product(places, places)
        if one < other
    ]
    assert sum(found) >= 2


def test_biases_and_scales_of_two_groups_of_columns_are_joined(discovered, covers):
    for name in ("Add", "Mul"):
        rules = discovered("joined columns", f"{name}, Concat, Split")
        joined = f"{name}(Concat(x, z; axis=-1), Concat(y, w; axis=-1))"
        types = "where x[*b, m], y[m], z[*b, k], w[k]"
        assert covers(rules, f"Concat({name}(x, y), {name}(z, w); axis=-1) = {joined} {types}")
        assert covers(rules, f"{pair(f'{name}(x, y), {name}(z, w)', joined, -1, 'm, k')} {types}")


@pytest.mark.parametrize(("pool", "axis", "rest"), [
    ("joined columns", -1, ""), ("joined rows", -2, ", t"), ("joined channels", -3, ", s, t"),
    ("joined batch", -4, ", r, s, t"),
])  # fmt: skip
@pytest.mark.parametrize("name", ["Relu", "Tanh"])
def test_a_map_of_two_joined_tensors_is_their_joined_maps(discovered, covers, pool, axis, rest, name):
    rules = discovered(pool, f"{name}, Concat, Split")
    types = f"where x[*b, n{rest}], y[*b, p{rest}]"
    whole = f"{name}(Concat(x, y; axis={axis}))"
    assert covers(rules, f"{whole} = Concat({name}(x), {name}(y); axis={axis}) {types}")
    assert covers(rules, f"{pair(f'{name}(x), {name}(y)', whole, axis, 'n, p')} {types}")
    assert covers(rules, f"{pair('x, y', f'Concat(x, y; axis={axis})', axis, 'n, p')} {types}")


@pytest.mark.parametrize(("pool", "axis", "rest"), [
    ("split columns", -1, ""), ("split rows", -2, ", t"), ("split channels", -3, ", s, t"),
    ("split batch", -4, ", r, s, t"),
])  # fmt: skip
def test_joining_the_parts_of_a_split_undoes_it_and_a_map_passes_through(discovered, covers, pool, axis, rest):
    rules = discovered(pool, "Relu, Concat, Split")
    first, second = (f"Split(x; axis={axis}, sizes=(n, p))[{part}]" for part in (0, 1))
    assert covers(rules, f"x = Concat({first}, {second}; axis={axis}) where x[*b, n+p{rest}]")
    assert covers(rules, f"{pair(f'Relu({first}), Relu({second})', 'Relu(x)', axis, 'n, p')} where x[*b, n+p{rest}]")


def test_a_map_passes_through_transposes_and_reshapes(discovered, covers):
    images = discovered("joined channels", "Relu, Transpose, Concat", 2)
    for perm, axes in (("(-1, -2)", "m, n"), ("(-2, -3, -1)", "l, m, n")):
        moved = f"Relu(Transpose(x; perm={perm})) = Transpose(Relu(x); perm={perm}) where x[*b, {axes}]"
        assert covers(images, moved)
    shapes = discovered("any shape", "Sigmoid, Reshape", 2)
    assert covers(shapes, "Sigmoid(Reshape(x; shape=(*s,))) = Reshape(Sigmoid(x); shape=(*s,)) where x[*b]")
    assert covers(shapes, "Reshape(Reshape(x; shape=(*s,)); shape=(*r,)) = Reshape(x; shape=(*r,)) where x[*b]")


def test_convolutions_that_share_an_image_merge_with_and_without_bias(discovered, covers):
    rules = discovered("merged kernels", "Conv, Concat, Split")
    plain = pair(f"Conv(x, y; {CONV}), Conv(x, z; {CONV})", f"Conv(x, Concat(y, z; axis=-4); {CONV})", -3, "m, p")
    types = "x[n, c, h, w], y[m, c, i, j], z[p, c, i, j]"
    assert covers(rules, f"{plain} where {types}")
    kernels, biases = "Concat(y, z; axis=-4)", "Concat(a, b; axis=-1)"
    biased = f"Conv(x, y, a; {CONV}), Conv(x, z, b; {CONV})"
    whole = f"Conv(x, {kernels}, {biases}; {CONV})"
    assert covers(rules, f"{pair(biased, whole, -3, 'm, p')} where {types}, a[m], b[p]")
    assert covers(rules, f"Concat({biased}; axis=-3) = {whole} where {types}, a[m], b[p]")


def test_convolutions_that_share_a_kernel_stack_their_batches_in_any_number_of_groups(discovered, covers):
    rules = discovered("merged images, grouped", "Conv, Concat, Split")
    whole = f"Conv(Concat(x, y; axis=-4), z; {GROUPED})"
    merged = pair(f"Conv(x, z; {GROUPED}), Conv(y, z; {GROUPED})", whole, -4, "n, q")
    one = merged.replace("group=g", "group=1")
    assert covers(rules, f"{one} where x[n, c, h, w], y[q, c, h, w], z[m, c, i, j]")
    assert covers(rules, f"{merged} where x[n, g*c, h, w], y[q, g*c, h, w], z[g*m, c, i, j]")


def test_a_sum_of_two_convolutions_is_one_over_joined_channels(discovered, covers):
    rules = discovered("summed convolutions", "Conv, Add, Concat")
    joined = f"Conv(Concat(x, z; axis=-3), Concat(y, w; axis=-3); {CONV})"
    types = "x[n, c, h, w], y[m, c, i, j], z[n, d, h, w], w[m, d, i, j]"
    assert covers(rules, f"Add(Conv(x, y; {CONV}), Conv(z, w; {CONV})) = {joined} where {types}")


def test_a_scalar_leaves_the_kernel_of_a_convolution_in_any_number_of_groups(discovered, covers):
    rules = discovered("grouped", "Conv, Mul", 2)
    types = "x[n, g*c, h, w], y[g*m, c, i, j], s[]"
    assert covers(rules, f"Conv(x, Mul(y, s); {GROUPED}) = Mul(Conv(x, y; {GROUPED}), s) where {types}")


def test_two_convolutions_side_by_side_are_one_in_two_groups(discovered, covers):
    rules = discovered("paired groups", "Conv, Concat")
    two = CONV.replace("group=1", "group=2")
    joined = f"Conv(Concat(x, z; axis=-3), Concat(y, w; axis=-4); {two})"
    types = "x[n, c, h, w], y[m, c, i, j], z[n, c, h, w], w[m, c, i, j]"
    assert covers(rules, f"Concat(Conv(x, y; {CONV}), Conv(z, w; {CONV}); axis=-3) = {joined} where {types}")


def test_what_is_false_for_some_sizes_groups_or_values_is_not_found(discovered, covers):
    grouped = discovered("merged images, grouped", "Conv, Concat, Split")
    merged = pair(
        f"Conv(x, y; {GROUPED}), Conv(x, z; {GROUPED})", f"Conv(x, Concat(y, z; axis=-4); {GROUPED})", -3, "g*m, g*m"
    )
    assert not covers(grouped, f"{merged} where x[n, g*c, h, w], y[g*m, c, i, j], z[g*m, c, i, j]")
    maps = discovered("joined columns", "Relu, Concat, Split")
    assert not covers(maps, "Tanh(Tanh(x)) = Tanh(x) where x[m]")
    assert covers(maps, "Relu(Relu(x)) = Relu(x) where x[m, k]")
    products = discovered("chain", "MatMul, Transpose")
    assert not covers(products, "MatMul(x, y) = MatMul(y, x) where x[m, m], y[m, m]")


def test_pools_pass_through_joined_channels_and_averages_through_sums(discovered, covers):
    joined = discovered("pooled channels", "MaxPool, AveragePool, Concat", 3)
    types = "where x[n, c, h, w], y[n, d, h, w]"
    for name, window in (
        ("MaxPool", MAX),
        ("AveragePool", f"count_include_pad=0, {POOL}"),
        ("AveragePool", f"count_include_pad=1, {POOL}"),
    ):
        f = f"{name}({{}}; {window})".format
        assert covers(joined, f"{f('Concat(x, y; axis=-3)')} = Concat({f('x')}, {f('y')}; axis=-3) {types}"), name
    summed = discovered("pooled channels", "AveragePool, Add", 3)
    f = f"AveragePool({{}}; count_include_pad=0, {POOL})".format
    assert covers(summed, f"{f('Add(x, y)')} = Add({f('x')}, {f('y')}) where x[n, c, h, w], y[n, c, h, w]")


def test_every_candidate_reads_back_and_holds_on_instances_it_was_not_made_from(discovered, op):
    rules = [
        *discovered("columns", "MatMul, Concat, Split"),
        *discovered("merged kernels", "Conv, Concat, Split"),
        *discovered("any shape", "Sigmoid, Reshape", 2),
    ]
    assert len(rules) > 80
    for rule in rules:
        assert parse_rule(format_rule(rule), op) == rule
        assert holds(rule, op, seed=77, count=4), format_rule(rule)
        assert holds_in_floats(rule, op, seed=77, count=2), format_rule(rule)
