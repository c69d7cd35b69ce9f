"""Fourier transforms of real numbers are read as convolutions and products that compute what the runtime does."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from taso_opt.core.term import Apply, postorder
from taso_opt.onnx_io import respelled
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.spec import OPAQUE
from taso_opt.spec.shared.fourier import MOST_NUMBERS, is_small, waves


def transform(op_type, shape, constants=(), opset=17, **attributes):
    """A model of one node whose first operand is an input and whose others are constants, None for those left out."""
    names = [f"c{at}" if value is not None else "" for at, value in enumerate(constants)]
    node = helper.make_node(op_type, ["x", *names], ["y"], **attributes)
    held = [numpy_helper.from_array(value, name) for name, value in zip(names, constants, strict=True) if name]
    rank = 4 if op_type == "STFT" else len(shape)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * rank)
    graph = helper.make_graph([node], "g", [x], [y], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def window(length):
    return np.hanning(length + 1)[:-1].astype(np.float32)


def names_of(model):
    return {term.operator for term in postorder(model.graph.outputs) if isinstance(term, Apply)}


def check(read, run, proto, shape, expected):
    model = read(proto)
    assert expected in names_of(model)
    written = respelled(model, [0])
    onnx.checker.check_model(written)
    assert all(node.op_type not in ("DFT", "STFT") for node in written.graph.node)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    theirs, ours = (run(each, {"x": x})["y"] for each in (proto, written))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


STEP, LENGTH = np.array(3, np.int64), np.array(8, np.int64)
FRAMED = {
    "a window": (STEP, window(8)),
    "a window of odd length": (STEP, window(7)),
    "a window and its length": (STEP, window(8), LENGTH),
    "a length alone": (STEP, None, LENGTH),
    "a window that is a step": (np.array([8]), window(8)),
}


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("shape", [(2, 30), (2, 30, 1)])
@pytest.mark.parametrize("given", FRAMED)
def test_frames_are_transformed_by_a_convolution(read, run, given, shape, onesided):
    check(read, run, transform("STFT", shape, FRAMED[given], onesided=onesided), shape, "Conv")


OPAQUE_FRAMES = {
    "complex numbers": ((2, 30, 2), (STEP, window(8)), {"onesided": 0}),
    "frames longer than the window": ((2, 30), (STEP, window(8), np.array(12)), {}),
    "no length": ((2, 30), (STEP,), {}),
    "too many numbers": ((1, 5000), (STEP, window(4096)), {}),
}


@pytest.mark.parametrize("case", OPAQUE_FRAMES)
def test_other_frames_are_opaque(read, case):
    shape, constants, attributes = OPAQUE_FRAMES[case]
    assert names_of(read(transform("STFT", shape, constants, **attributes))) == {OPAQUE}


def test_a_window_that_is_not_known_leaves_frames_opaque(read):
    proto = transform("STFT", (2, 30), (STEP,))
    proto.graph.node[0].input.append("w")
    proto.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, (8,)))
    assert names_of(read(proto)) == {OPAQUE}


PLACES = {(17, 1): {"axis": 1}, (17, 2): {"axis": 2}, (20, 1): (None, np.array(1)), (20, 2): (None, np.array(-2))}


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("length", [5, 8])
@pytest.mark.parametrize(("opset", "axis"), PLACES)
def test_numbers_along_an_axis_are_transformed_by_a_product(read, run, opset, axis, length, onesided):
    shape = [2, 3, 4, 1]
    shape[axis] = length
    said = PLACES[opset, axis]
    constants, attributes = ((), said) if isinstance(said, dict) else (said, {})
    check(read, run, transform("DFT", shape, constants, opset, onesided=onesided, **attributes), shape, "MatMul")


@pytest.mark.parametrize(
    ("shape", "constants", "attributes"),
    [
        ((2, 8, 2), (), {}),
        ((2, 8, 1), (), {"inverse": 1}),
        ((2, 8, 1), (np.array(6),), {}),
        ((2, "n", 1), (), {}),
        ((1, 4096, 1), (), {}),
    ],
)
def test_complex_numbers_the_way_back_and_other_lengths_are_opaque(read, shape, constants, attributes):
    assert names_of(read(transform("DFT", shape, constants, axis=1, **attributes))) == {OPAQUE}


def test_waves_are_what_numpy_transforms_with():
    for length, onesided in ((7, 0), (8, 1)):
        (real, imaginary) = np.moveaxis(waves(length, onesided), 1, 0)
        x = np.random.default_rng(0).standard_normal(length)
        expected = np.fft.rfft(x) if onesided else np.fft.fft(x)
        np.testing.assert_allclose(real @ x + 1j * (imaginary @ x), expected)


def test_the_kernel_holds_the_window_times_the_waves(library):
    w = window(6).astype(np.float64)
    (found,) = library.operators["FourierKernel"].evaluate(FloatArrays(), w[np.newaxis], onesided=1)
    np.testing.assert_allclose(found, waves(6, 1).reshape(-1, 1, 6) * w)


def test_only_so_many_numbers_are_written_down():
    assert is_small(2048, 1) and not is_small(4096, 1) and not is_small(0, 1)
    assert waves(2048, 1).size <= MOST_NUMBERS
