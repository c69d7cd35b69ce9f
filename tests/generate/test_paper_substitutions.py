"""The substitutions that TASO's paper names and those that today's models live on are found, each by its name."""

import pytest

from taso_opt.spec.text import parse_rule
from taso_opt.verify.derivation.prove import Derivation

WINDOW = "dilations=(d_h, d_w), group={group}, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
CONV = WINDOW.format(group=1)
GROUPED = WINDOW.format(group="g")
TURNED = "Transpose({}; perm=(-1, -2))".format


def split(whole, axis, sizes):
    return ", ".join(f"Split({whole}; axis={axis}, sizes=({sizes}))[{part}]" for part in (0, 1))


def test_figure_2_2_a_associativity_of_matmul(discovered, covers):
    rules = discovered("chain", "MatMul, Transpose")
    assert covers(
        rules, "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[*b, k, n], z[*b, n, p]"
    )


def test_figure_2_2_b_two_matmuls_fused_by_concat_and_split_along_the_rows(discovered, covers):
    rules = discovered("stacked rows", "MatMul, Concat, Split")
    fused = split("MatMul(Concat(x, y; axis=-2), z)", -2, "m, p")
    assert covers(rules, f"(MatMul(x, z), MatMul(y, z)) = ({fused}) where x[m, k], y[p, k], z[k, n]")


def test_figure_2_3_matmuls_with_a_shared_input_merged_by_concat_and_split(discovered, covers):
    rules = discovered("columns", "MatMul, Concat, Split")
    fused = split("MatMul(x, Concat(y, z; axis=-1))", -1, "n, p")
    assert covers(rules, f"(MatMul(x, y), MatMul(x, z)) = ({fused}) where x[m, k], y[k, n], z[k, p]")


def test_figure_2_5_the_transposed_matmul(discovered, covers):
    rules = discovered("chain", "MatMul, Transpose")
    # It follows in one step from the law for the transpose of a product, with the other law that turning twice is idle.
    assert covers(rules, f"{TURNED('MatMul(x, y)')} = MatMul({TURNED('y')}, {TURNED('x')}) where x[m, k], y[k, n]")
    assert covers(rules, f"{TURNED(TURNED('x'))} = x where x[m, k]")


def test_the_sum_of_two_convolutions_as_one_over_concatenated_inputs(discovered, covers):
    rules = discovered("summed convolutions", "Conv, Add, Concat")
    joined = f"Conv(Concat(x, z; axis=-3), Concat(y, w; axis=-3); {CONV})"
    types = "x[n, c, h, w], y[m, c, i, j], z[n, d, h, w], w[m, d, i, j]"
    assert covers(rules, f"Add(Conv(x, y; {CONV}), Conv(z, w; {CONV})) = {joined} where {types}")


def test_distributing_a_scalar_into_a_weight(discovered, covers):
    products = discovered("linear", "MatMul, Mul")
    inside, outside, first = "MatMul(x, Mul(y, s))", "Mul(MatMul(x, y), s)", "MatMul(Mul(x, s), y)"
    types = "where x[m, k], y[k, n], s[]"
    ways = [f"{outside} = {inside} {types}", f"{outside} = {first} {types}", f"{first} = {inside} {types}"]
    assert sum(covers(products, way) for way in ways) >= 2  # the third follows
    convolutions = discovered("grouped", "Conv, Mul", 2)
    types = "x[n, g*c, h, w], y[g*m, c, i, j], s[]"
    assert covers(convolutions, f"Conv(x, Mul(y, s); {GROUPED}) = Mul(Conv(x, y; {GROUPED}), s) where {types}")


@pytest.mark.parametrize("name", ["Relu", "Sigmoid", "Tanh"])
def test_moving_an_element_wise_function_through_concat_split_transpose_and_reshape(discovered, covers, name):
    joined = discovered("joined columns", f"{name}, Concat, Split, Transpose")
    whole = "Concat(x, y; axis=-1)"
    types = "where x[*b, n], y[*b, p]"
    assert covers(joined, f"{name}({whole}) = Concat({name}(x), {name}(y); axis=-1) {types}")
    assert covers(joined, f"({name}(x), {name}(y)) = ({split(f'{name}({whole})', -1, 'n, p')}) {types}")
    assert covers(joined, f"{TURNED(f'{name}(x)')} = {name}({TURNED('x')}) where x[*b, m, n]")
    parts = discovered("split columns", f"{name}, Concat, Split")
    first, second = (f"{name}(Split(x; axis=-1, sizes=(n, p))[{part}])" for part in (0, 1))
    assert covers(parts, f"({first}, {second}) = ({split(f'{name}(x)', -1, 'n, p')}) where x[*b, n+p]")
    shapes = discovered("any shape", f"{name}, Reshape", 2)
    assert covers(shapes, f"{name}(Reshape(x; shape=(*s,))) = Reshape({name}(x); shape=(*s,)) where x[*b]")


def test_slices_of_one_matmul_are_matmuls_of_slices(discovered, covers):
    rules = discovered("split operands", "MatMul, Split, Concat")
    first, second = (f"MatMul(x, Split(y; axis=-1, sizes=(n, p))[{part}])" for part in (0, 1))
    assert covers(rules, f"({first}, {second}) = ({split('MatMul(x, y)', -1, 'n, p')}) where x[m, k], y[k, n+p]")
    above, below = (f"MatMul(Split(x; axis=-2, sizes=(n, p))[{part}], y)" for part in (0, 1))
    assert covers(rules, f"({above}, {below}) = ({split('MatMul(x, y)', -2, 'n, p')}) where x[n+p, m], y[m, k]")


def test_stacking_the_rows_of_matmuls_that_share_the_weight(discovered, covers):
    rules = discovered("stacked rows", "MatMul, Concat, Split")
    whole = "MatMul(Concat(x, y; axis=-2), z)"
    assert covers(
        rules, f"Concat(MatMul(x, z), MatMul(y, z); axis=-2) = {whole} where x[*b, m, k], y[*b, p, k], z[k, n]"
    )


def test_batch_normalization_as_scale_and_shift_folds_into_a_convolution(discovered, covers):
    scaled = discovered("scaled channels", "Conv, Mul, Reshape")
    types = "x[n, c, h, w], y[m, c, i, j], s[m]"
    plain, kernel = f"Conv(x, y; {CONV})", "Mul(y, Reshape(s; shape=(m, 1, 1, 1)))"
    assert covers(scaled, f"Mul(Reshape(s; shape=(m, 1, 1)), {plain}) = Conv(x, {kernel}; {CONV}) where {types}")
    shifted = discovered("scaled channels", "Conv, Add, Reshape")
    moved = "Reshape(t; shape=(m,))"
    types = "x[n, c, h, w], y[m, c, i, j], t[m, 1, 1]"
    assert covers(shifted, f"Add(t, {plain}) = Conv(x, y, {moved}; {CONV}) where {types}")
    assert covers(shifted, f"Add(t, Conv(x, y, b; {CONV})) = Conv(x, y, Add(b, {moved}); {CONV}) where {types}, b[m]")


@pytest.mark.parametrize(("counted", "pads"), [(1, "p_t, p_l, p_b, p_r"), (0, "0, 0, 0, 0")])
def test_average_pooling_as_a_depth_wise_convolution(discovered, covers, counted, pads):
    rules = discovered("pooling kernels", "AveragePool, Conv, PoolKernel, Add")
    pool = f"AveragePool(x; count_include_pad={counted}, kernel=(i, j), pads=({pads}), strides=(s_h, s_w))"
    window = f"dilations=(1, 1), group=c, pads=({pads}), strides=(s_h, s_w)"
    types = "where x[n, c, h, w], y[c, 1, i, j]"
    assert covers(rules, f"{pool} = Conv(x, PoolKernel(y; group=c); {window}) {types}")
    summed = f"Conv(x, Add(y, PoolKernel(y; group=c)); {window})"
    assert covers(rules, f"Add({pool}, Conv(x, y; {window})) = {summed} {types}")
    # Dense convolutions have the same shares on the diagonal of the channels.
    dense, types = window.replace("group=c", "group=1"), "where x[n, c, h, w], y[c, c, i, j]"
    summed = f"Conv(x, Add(y, PoolKernel(y; group=1)); {dense})"
    assert covers(rules, f"Add({pool}, Conv(x, y; {dense})) = {summed} {types}")


def test_averages_over_what_lies_inside_the_image_are_no_convolution(discovered, covers):
    rules = discovered("pooling kernels", "AveragePool, Conv, PoolKernel, Add")
    pool = "AveragePool(x; count_include_pad=0, kernel=(3, 3), pads=(1, 1, 1, 1), strides=(1, 1))"
    kernel = "Conv(x, PoolKernel(y; group=c); dilations=(1, 1), group=c, pads=(1, 1, 1, 1), strides=(1, 1))"
    assert not covers(rules, f"{pool} = {kernel} where x[n, c, h, w], y[c, 1, 3, 3]")


def test_merging_convolutions_of_different_kernel_size_through_enlarge(discovered, covers, library, op):
    enlarged = discovered("enlarged kernels", "Conv, Enlarge, Add")
    merged = discovered("merged kernels", "Conv, Concat, Split")
    small, large = (
        f"dilations=(1, 1), group=1, pads=({pads}), strides=(s_h, s_w)" for pads in ("0, 0, 0, 0", "1, 1, 1, 1")
    )
    one = f"Conv(x, y; {small}) = Conv(x, Enlarge(y; pads=(1, 1, 1, 1)); {large}) where x[n, c, h, w], y[m, c, 1, 1]"
    assert covers(enlarged, one)
    both, whole = f"Conv(x, y; {large}), Conv(x, z; {large})", f"Conv(x, Concat(y, z; axis=-4); {large})"
    two = f"({both}) = ({split(whole, -3, 'm, p')}) where x[n, c, h, w], y[m, c, 3, 3], z[p, c, 3, 3]"
    assert covers(merged, two)
    # Pointwise and 3x3 convolutions of one image as one follow from these two, and from neither alone.
    whole = f"Conv(x, Concat(Enlarge(y; pads=(1, 1, 1, 1)), z; axis=-4); {large})"
    types = "where x[n, c, h, w], y[m, c, 1, 1], z[p, c, 3, 3]"
    wanted = f"(Conv(x, y; {small}), Conv(x, z; {large})) = ({split(whole, -3, 'm, p')}) {types}"
    for laws, follows in (((one, two), True), ((one,), False), ((two,), False)):
        derivation = Derivation(library)
        for law in laws:
            derivation.add(parse_rule(law, op))
        assert derivation.derives(parse_rule(wanted, op)) == follows
    summed = f"Add(Conv(x, y; {small}), Conv(x, z, b; {large}))"
    kernel = f"Conv(x, Add(z, Enlarge(y; pads=(1, 1, 1, 1))), b; {large})"
    assert covers(enlarged, f"{summed} = {kernel} where x[n, c, h, w], y[m, c, 1, 1], z[m, c, 3, 3], b[m]")
