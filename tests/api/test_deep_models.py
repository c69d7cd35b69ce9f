"""Models that are deep or wide in odd places: no stack is too small for them, and they are rewritten like others."""

from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from taso_opt.api import OptimizeSettings, optimize_file

DEEP = 1200
"""More than Python's own stack holds, whatever recurses."""

ROW, IMAGE = [1, 64], [1, 8, 16, 16]


def model(nodes, shape, weights):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    tensors = [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def scaled_sum():
    """So many multiples of one input that their factors are a sum as deep."""
    factors = np.random.default_rng(0).standard_normal((DEEP, ROW[1]))
    nodes = [helper.make_node("Mul", ["x", f"c{at}"], [f"m{at}"]) for at in range(DEEP)]
    nodes.append(helper.make_node("Sum", [f"m{at}" for at in range(DEEP)], ["y"]))
    return model(nodes, ROW, {f"c{at}": value for at, value in enumerate(factors)})


def folded_number():
    """A factor that is a product of so many numbers."""
    nodes = [helper.make_node("Mul", [f"k{at}", "d"], [f"k{at + 1}"]) for at in range(DEEP)]
    nodes += [helper.make_node("Mul", ["x", f"k{DEEP}"], ["t"]), helper.make_node("Add", ["t", "x"], ["y"])]
    return model(nodes, ROW, {"k0": 1.01, "d": 0.999})


def shifted_image():
    """A convolution whose channels are scaled and shifted so often."""
    names = ["c", *(f"p{at}" for at in range(DEEP))]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1])]
    for at, (before, after) in enumerate(pairwise(names)):
        nodes.append(helper.make_node(("Add", "Mul")[at % 2], [before, f"s{at}"], [after]))
    nodes.append(helper.make_node("Relu", [names[-1]], ["y"]))
    generator = np.random.default_rng(0)
    scales = {f"s{at}": 1 + 0.001 * generator.standard_normal((8, 1, 1)) for at in range(DEEP)}
    return model(nodes, IMAGE, {"w": generator.standard_normal((8, 8, 3, 3)), **scales})


@pytest.mark.parametrize("make", [scaled_sum, folded_number, shifted_image])
def test_a_search_ends_with_an_answer(make, tmp_path, process):
    onnx.save(make(), tmp_path / "model.onnx")
    record = optimize_file(tmp_path / "model.onnx", OptimizeSettings(budget=3.0, dry_run=True), process=process)
    assert record.result == "dry-run" and sum(record.operators_before.values()) > DEEP
