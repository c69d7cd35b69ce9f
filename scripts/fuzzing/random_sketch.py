"""A graph being drawn: its values with their types, its weights, and the nodes so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, defs, helper, numpy_helper, shape_inference

from taso_opt.runtime.inputs import Array

FLOATS = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16}
CODES = {**FLOATS, "int64": TensorProto.INT64, "int32": TensorProto.INT32, "bool": TensorProto.BOOL}
NAMES = {code: name for name, code in CODES.items()}

WHOLE_NUMBERS = (-3, -2, -1, 0, 1, 2, 3)
"""What weights that are no floats are drawn from; a rounded normal distribution would be zeros for the most part."""

Draw = Callable[["Sketch", "Value"], object]
"""Appends to a graph what takes one of its values, or leaves it as it is where that does not suit."""


@dataclass(frozen=True)
class Value:
    """A value of the graph: its name, element type, shape with numbers, and whether its first size is the symbol."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    dynamic: bool = False


@dataclass
class Sketch:
    """A graph being drawn."""

    random: Random
    generator: np.random.Generator
    opset: int
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    inputs: list[ValueInfoProto] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    functions: list[Any] = field(default_factory=list)
    weights: list[Value] = field(default_factory=list)
    numbers: dict[str, Array] = field(default_factory=dict)
    """Constants that say how nodes work, by name."""

    def name(self, stem: str = "v") -> str:
        """A name that nothing has."""
        odd = self.random.choice(("", "", "", "/block.0/", "a:b ", "'q'"))
        return f"{odd}{stem}{len(self.nodes)}_{len(self.initializers)}_{len(self.values)}"

    def node(self, operator: str, inputs: Sequence[Value | str], like: Value, **attributes: Any) -> Value:
        """Append a node whose one output is of the type of `like`."""
        made = Value(self.name(), like.dtype, like.shape, like.dynamic)
        names = [value if isinstance(value, str) else value.name for value in inputs]
        self.nodes.append(helper.make_node(operator, names, [made.name], name=self.name("node"), **attributes))
        self.values.append(made)
        return made

    def weight(self, dtype: str, shape: Sequence[int], scale: float = 1.0) -> Value:
        """A weight: mostly new, sometimes one that is there; an initializer, a default of an input, or a node."""
        shape = tuple(shape)
        known = [value for value in self.weights if value.dtype == dtype and value.shape == shape]
        if known and self.random.random() < 0.4:
            return self.random.choice(known)
        made = Value(self.name("w"), dtype, shape)
        if dtype in FLOATS:
            numbers = self.generator.standard_normal(shape) * scale
        else:
            numbers = self.generator.choice(WHOLE_NUMBERS, shape)
        tensor = numpy_helper.from_array(np.asarray(numbers).astype(dtype), made.name)
        match self.random.randrange(8):
            case 0:
                self.nodes.append(helper.make_node("Constant", [], [made.name], value=tensor))
            case 1:
                self.initializers.append(tensor)
                self.inputs.append(helper.make_tensor_value_info(made.name, CODES[dtype], shape))
            case _:
                self.initializers.append(tensor)
        self.weights.append(made)
        return made

    def inferred(self, operator: str, inputs: Sequence[Value | str], outputs: int = 1, **attributes: Any) -> Value:
        """Append a node whose outputs, of which the first comes back, are of the types that ONNX infers."""
        names = [value if isinstance(value, str) else value.name for value in inputs]
        results = [self.name(f"r{at}_") for at in range(outputs)]
        node = helper.make_node(operator, names, results, name=self.name("node"), **attributes)
        operands = [value for value in inputs if isinstance(value, Value)]
        types = {one.name: helper.make_tensor_type_proto(CODES[one.dtype], one.shape) for one in operands}
        known = {name: numpy_helper.from_array(self.numbers[name]) for name in names if name in self.numbers}
        schema, imports = defs.get_schema(operator, self.opset), [helper.make_opsetid("", self.opset)]
        found = shape_inference.infer_node_outputs(schema, node, types, known, opset_imports=imports, ir_version=8)
        self.nodes.append(node)
        made = [_of_type(name, found[name].tensor_type, operands[0].dynamic) for name in results]
        self.values.extend(value for value in made if 0 not in value.shape)
        return made[0]

    def integers(self, *numbers: int) -> Value:
        """A tensor of integers as an initializer."""
        return self.constant(np.array(numbers, np.int64))

    def number(self, number: float, dtype: str) -> Value:
        """A number as an initializer."""
        return self.constant(np.array(number, dtype))

    def constant(self, array: Array) -> Value:
        """An initializer that is no weight: nodes may be said by it how they work."""
        made = Value(self.name("i"), array.dtype.name, array.shape)
        self.initializers.append(numpy_helper.from_array(array, made.name))
        self.numbers[made.name] = array
        return made


def _of_type(name: str, kind: Any, dynamic: bool) -> Value:
    assert kind.HasField("shape"), f"ONNX infers no shape for {name}"
    shape = tuple(dim.dim_value for dim in kind.shape.dim)
    return Value(name, NAMES[kind.elem_type], shape, dynamic and bool(shape))
