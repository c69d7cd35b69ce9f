"""A copy of a model that computes in float64 throughout, and its outputs: those of the model but for its rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from taso_opt.errors import RuntimeFailure, UnsupportedError
from taso_opt.onnx_io.census import SINGLES
from taso_opt.onnx_io.files.external import byte_count, read_in, tensor_array
from taso_opt.onnx_io.files.load import load_model
from taso_opt.onnx_io.references.operators import BATCH_NORMALIZATION, CONVOLUTION
from taso_opt.onnx_io.references.randomness import RANDOM
from taso_opt.onnx_io.scopes import all_tensors, bodies
from taso_opt.spec.operator import Array

MOST_BYTES = 256 << 20
"""Of weights as they are stored; their copy takes twice as much or more, and is sent to the runtime as one message."""

RESULT_TYPES = frozenset({"to", "dtype"})
"""Attributes that name the element type of a result."""


def in_doubles(path: Path) -> ModelProto:
    """The model in a file with every float of at most 32 bits, weight or type, made a float64.

    Raises UnsupportedError for a model with too many bytes of weights, with sparse ones, or with operators that draw
    random numbers, which would draw others.
    """
    model = load_model(path)
    if sum(byte_count(tensor) for tensor in all_tensors(model)) > MOST_BYTES:
        raise UnsupportedError(f"expected at most {MOST_BYTES} bytes of weights for a copy in float64, found more")
    for tensor in all_tensors(model):
        if tensor.data_type in SINGLES:
            value = np.asarray(tensor_array(tensor, path), np.float64)
            tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
        else:
            read_in(tensor, path)
    _convert_graph(model.graph)
    for function in model.functions:
        del function.value_info[:]
        _convert_nodes(function.node)
    return model


def evaluate(model: ModelProto, feed: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model by ONNX's reference implementation in Python; RuntimeFailure where that cannot run it."""
    try:
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(model, new_ops=[BATCH_NORMALIZATION, CONVOLUTION]).run(None, dict(feed))
    except Exception as error:  # its operators raise whatever NumPy does
        raise RuntimeFailure(f"expected the reference implementation to run the model, found: {error}") from error
    return [np.asarray(value) for value in found]


def _convert_graph(graph: GraphProto) -> None:
    if graph.sparse_initializer:
        raise UnsupportedError("expected no sparse weights in a model to copy in float64, found one")
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        _convert_type(value.type)
    _convert_nodes(graph.node)


def _convert_nodes(nodes: Iterator[NodeProto]) -> None:
    for node in nodes:
        if node.op_type in RANDOM and node.op_type != "Dropout":
            raise UnsupportedError(f"expected no random numbers in a model to copy in float64, found {node.op_type}")
        for attribute in node.attribute:
            _convert_attribute(attribute)
        if node.op_type == "ConstantOfShape" and not node.attribute:
            node.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))
        for body in bodies(node):
            _convert_graph(body)


def _convert_attribute(attribute: AttributeProto) -> None:
    """Constants that are written as numbers become tensors, and the element types of results double."""
    if attribute.name in RESULT_TYPES and attribute.i in SINGLES:
        attribute.i = TensorProto.DOUBLE
    elif attribute.name in ("value_float", "value_floats"):
        given = attribute.f if attribute.name == "value_float" else list(attribute.floats)
        value = numpy_helper.from_array(np.array(given, np.float64))
        attribute.CopyFrom(helper.make_attribute("value", value))


def _convert_type(kind: TypeProto) -> None:
    if kind.HasField("tensor_type") and kind.tensor_type.elem_type in SINGLES:
        kind.tensor_type.elem_type = TensorProto.DOUBLE
    elif kind.HasField("sequence_type"):
        _convert_type(kind.sequence_type.elem_type)
    elif kind.HasField("optional_type"):
        _convert_type(kind.optional_type.elem_type)
