"""The values of a model's constants, found by name and read when asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, helper, numpy_helper

from taso_opt.onnx_io.files.external import byte_count, tensor_array
from taso_opt.onnx_io.scopes import STANDARD
from taso_opt.spec.operator import Array
from taso_opt.spec.shared.piecewise import simplest_fraction

READABLE_ELEMENTS = 1024
"""Spellings may read the values of constants of at most so many elements."""


@dataclass(frozen=True, eq=False)
class Weights:
    """Tensors by the names of the values that they define; external ones stand in the model's `file` or beside it."""

    tensors: dict[str, TensorProto]
    file: Path
    _numbers: dict[str, Fraction | None] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, name: str) -> Array:
        """The value of a constant; large external data is mapped, not read. KeyError when there is no such constant."""
        return tensor_array(self.tensors[name], self.file)

    def small(self, name: str) -> Array | None:
        """The value of a constant of at most READABLE_ELEMENTS elements, else None; None for strings too.

        No spelling asks for strings, and those of a file need not even be text.
        """
        tensor = self.tensors[name]
        if tensor.data_type == TensorProto.STRING:
            return None
        return tensor_array(tensor, self.file) if np.prod(tensor.dims, dtype=float) <= READABLE_ELEMENTS else None

    def number(self, name: str) -> Fraction | None:
        """The value of a constant of one finite float as the simplest fraction that rounds to it, else None."""
        if name not in self._numbers:
            value = self.small(name)
            self._numbers[name] = None if value is None else only_number(value)
        return self._numbers[name]

    def content(self, name: str) -> tuple[object, ...] | None:
        """A key that equal small constants share, None for large ones."""
        value = self.small(name)
        if value is None:
            return None
        return self.tensors[name].data_type, value.shape, value.tobytes()


def only_number(value: Array) -> Fraction | None:
    """The value of an array of one finite float as the simplest fraction that rounds to it, else None."""
    if value.size != 1 or value.dtype.kind != "f" or not np.isfinite(value).all():
        return None
    return simplest_fraction(value)


def collect_weights(graph: GraphProto, file: Path) -> Weights:
    """The weights of a graph: its initializers and the values of its Constant nodes."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        value = constant_value(node)
        if value is not None:
            tensors[node.output[0]] = value
    return Weights(tensors, file)


def constant_value(node: NodeProto) -> TensorProto | None:
    """The tensor that a Constant node yields; None for every other node and for a sparse constant."""
    if node.op_type != "Constant" or node.domain not in STANDARD or len(node.attribute) != 1:
        return None
    (attribute,) = node.attribute
    value = helper.get_attribute_value(attribute)
    match attribute.name:
        case "value":
            return value if isinstance(value, TensorProto) else None
        case "value_float" | "value_floats":
            return numpy_helper.from_array(np.array(value, np.float32))
        case "value_int" | "value_ints":
            return numpy_helper.from_array(np.array(value, np.int64))
        case "value_string" | "value_strings":
            return numpy_helper.from_array(np.array(value, object))
    return None


def stored_bytes(body: GraphProto | FunctionProto) -> int:
    """How many bytes the initializers and constants of a graph or a function take, wherever they are stored."""
    initializers = body.initializer if isinstance(body, GraphProto) else ()
    constants = (constant_value(node) for node in body.node)
    return sum(byte_count(tensor) for tensor in (*initializers, *constants) if tensor is not None)
