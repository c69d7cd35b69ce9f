"""A unit that looks rows up is measured at places that its table has, and does not wait for all of the table."""

from taso_opt.core.term import Const, Var
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.cost.kernels.work import awaited, rough_seconds
from taso_opt.cost.measuring.unit_model import places_in
from taso_opt.runtime.inputs import FEW_INTEGERS
from terms import tensor


def the_unit(op, output):
    (unit,) = UnitFinder(op).units([output])
    return unit


def test_places_lie_on_the_axis_that_is_looked_up(op):
    places = tensor(Var, "places", 4, dtype="int64")
    for axis, rows in ((-1, 7), (-2, 3)):
        unit = the_unit(op, op.Gather(tensor(Const, "table", 3, 7), places, axis=axis))
        assert places_in(unit, op) == rows
    assert places_in(the_unit(op, op.Relu(tensor(Var, "x", 3, 7))), op) == FEW_INTEGERS


def test_a_table_is_not_waited_for_as_weights_are(op):
    table, x = tensor(Const, "table", 512, 512), tensor(Var, "x", 1, 512)
    lookup = the_unit(op, op.Gather(table, tensor(Var, "places", 1, dtype="int64"), axis=-2))
    product = the_unit(op, op.MatMul(x, table))
    finder = UnitFinder(op)
    assert awaited(lookup, op, finder) == []
    assert [read.size for read in awaited(product, op, finder)] == [4 * 512**2]


def test_a_table_that_is_too_large_to_be_measured_is_not_taken_to_be_moved(op):
    places = tensor(Var, "places", 4, dtype="int64")
    small, large = (op.Gather(tensor(Const, "table", rows, 512), places, axis=-2) for rows in (8, 1 << 23))
    assert rough_seconds(the_unit(op, small), op) == rough_seconds(the_unit(op, large), op) < 1e-5
