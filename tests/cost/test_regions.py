"""Which light operators are measured together."""

from fractions import Fraction

import pytest

from taso_opt.core.literal import literal
from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.spec import load_specs

LIBRARY = load_specs()
ROWS = TensorType("float32", (4, 8))


def operators(unit):
    return sorted(member.operator for member in unit.members)


def normalized(op, x):
    centred = op.Sub(x, op.ReduceMean(x, axes=(-1,)))
    variance = op.ReduceMean(op.Mul(centred, centred), axes=(-1,))
    return op.Div(centred, op.Sqrt(op.Add(variance, literal(1, "float32"))))


def test_a_normalization_in_pieces_is_one_unit():
    op = LIBRARY.builder()
    (unit,) = UnitFinder(op).units([normalized(op, Var("x", ROWS))])
    assert operators(unit) == ["Add", "Div", "Mul", "ReduceMean", "ReduceMean", "Sqrt", "Sub"]
    assert len(unit.roots) == 1


def test_a_sum_before_a_normalization_that_is_used_behind_it_too_is_a_second_result():
    op = LIBRARY.builder()
    x, y = Var("x", ROWS), Var("y", ROWS)
    summed = op.Add(x, y)
    rows = op.LayerNormalization(summed, literal(1, "float32"))
    product = op.MatMul(rows, Const("w", TensorType("float32", (8, 8))))
    units = UnitFinder(op).units([op.Add(summed, product)])
    assert [operators(unit) for unit in units] == [["Add", "LayerNormalization"], ["Add", "MatMul"]]
    assert set(units[0].roots) == {summed, rows}


def test_two_normalizations_with_a_product_between_them_are_apart():
    op = LIBRARY.builder()
    first = normalized(op, Var("x", ROWS))
    product = op.MatMul(first, Const("w", TensorType("float32", (8, 8))))
    units = UnitFinder(op).units([normalized(op, op.Mul(first, product))])
    assert [len(unit.members) for unit in units] == [7, 1, 8]


def test_element_wise_operators_alone_stay_single_units():
    op = LIBRARY.builder()
    x = Var("x", ROWS)
    units = UnitFinder(op).units([op.Tanh(op.Add(op.Sigmoid(x), x))])
    assert [operators(unit) for unit in units] == [["Sigmoid"], ["Add"], ["Tanh"]]


def test_an_activation_in_pieces_is_one_unit():
    op = LIBRARY.builder()
    x, read = Var("x", ROWS), op.Reshape(Const("c", TensorType("float32", (1,))), shape=())
    for number in (literal(Fraction(3, 2), "float32"), read):
        swish = op.Mul(x, op.Sigmoid(op.Mul(number, x)))
        inner = op.Mul(number, op.Add(x, op.Mul(number, op.Pow(x, exponent=(3, 1)))))
        gelu = op.Mul(op.Mul(x, number), op.Add(op.Tanh(inner), number))
        by_sigmoid = op.Mul(x, op.Sigmoid(inner))
        for activation, members in ((op.Mul(op.Sigmoid(x), x), 2), (swish, 3), (gelu, 8), (by_sigmoid, 6)):
            (unit,) = UnitFinder(op).units([activation])
            assert len(unit.members) == members


def test_the_gates_of_a_cell_stay_single_units():
    op = LIBRARY.builder()
    x, y = Var("x", ROWS), Var("y", ROWS)
    state = op.Add(op.Mul(op.Sigmoid(x), y), op.Tanh(x))
    peephole = op.Sigmoid(op.Add(y, op.Mul(state, Const("p", TensorType("float32", (8,))))))
    for gated in (op.Mul(op.Tanh(state), op.Sigmoid(y)), op.Mul(state, peephole)):
        assert all(len(unit.members) == 1 for unit in UnitFinder(op).units([gated]))


@pytest.mark.parametrize("shape", [(), (1,)])
def test_the_cost_of_a_region_depends_on_the_numbers_in_it(shape):
    op = LIBRARY.builder()
    x, number = Var("x", ROWS), Const("c", TensorType("float32", shape))
    term = op.Erf(op.Mul(x, number))
    (one,), (other,) = (UnitFinder(op, lambda _, value=value: value).units([term]) for value in (1, 2))
    assert one.key != other.key
