"""Units: what the runtime executes as one kernel is one unit, what it folds costs nothing."""

import pytest

from taso_opt.core.dims import symbol
from taso_opt.core.term import Apply, Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost.kernels.units import SHAPED, UnitFinder
from taso_opt.spec import OPAQUE, load_specs
from terms import tensor

PLAIN = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "group": 1}


def keys(op, outputs, boundary=()):
    return sorted(unit.key for unit in UnitFinder(op).units(outputs, boundary))


def test_a_convolution_with_its_activation_is_one_unit():
    op = load_specs().builder()
    conv = op.Conv(tensor(Var, "x", 1, 3, 8, 8), tensor(Const, "f", 4, 3, 3, 3), **PLAIN)
    (key,) = keys(op, [op.Relu(conv)])
    assert key.startswith("Relu(Conv(x0:float32[1, 3, 8, 8],w1:float32[4, 3, 3, 3]")


def test_a_convolution_with_residual_and_activation_is_one_unit_and_a_second_activation_is_not():
    op = load_specs().builder()
    x = tensor(Var, "x", 1, 3, 8, 8)
    conv = op.Conv(x, tensor(Const, "f", 3, 3, 3, 3), **PLAIN)
    assert len(keys(op, [op.Relu(op.Add(conv, x))])) == 1
    assert len(keys(op, [op.Tanh(op.Relu(op.Add(conv, x)))])) == 2


def test_a_second_sum_is_a_unit_of_its_own():
    op = load_specs().builder()
    x = tensor(Var, "x", 1, 3, 8, 8)
    conv = op.Conv(x, tensor(Const, "f", 3, 3, 3, 3), **PLAIN)
    assert len(keys(op, [op.Add(op.Add(conv, x), tensor(Var, "y", 1, 3, 8, 8))])) == 2


def test_a_shared_intermediate_is_not_fused():
    op = load_specs().builder()
    conv = op.Conv(tensor(Var, "x", 1, 3, 8, 8), tensor(Const, "f", 3, 3, 3, 3), **PLAIN)
    assert len(keys(op, [op.Relu(conv), op.Tanh(conv)])) == 3
    assert len(keys(op, [op.Relu(conv), conv])) == 2


def normalized(op, x, channels, epsilon="e"):
    statistics = (tensor(Const, name, channels) for name in ("scale", "shift", "mean", "variance"))
    return op.BatchNormalization(x, *statistics, tensor(Const, epsilon))


def test_what_filters_can_do_to_their_channels_leaves_no_trace_but_a_bias():
    op = load_specs().builder()
    x, w = tensor(Var, "x", 1, 3, 8, 8), tensor(Const, "f", 3, 3, 3, 3)
    conv, biased = op.Conv(x, w, **PLAIN), op.Conv(x, w, tensor(Const, "b", 3), **PLAIN)
    scale, shift, wide = tensor(Const, "s", 3, 1, 1), tensor(Const, "t", 3, 1, 1), tensor(Const, "u", 1, 3, 1, 1)
    same = [normalized(op, conv, 3), op.Add(op.Mul(conv, scale), shift), op.Add(conv, wide), op.Mul(biased, scale)]
    assert {tuple(keys(op, [one])) for one in same} == {tuple(keys(op, [biased]))}
    assert keys(op, [op.Mul(conv, scale)]) == keys(op, [conv])
    ends = (lambda one: op.Relu(one), lambda one: op.Relu(op.Add(one, x)), lambda one: op.Tanh(op.Relu(one)))
    for end in ends:
        assert {tuple(keys(op, [end(one)])) for one in same} == {tuple(keys(op, [end(biased)]))}


def test_a_constant_bias_leaves_no_trace_where_many_products_are_added_up():
    op = load_specs().builder()
    x, b, computed = tensor(Var, "x", 1, 16, 8, 8), tensor(Const, "b", 4), tensor(Var, "y", 4)
    for size, channels, is_light in ((3, 16, True), (1, 16, False)):
        w = tensor(Const, "f", 4, channels, size, size)
        conv, biased = op.Conv(x, w, **PLAIN), op.Conv(x, w, b, **PLAIN)
        for end in (lambda one: one, op.Relu, lambda one: op.Add(one, tensor(Var, "z", 4, 1, 1))):
            assert (keys(op, [end(biased)]) == keys(op, [end(conv)])) is is_light
        assert keys(op, [op.Conv(x, w, computed, **PLAIN)]) != keys(op, [conv])
        assert keys(op, [op.Mul(biased, tensor(Const, "s", 4, 1, 1))]) == keys(op, [biased])


def test_what_is_launched_is_a_unit_of_its_own_but_for_what_weights_take_up():
    op = load_specs().builder()
    x, filters, scale = tensor(Var, "x", 1, 16, 8, 8), tensor(Const, "f", 4, 16, 3, 3), tensor(Const, "s", 4, 1, 1)
    image = op.Relu(op.Add(op.Mul(op.Conv(x, filters, **PLAIN), scale), tensor(Var, "z", 4, 1, 1)))
    rows = op.Tanh(
        op.Add(op.MatMul(op.Reshape(image, shape=(4, 64)), tensor(Const, "w", 64, 9)), tensor(Const, "b", 9))
    )
    fused, launched = (UnitFinder(op, launches=launches).units([rows]) for launches in (False, True))
    operators = [sorted(member.operator for member in unit.members) for unit in launched]
    assert len(fused) == 2
    assert sorted(operators) == [["Add"], ["Add", "MatMul"], ["Conv", "Mul"], ["Relu"], ["Reshape"], ["Tanh"]]
    assert [unit.key == SHAPED for unit in launched] == [names == ["Reshape"] for names in operators]


def test_a_bias_shows_where_it_may_be_a_kernel_of_its_own():
    op = load_specs().builder()
    x, w = tensor(Var, "x", 1, 16, 8, 8), tensor(Const, "f", 4, 16, 3, 3)
    plain, biased = op.Conv(x, w, **PLAIN), op.Conv(x, w, tensor(Const, "b", 4), **PLAIN)
    for launches in (True, False):
        finder = UnitFinder(op, launches=launches)
        (first,), (second,) = finder.units([plain]), finder.units([biased])
        assert (first.key == second.key) is not launches


def test_what_filters_cannot_do_is_a_unit_of_its_own():
    op = load_specs().builder()
    x, w = tensor(Var, "x", 1, 3, 8, 8), tensor(Const, "f", 3, 3, 3, 3)
    conv, scale, columns = op.Conv(x, w, **PLAIN), tensor(Const, "s", 3, 1, 1), tensor(Const, "t", 8)
    assert len(keys(op, [op.Mul(conv, columns)])) == 2
    assert len(keys(op, [op.Mul(op.Relu(conv), scale)])) == 2
    assert len(keys(op, [op.Mul(conv, tensor(Var, "gate", 1, 3, 1, 1))])) == 2
    assert len(keys(op, [op.Mul(conv, scale), conv])) == 2
    assert len(keys(op, [op.Mul(op.Conv(x, tensor(Var, "g", 3, 3, 3, 3), **PLAIN), scale)])) == 2
    assert len(keys(op, [normalized(op, op.Conv(x, w, tensor(Var, "bias", 3), **PLAIN), 3)])) == 2
    assert len(keys(op, [normalized(op, x, 3)])) == 1


def test_a_batch_normalization_joins_a_matrix_product_of_rank_two():
    op = load_specs().builder()
    flat = op.MatMul(tensor(Var, "x", 4, 8), tensor(Const, "w", 8, 6))
    deep = op.MatMul(tensor(Var, "y", 2, 4, 8), tensor(Const, "w", 8, 6))
    assert len(keys(op, [normalized(op, flat, 6)])) == 1
    assert len(keys(op, [normalized(op, deep, 4)])) == 2


@pytest.mark.parametrize("rows", [(4,), (2, 4), (3, 2, 4)])
def test_a_bias_joins_a_product_with_one_matrix_whatever_axes_its_rows_have(rows):
    op = load_specs().builder()
    product = op.MatMul(tensor(Var, "x", *rows, 8), tensor(Const, "w", 8, 6))
    assert len(keys(op, [op.Add(product, tensor(Const, "b", 6))])) == 1


@pytest.mark.parametrize(
    ("weights", "added"), [((2, 8, 6), (6,)), ((8, 6), (1, 6)), ((8, 6), (4, 6)), ((8, 6), (2, 4, 6)), ((8, 1), (6,))]
)
def test_what_is_no_bias_of_a_product_of_rank_three_is_added_apart(weights, added):
    op = load_specs().builder()
    product = op.MatMul(tensor(Var, "x", 2, 4, 8), tensor(Const, "w", *weights))
    assert len(keys(op, [op.Add(product, tensor(Const, "b", *added))])) == 2


def test_an_activation_joins_the_biased_product_of_two_matrices_only():
    op = load_specs().builder()
    w, b = tensor(Const, "w", 8, 6), tensor(Const, "b", 6)
    flat, deep = (op.Relu(op.Add(op.MatMul(tensor(Var, "x", *rows, 8), w), b)) for rows in ((4,), (2, 4)))
    assert len(keys(op, [flat])) == 1
    assert len(keys(op, [deep])) == 2


@pytest.mark.parametrize("shape", [(6,), (1, 6), (4, 1), (4, 6)])
def test_what_is_added_joins_a_matrix_product_with_the_activation_behind_it(shape):
    op = load_specs().builder()
    product, added = op.MatMul(tensor(Var, "x", 4, 8), tensor(Const, "w", 8, 6)), tensor(Var, "y", *shape)
    total = op.Add(product, added)
    assert len(keys(op, [op.Relu(total)])) == 1
    assert len(keys(op, [op.Tanh(op.Relu(total))])) == 2
    assert len(keys(op, [op.Relu(op.Add(total, added))])) == 3


def test_what_has_another_shape_does_not_join_a_matrix_product_nor_does_an_activation_alone():
    op = load_specs().builder()
    product = op.MatMul(tensor(Var, "x", 4, 8), tensor(Const, "w", 8, 6))
    assert len(keys(op, [op.Relu(product)])) == 2
    assert len(keys(op, [op.Add(product, tensor(Var, "y", 2, 4, 6))])) == 2


def test_a_sum_of_two_products_goes_to_the_one_that_is_computed_last():
    op = load_specs().builder()
    x, y = tensor(Var, "x", 4, 8), op.Tanh(tensor(Var, "y", 4, 8))
    early, late = op.MatMul(x, tensor(Const, "v", 8, 6)), op.MatMul(y, tensor(Const, "w", 8, 6))
    for total in (op.Add(early, late), op.Add(late, early)):
        parts = {unit.members for unit in UnitFinder(op).units([total]) if len(unit.members) > 1}
        assert parts == {frozenset({total, late})}


def test_a_transposed_operand_and_a_scalar_factor_join_the_product():
    op = load_specs().builder()
    x, y = tensor(Var, "x", 4, 8), tensor(Var, "y", 6, 8)
    product = op.MatMul(x, op.Transpose(y, perm=(-1, -2)))
    assert len(keys(op, [op.Mul(product, tensor(Const, "s", 1))])) == 1
    assert len(keys(op, [op.Mul(product, tensor(Var, "t", 4, 6))])) == 2


def test_a_product_takes_in_the_factors_of_its_operands_turned_or_not():
    op = load_specs().builder()
    x, y, s = tensor(Var, "x", 2, 4, 8), tensor(Var, "y", 2, 6, 8), tensor(Const, "s", 1)
    turned = op.Transpose(op.Mul(s, y), perm=(-1, -2))
    assert len(keys(op, [op.MatMul(op.Div(x, s), turned)])) == 1
    assert len(keys(op, [op.Div(op.MatMul(op.Mul(x, s), turned), s)])) == 1
    first = op.MatMul(x, tensor(Const, "w", 8, 8))
    assert len(keys(op, [op.MatMul(op.Mul(first, s), turned)])) == 2


def test_what_is_no_factor_of_one_product_is_a_unit_of_its_own():
    op = load_specs().builder()
    x, w, s = tensor(Var, "x", 2, 4, 8), tensor(Const, "w", 8, 6), tensor(Const, "s", 1)
    scaled, product = op.Mul(x, s), op.MatMul(x, w)
    assert len(keys(op, [op.Div(s, product)])) == 2
    assert len(keys(op, [op.MatMul(op.Div(s, x), w)])) == 2
    assert len(keys(op, [op.MatMul(op.Mul(x, tensor(Const, "v", 8)), w)])) == 2
    assert len(keys(op, [op.MatMul(scaled, w), scaled])) == 2
    assert len(keys(op, [op.Add(op.MatMul(scaled, w), tensor(Const, "b", 6))])) == 2
    gelu = op.Mul(op.Mul(x, op.Add(op.Erf(x), tensor(Const, "one"))), s)
    assert len(keys(op, [op.MatMul(gelu, w)])) == 2


def test_zeros_around_pixels_join_the_convolution_that_alone_reads_them():
    op = load_specs().builder()
    window = {"strides": (2, 2), "pads": (0,) * 4, "dilations": (1, 1), "group": 1}
    filters = tensor(Const, "f", 8, 4, 3, 3)
    around = op.Pad(tensor(Var, "x", 1, 4, 8, 8), pads=(0, 0, 1, 1))
    assert len(keys(op, [op.Relu(op.Conv(around, filters, **window))])) == 1
    assert len(keys(op, [op.Conv(around, filters, **window), op.Relu(around)])) == 3
    channels = op.Pad(tensor(Var, "y", 1, 3, 8, 8), pads=(0, 0, 0, 1, 0, 0))
    assert len(keys(op, [op.Conv(channels, filters, **window)])) == 2


def test_constants_reshapes_items_and_opaque_operators_cost_nothing():
    op = load_specs().builder()
    folded = op.Concat(tensor(Const, "v", 4, 4), tensor(Const, "w", 4, 4), axis=-1)
    rows = op.Squeeze(op.Unsqueeze(tensor(Var, "x", 4, 6), axis=-2), axis=-2)
    reshaped = op.Reshape(rows, shape=(24,))
    opaque = Apply(OPAQUE, (reshaped,), (("node", 1), ("types", (TensorType("float32", (24,)),))))
    assert keys(op, [folded, opaque]) == []


def test_integers_are_not_costed():
    op = load_specs().builder()
    ids = tensor(Var, "x", 4, dtype="int64")
    assert keys(op, [op.Add(ids, ids)]) == []


def test_the_boundary_is_where_costing_stops():
    op = load_specs().builder()
    inner = op.Tanh(tensor(Var, "x", 4))
    outer = op.Sigmoid(inner)
    assert keys(op, [outer], boundary={inner}) == ["Sigmoid(x0:float32[4])"]


def test_equal_structures_in_different_places_have_one_key():
    op = load_specs().builder()
    w = tensor(Const, "w", 8, 8)
    first = op.MatMul(tensor(Var, "x", 4, 8), w)
    second = op.MatMul(op.Tanh(tensor(Var, "y", 4, 8)), tensor(Const, "v", 8, 8))
    units = UnitFinder(op).units([first, second])
    assert len({unit for unit in units if unit.key.startswith("MatMul")}) == 1


def test_a_shared_operand_and_two_operands_have_different_keys():
    op = load_specs().builder()
    x, y = tensor(Var, "x", 4), tensor(Var, "y", 4)
    assert keys(op, [op.Add(x, x)]) != keys(op, [op.Add(x, y)])


def test_weights_and_activations_have_different_keys():
    op = load_specs().builder()
    x = tensor(Var, "x", 4, 8)
    assert keys(op, [op.MatMul(x, tensor(Var, "y", 8, 8))]) != keys(op, [op.MatMul(x, tensor(Const, "w", 8, 8))])


def test_bindings_give_symbolic_sizes_their_numbers():
    op = load_specs().builder({"batch": 16})
    assert keys(op, [op.Tanh(tensor(Var, "x", symbol("batch"), 4))]) == ["Tanh(x0:float32[16, 4])"]


def test_a_long_chain_is_cut_without_recursion():
    op = load_specs().builder()
    term = tensor(Var, "x", 4)
    for _ in range(3000):
        term = op.Tanh(op.Sigmoid(term))
    assert len(UnitFinder(op).units([term])) == 6000


def test_a_unit_has_one_text_whatever_order_its_operands_happen_to_have():
    op, texts, orders = load_specs().builder(), set(), set()
    for name in "abcdefgh":
        rows, bias = tensor(Var, name, 1, 6, 8), tensor(Const, f"w{name}", 8)
        value = op.Mul(op.Add(rows, bias), op.Erf(op.Add(bias, rows)))
        texts.update(keys(op, [value]))
        orders.add(tuple(type(operand).__name__ for operand in (*value.args, *op.Add(rows, bias).args)))
    assert len(orders) > 1
    assert texts == {"Mul(Add(x0:float32[1, 6, 8],w1:float32[8]),Erf(#0))"}


def test_inputs_stand_in_the_order_of_the_key_however_a_sum_is_written():
    op = load_specs().builder()
    image, other = tensor(Var, "x", 1, 4, 8, 8), tensor(Var, "y", 1, 16, 8, 8)
    filters = tensor(Const, "w", 16, 4, 1, 1)
    convolution = op.Conv(image, filters, strides=(1, 1), pads=(0,) * 4, dilations=(1, 1), group=1)
    units = [UnitFinder(op).units([whole])[0] for whole in (op.Add(convolution, other), op.Add(other, convolution))]
    assert len({unit.key for unit in units}) == 1
    assert [unit.inputs for unit in units] == [(image, other)] * 2


def test_a_product_of_two_transposed_operands_is_one_unit():
    op = load_specs().builder()
    a, b = (op.Transpose(tensor(Var, name, 8, 8), perm=(-1, -2)) for name in "ab")
    finder = UnitFinder(op)
    units = finder.units([op.Relu(op.MatMul(a, b))])
    members = [member for unit in units for member in unit.members]
    assert len(members) == len(set(members)) == 4
    assert sorted(unit.computes("MatMul") for unit in units) == [False, True]


def test_however_many_scales_follow_a_convolution_units_are_found_in_time_that_grows_with_them():
    """The square of so many would take minutes."""
    op = load_specs().builder()
    image = op.Conv(tensor(Var, "x", 1, 8, 8, 8), tensor(Const, "f", 8, 8, 3, 3), **PLAIN)
    for at in range(3000):
        image = op.Mul(image, tensor(Const, f"s{at}", 8, 1, 1))
    units = UnitFinder(op).units([image])
    assert sum(len(unit.members) for unit in units) == 3001


def test_scales_of_numbers_and_rows_are_units_of_their_own_whatever_their_rank():
    op = load_specs().builder()
    for shape in ((), (4,), (4, 8)):
        x, c = tensor(Var, "x", *shape), tensor(Const, "c", *shape[-1:])
        units = UnitFinder(op).units([op.Add(op.Mul(x, c), op.Relu(op.Add(x, c)))])
        assert sum(len(unit.members) for unit in units) == 4
