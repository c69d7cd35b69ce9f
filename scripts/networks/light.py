"""The model structures that the onnx package carries for its own tests, filled with random weights.

In the package their weights are constants (0.02, made by ConstantOfShape nodes), so that any rewrite passes on them.
Here every float weight becomes an initializer that is no graph input: filters centred and normal, with the deviation
RELU_GAIN/sqrt(fan-in) of the benchmark networks (depth-wise ones sqrt(2/fan-in), the last dense layer 1/sqrt(fan-in)),
biases and shifts normal(0, 0.1), scales and batch-norm variances uniform in 0.7..1.3 (scales in front of a residual sum
half of that), batch-norm means normal(0, 0.1). A softmax at the end is cut off, because it would saturate. The other
nodes, their names and the opset (9) stay; the IR version becomes 8.
"""

import math
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from taso_opt.errors import UsageError

from .convolution import RELU_GAIN

Array = NDArray[np.float32]
Uses = dict[str, list[tuple[onnx.NodeProto, int]]]

# Short name to the file's name in onnx/backend/test/data/light.
LIGHT_FILES = {
    "alexnet": "light_bvlc_alexnet.onnx",
    "densenet121": "light_densenet121.onnx",
    "inception_v1": "light_inception_v1.onnx",
    "inception_v2": "light_inception_v2.onnx",
    "resnet50": "light_resnet50.onnx",
    "shufflenet": "light_shufflenet.onnx",
    "squeezenet": "light_squeezenet.onnx",
    "vgg19": "light_vgg19.onnx",
    "zfnet512": "light_zfnet512.onnx",
}

IR_VERSION = 8


def light_model(name: str) -> onnx.ModelProto:
    """The structure `name` of LIGHT_FILES with random weights, the same at every call.

    Raises UsageError for a name that LIGHT_FILES does not have.
    """
    if name not in LIGHT_FILES:
        raise UsageError(f"expected the name of a light model ({', '.join(LIGHT_FILES)}), found {name!r}")
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    model = onnx.load(folder / LIGHT_FILES[name])
    graph = model.graph
    # 1. The shapes of all float weights, whether they are stored or made by a node.
    shapes = _weight_shapes(graph)
    # 2. New numbers for each, by the place where it is used.
    uses = _uses(graph)
    generator = np.random.default_rng(zlib.crc32(f"light_{name}".encode()))
    weights = {weight: _weight(generator, uses, weight, shape) for weight, shape in shapes.items()}
    # 3. The graph again with the new weights, without the nodes that made the old ones.
    model.graph.CopyFrom(_with_weights(graph, weights))
    model.ir_version = IR_VERSION
    return model


def _weight_shapes(graph: onnx.GraphProto) -> dict[str, tuple[int, ...]]:
    """Every float weight that a node reads, with its shape, in the order of the file."""
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    read = {name for node in graph.node for name in node.input}
    shapes = {name: array.shape for name, array in stored.items() if array.dtype == np.float32 and name in read}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shapes[node.output[0]] = tuple(int(size) for size in stored[node.input[0]])
    return shapes


def _uses(graph: onnx.GraphProto) -> Uses:
    uses: Uses = defaultdict(list)
    for node in graph.node:
        for position, name in enumerate(node.input):
            uses[name].append((node, position))
    return uses


def _weight(generator: np.random.Generator, uses: Uses, name: str, shape: tuple[int, ...]) -> Array:
    node, position = uses[name][0]
    match node.op_type, position:
        # A weight may pass through a change of shape first.
        case (("Unsqueeze" | "Reshape"), 0):
            return _weight(generator, uses, node.output[0], shape)
        case "Conv", 1:
            return _filters(generator, shape, RELU_GAIN)
        case "Gemm", 1:
            return _filters(generator, shape, 1.0 if _is_last_layer(node, uses) else RELU_GAIN)
        case "BatchNormalization", 1 if any(reader.op_type == "Sum" for reader, _ in uses[node.output[0]]):
            # Half the scale in front of a residual sum keeps a deep network's activations of moderate size.
            return generator.uniform(0.35, 0.65, shape).astype(np.float32)
        case ("BatchNormalization", 1 | 4) | ("Mul", _):
            return generator.uniform(0.7, 1.3, shape).astype(np.float32)
        case ("Conv" | "Gemm" | "BatchNormalization", _) | ("Add", _):
            return generator.standard_normal(shape, dtype=np.float32) * np.float32(0.1)
    raise AssertionError(f"no random weights are defined for input {position} of a {node.op_type}")


def _is_last_layer(node: onnx.NodeProto, uses: Uses) -> bool:
    return all(reader.op_type == "Softmax" for reader, _ in uses.get(node.output[0], []))


def _filters(generator: np.random.Generator, shape: tuple[int, ...], gain: float) -> Array:
    """Weights [out, ...] of deviation gain/sqrt(fan-in), centred over each output unless that has a single channel."""
    fan_in = math.prod(shape[1:])
    numbers = generator.standard_normal(shape, dtype=np.float32)
    if shape[1] == 1:
        return numbers * np.float32((2 / fan_in) ** 0.5)
    numbers -= np.mean(numbers, axis=tuple(range(1, len(shape))), keepdims=True)
    return numbers * np.float32(gain / fan_in**0.5)


def _with_weights(graph: onnx.GraphProto, weights: dict[str, Array]) -> onnx.GraphProto:
    nodes = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    outputs = list(graph.output)
    if nodes[-1].op_type == "Softmax":
        shape = [size.dim_value for size in outputs[0].type.tensor_type.shape.dim]
        outputs = [helper.make_tensor_value_info(nodes.pop().input[0], onnx.TensorProto.FLOAT, shape)]
    read = {name for node in nodes for name in node.input}
    stored = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in stored]
    integers = [tensor for tensor in graph.initializer if tensor.name in read and tensor.name not in weights]
    fresh = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    return helper.make_graph(nodes, graph.name, inputs, outputs, [*integers, *fresh])
