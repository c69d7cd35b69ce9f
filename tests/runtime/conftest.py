"""Small models, and one child process for all tests of the runtime."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from taso_opt.runtime import RuntimeProcess


@pytest.fixture(scope="session")
def shared_process() -> Iterator[RuntimeProcess]:
    with RuntimeProcess() as process:
        yield process


def _model(graph: Any, ir_version: int = 8, opset: int = 17) -> bytes:
    model: ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    return model.SerializeToString()


@pytest.fixture(scope="session")
def unary() -> Callable[..., bytes]:
    """A model y = op(op(...(x))) on tensors of one shape."""

    def build(op: str, shape: Any = (4, 4), count: int = 1, dtype: int = TensorProto.FLOAT, **versions: int) -> bytes:
        names = ["x", *(f"t{place}" for place in range(count - 1)), "y"]
        nodes = [helper.make_node(op, [names[place]], [names[place + 1]]) for place in range(count)]
        x, y = (helper.make_tensor_value_info(name, dtype, shape) for name in "xy")
        return _model(helper.make_graph(nodes, "unary", [x], [y]), **versions)

    return build


@pytest.fixture(scope="session")
def matmuls() -> Callable[[int, int], bytes]:
    """A model of `count` square matrix products in a row."""

    def build(count: int, size: int) -> bytes:
        generator = np.random.default_rng(0)
        names = ["x", *(f"t{place}" for place in range(count - 1)), "y"]
        weights = [
            numpy_helper.from_array(
                (generator.standard_normal((size, size)) / size**0.5).astype(np.float32), f"w{place}"
            )
            for place in range(count)
        ]
        nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(count)]
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, size]) for name in "xy")
        return _model(helper.make_graph(nodes, "matmuls", [x], [y], weights))

    return build


@pytest.fixture(scope="session")
def endless() -> bytes:
    """A model that stays inside native code for hours: a loop of 10**12 turns."""
    scalar = [helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in ("a", "b")]
    turn = helper.make_tensor_value_info("turn", TensorProto.INT64, [])
    go, on = (helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("go", "on"))
    nodes = [helper.make_node("Sin", ["a"], ["b"]), helper.make_node("Identity", ["go"], ["on"])]
    body = helper.make_graph(nodes, "body", [turn, go, scalar[0]], [on, scalar[1]])
    turns = numpy_helper.from_array(np.array(10**12, np.int64), "turns")
    loop = helper.make_node("Loop", ["turns", "", "x"], ["y"], body=body)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in "xy")
    return _model(helper.make_graph([loop], "endless", [x], [y], [turns]))


@pytest.fixture(scope="session")
def strings_and_sequence() -> bytes:
    """A model with a string tensor and a sequence of two tensors as outputs."""
    nodes = [
        helper.make_node("Identity", ["s"], ["t"]),
        helper.make_node("SequenceConstruct", ["a", "a"], ["q"]),
    ]
    inputs = [
        helper.make_tensor_value_info("s", TensorProto.STRING, [2]),
        helper.make_tensor_value_info("a", TensorProto.FLOAT, ["N", None]),
    ]
    outputs = [
        helper.make_tensor_value_info("t", TensorProto.STRING, [2]),
        helper.make_tensor_sequence_value_info("q", TensorProto.FLOAT, None),
    ]
    return _model(helper.make_graph(nodes, "mixed", inputs, outputs))
