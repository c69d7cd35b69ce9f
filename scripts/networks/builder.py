"""A thin collector of ONNX nodes and seeded random weights, from which every benchmark network is built."""

import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]

OPSET = 17
IR_VERSION = 8


class GraphBuilder:
    """Collects inputs, weights, nodes and outputs of one graph of float32; a value is spoken of by its name.

    Every random weight comes from one generator seeded with the CRC-32 of `family` (the network's name unless
    said), drawn in the order of the calls: the same calls give the same bytes on every machine, and variants that
    name the same family and draw in the same order have the same weights.
    """

    def __init__(self, name: str, family: str | None = None) -> None:
        self.name = name
        self._generator = np.random.default_rng(zlib.crc32((family or name).encode()))
        self._taken: Counter[str] = Counter()
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._scalars: dict[float, str] = {}
        self._integers: dict[tuple[int, ...], str] = {}

    def graph_input(self, name: str, shape: Sequence[int]) -> str:
        """Declares a float32 graph input of a static shape and returns its name."""
        self._inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def places(self, name: str, shape: Sequence[int]) -> str:
        """Declares an int64 graph input that names rows of tables."""
        self._inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, shape))
        return name

    def graph_output(self, value: str, shape: Sequence[int]) -> None:
        """Makes `value` a graph output; `shape` is the shape it really has."""
        self._outputs.append(helper.make_tensor_value_info(value, TensorProto.FLOAT, shape))

    def draw(self, shape: Sequence[int], std: float, mean: float = 0.0) -> Array:
        """Normal random numbers that do not enter the graph yet, for weights that are cut up or shared."""
        numbers = self._generator.standard_normal(tuple(shape), dtype=np.float32)
        return numbers * np.float32(std) + np.float32(mean)

    def draw_uniform(self, shape: Sequence[int], low: float, high: float) -> Array:
        """Uniform random numbers that do not enter the graph yet, for variances and slopes."""
        return self._generator.uniform(low, high, tuple(shape)).astype(np.float32)

    def constant(self, array: NDArray[Any], name: str = "weight") -> str:
        """Stores an array as an initializer, named after `name` and a running number."""
        unique = self._unique(name)
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(array), unique))
        return unique

    def normal(self, shape: Sequence[int], std: float, name: str = "weight", mean: float = 0.0) -> str:
        """A new initializer of normal random numbers."""
        return self.constant(self.draw(shape, std, mean), name)

    def scalar(self, value: float) -> str:
        """A rank-0 float initializer; asking twice for a value gives the same one."""
        if value not in self._scalars:
            self._scalars[value] = self.constant(np.array(value, np.float32).reshape(()), "scalar")
        return self._scalars[value]

    def integers(self, values: Sequence[int]) -> str:
        """A rank-1 int64 initializer (shapes, axes, split sizes); asking twice for the values gives the same one."""
        key = tuple(values)
        if key not in self._integers:
            self._integers[key] = self.constant(np.array(key, np.int64), "integers")
        return self._integers[key]

    def index(self, value: int) -> str:
        """A new int64 initializer without axes, as Gather takes it to drop an axis."""
        unique = self._unique("index")
        self._weights.append(numpy_helper.from_array(np.array(value, np.int64), unique))
        return unique

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node with one output and returns that output's name."""
        return self.split_node(op_type, inputs, 1, **attributes)[0]

    def split_node(self, op_type: str, inputs: Sequence[str], count: int, **attributes: Any) -> list[str]:
        """Adds a node with `count` outputs and returns their names."""
        outputs = [self._unique(op_type.lower()) for _ in range(count)]
        name = self._unique(f"{op_type}_node")
        self._nodes.append(helper.make_node(op_type, list(inputs), outputs, name=name, **attributes))
        return outputs

    def reshape(self, value: str, shape: Sequence[int]) -> str:
        """The value in another static shape."""
        return self.node("Reshape", value, self.integers(shape))

    def total(self, values: Sequence[str]) -> str:
        """The sum of the values, added one by one from the left."""
        result = values[0]
        for value in values[1:]:
            result = self.node("Add", result, value)
        return result

    def build(self) -> onnx.ModelProto:
        """The finished model: opset 17, IR version 8, weights as initializers that are not graph inputs."""
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, self._weights)
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(
            graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="tasoopt-benchmark-networks"
        )

    def _unique(self, name: str) -> str:
        self._taken[name] += 1
        return f"{name}_{self._taken[name]}"


def linear(b: GraphBuilder, value: str, fan_in: int, fan_out: int) -> str:
    """A dense layer as MatMul and Add, its weights of standard deviation 1/sqrt(fan_in), its biases of 0.1."""
    product = b.node("MatMul", value, b.normal((fan_in, fan_out), fan_in**-0.5))
    return b.node("Add", product, b.normal((fan_out,), 0.1, "bias"))
