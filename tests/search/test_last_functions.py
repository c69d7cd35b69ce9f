"""Outputs behind a saturated function are judged by what goes into it, where both models end in the same one."""

import numpy as np
import onnx
import pytest
from onnx import parser

from taso_opt.runtime import OutputComparison, RunSettings, run_feeds
from taso_opt.runtime.accuracy import OutputDifference
from taso_opt.search.judging.agreement import HIDDEN, _without, agreement
from taso_opt.search.judging.last_functions import RANGE, files_that_show

HEAD = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2,4] x) => (float[2,4] z, float[8] y) <float low = {%s}, int64[1] flat = {8}> { z = Neg(x) %s }"""

DETECTOR = "s = Sub(x, low)  p = Sigmoid(s)  y = Reshape(p, flat)"
FLAT_FIRST = "s = Sub(x, low)  f = Reshape(s, flat)  y = Sigmoid(f)"
FEEDS = [{"x": np.random.default_rng(seed).standard_normal((2, 4)).astype(np.float32)} for seed in range(2)]


@pytest.fixture
def save(tmp_path):
    def write(name, body, low=40.0):
        onnx.save(parser.parse_model(HEAD % (low, body)), tmp_path / f"{name}.onnx")
        return tmp_path / f"{name}.onnx"

    return write


def agreed(process, original, other):
    return agreement(process, original, other, FEEDS, RunSettings())


def test_copies_give_what_goes_into_the_last_function(save, process, tmp_path):
    first, second = save("one", DETECTOR), save("two", DETECTOR, 41.0)
    files = files_that_show(first, second, [1], tmp_path)
    for file, low in zip(files, (40, 41), strict=True):
        ((_, _, inner),) = run_feeds(process, file, FEEDS[:1], RunSettings())
        np.testing.assert_allclose(inner, FEEDS[0]["x"] - low)


@pytest.mark.parametrize(
    ("first", "second", "outputs"),
    [
        (DETECTOR, DETECTOR.replace("Sigmoid", "Tanh"), [1]),
        (DETECTOR, DETECTOR.replace("Sigmoid", "Exp"), [1]),
        (DETECTOR.replace("Sigmoid", "Exp"), DETECTOR.replace("Sigmoid", "Exp"), [1]),
        (DETECTOR, DETECTOR, [0, 1]),
        (DETECTOR.replace("Sigmoid", "Softmax <axis = 0>"), DETECTOR.replace("Sigmoid", "Softmax <axis = 1>"), [1]),
        (DETECTOR, DETECTOR.replace("y =", "t = Transpose(p)  y =").replace("Reshape(p,", "Reshape(t,"), [1]),
    ],
)
def test_there_are_none_where_outputs_do_not_end_alike(save, tmp_path, first, second, outputs):
    assert files_that_show(save("first", first), save("second", second), outputs, tmp_path) is None


def test_there_are_none_where_an_output_is_a_sequence(save, tmp_path):
    path = save("one", "s = Sub(x, low)  p = Sigmoid(s)  y = Reshape(p, flat)")
    proto = onnx.load(path)
    proto.graph.node.append(onnx.helper.make_node("SequenceConstruct", ["z", "z"], ["all"]))
    proto.graph.output.insert(0, onnx.helper.make_tensor_sequence_value_info("all", onnx.TensorProto.FLOAT, None))
    onnx.save(proto, path)
    assert files_that_show(path, path, [2], tmp_path) is None


def test_an_output_is_excused_where_what_goes_in_agrees(save, process):
    found = agreed(process, save("first", DETECTOR, 8.0), save("second", DETECTOR, 8.0 * (1 + 5e-5)))
    assert not found.reasons and not found.failure
    assert HIDDEN.format(1) in found.warnings
    assert found.max_rel > 1e-4


def test_it_is_not_where_it_differs_by_much_of_what_the_function_may_give():
    far, near = (OutputDifference(1, error, 0.5, 1e-6, "differs") for error in (0.5, RANGE * 1e-6))
    kept, excused = (_without({1}, OutputComparison((one,))) for one in (far, near))
    assert kept.reasons == ("differs",) and not excused.reasons


def test_it_is_not_where_that_differs(save, process):
    found = agreed(process, save("first", DETECTOR, 8.0), save("second", DETECTOR, 8.0 * (1 + 5e-4)))
    assert found.reasons and HIDDEN.format(1) not in found.warnings


def test_nor_where_it_has_another_shape(save, process):
    found = agreed(process, save("first", DETECTOR, 8.0), save("second", FLAT_FIRST, 8.0 * (1 + 5e-5)))
    assert found.reasons


def test_an_output_without_such_a_function_excuses_none(save, process):
    exact = DETECTOR.replace("Sigmoid", "Exp")
    found = agreed(process, save("first", exact, 8.0), save("second", exact, 8.0 * (1 + 5e-5)))
    assert found.reasons
