"""Constants are folded to what the runtime computes, also where numbers wrap around or are infinite."""

import numpy as np
import pytest

from taso_opt.core.literal import literal
from taso_opt.core.term import Const
from taso_opt.core.types import TensorType
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.onnx_io.reading import fold as folding
from taso_opt.onnx_io.reading.fold import fold_constant
from taso_opt.spec import load_specs

INF = np.inf


@pytest.mark.parametrize("operator", ["Max", "Min"])
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.array([3, 200, 255], np.uint8), np.array([5, 100, 0], np.uint8)),
        (np.array([-128, 127, 0], np.int8), np.array([127, -128, 1], np.int8)),
        (np.array([2**63 - 1, -(2**63)], np.int64), np.array([-5, 7], np.int64)),
        (np.array([INF, -INF, 1, INF], np.float32), np.array([INF, -INF, -INF, 2], np.float32)),
        (np.array([1e300, 1.0], np.float64), np.array([-1.0, 1 + 2**-52], np.float64)),
    ],
)
def test_the_larger_and_the_smaller_of_two_constants_are_one_of_them(operator, x, y):
    builder = load_specs().builder()
    leaves = {name: Const(name, TensorType(value.dtype.name, value.shape)) for name, value in (("x", x), ("y", y))}
    term = builder.apply(operator, [leaves["x"], leaves["y"]], {})
    found = fold_constant(builder, term, lambda leaf: {"x": x, "y": y}[leaf.name])
    assert found.dtype == x.dtype
    assert np.array_equal(found, np.maximum(x, y) if operator == "Max" else np.minimum(x, y))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_absolute_values_of_integers_are_right(dtype):
    builder, value = load_specs().builder(), np.array([0, 5, 100], dtype)
    term = builder.apply("Abs", [Const("x", TensorType(dtype, (3,)))], {})
    assert np.array_equal(fold_constant(builder, term, lambda leaf: value), value)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_quotients_of_integers_are_whole_and_lie_nearer_to_zero(dtype):
    builder, divisor = load_specs().builder(), np.array(2, dtype)
    dividends = np.array([7, 6, 1, 0] if dtype == "uint8" else [7, -7, 2**31 - 1, -1], dtype)
    leaves = {"x": dividends, "y": divisor}
    x, y = (Const(name, TensorType(dtype, value.shape)) for name, value in leaves.items())
    found = fold_constant(builder, builder.Div(x, y), lambda leaf: leaves[leaf.name])
    assert found.dtype == dividends.dtype and found.tolist() == [int(number / 2) for number in dividends.tolist()]


def test_what_only_moves_numbers_leaves_every_bit_as_it_is():
    builder, value = load_specs().builder(), np.array([[1e-45, -0.0, np.nan], [INF, 3e38, 1.0]], np.float32)
    whole = Const("x", TensorType("float32", (2, 3)))
    moved = builder.Pad(builder.Concat(builder.Transpose(whole, perm=(-1, -2)), axis=-1), pads=(0, 0, 0, 1))
    found = fold_constant(builder, moved, lambda leaf: value)
    assert found.dtype == np.float32
    assert found.tobytes() == np.pad(value.T, [(0, 0), (0, 1)]).tobytes()


def test_what_is_folded_is_remembered_as_far_as_there_is_room(monkeypatch):
    builder, read = load_specs().builder(), []

    def constant(name):
        read.append(name)
        return np.full((2, 3), 2.0, np.float32)

    terms = [builder.Mul(tensor, tensor) for tensor in (Const(name, TensorType("float32", (2, 3))) for name in "xy")]
    monkeypatch.setattr(folding, "MOST_REMEMBERED", 2 * 3 * 4)
    folded = folding.Folded(builder, constant)
    values = [folded(term) for term in terms * 2]
    assert all(np.array_equal(value, np.full((2, 3), 4.0, np.float32)) for value in values)
    assert read == ["x", "y", "y"]


def test_a_number_that_is_computed_from_numbers_is_known(read):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) <float c = {0.70710677}> %s'
    model = read(text % "{ y = Mul(x, c) }")
    op, (factor,) = model.builder, [leaf for leaf in model.leaves if isinstance(leaf, Const)]
    root = model.number(op.Reciprocal(factor))
    assert float(root) == pytest.approx(np.sqrt(2), abs=1e-6)
    assert model.number(op.Mul(op.Reciprocal(factor), literal(2, "float32"))) == pytest.approx(float(2 * root))
    assert model.number(model.graph.inputs[0]) is None and model.number(model.graph.outputs[0]) is None
    finder = UnitFinder(op, model.number)
    assert finder.number(op.Reciprocal(factor)) == root and finder.number(model.graph.outputs[0]) is None
