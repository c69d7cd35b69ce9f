"""Nodes whose results ONNX's own shape inference takes to be of other sizes than the runtime gives them.

It counts the pixels of a resized image in double precision, where the runtime does in single; windows that lie behind
the image altogether (until opset 22); and hands a size through a cast to a type that cannot hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from taso_opt.onnx_io.nodes import node_attributes
from taso_opt.onnx_io.scopes import STANDARD, graphs_of, initializer_names, opset_of

HIDDEN = "hidden"
"""A domain of which nobody knows the operators."""

LEAVES_WINDOWS_OUT_SINCE = 22
POOLS = ("AveragePool", "LpPool", "MaxPool")
SCALES_AT = {"Resize": (2, 1), "Upsample": (1,)}
"""Which operand the scales are, in newer and older versions."""

HOLDING = frozenset({TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT, TensorProto.DOUBLE})
"""Types that sizes keep their values in."""

Shapes = Mapping[str, Sequence[int | None]]


def without_narrow_casts(model: ModelProto) -> ModelProto:
    """The same model, but that no size is followed through a cast to a type that may not hold it.

    An operator that keeps types and shapes stands in front of such casts, through which inference follows no values.
    """
    if not any(_is_narrow(node) for graph in graphs_of(model.graph) for node in graph.node):
        return model
    changed = ModelProto()
    changed.CopyFrom(model)
    taken = {name for graph in graphs_of(model.graph) for node in graph.node for name in node.output}
    fresh = (name for name in (f"{HIDDEN}_{number}" for number in count()) if name not in taken)
    for graph in graphs_of(changed.graph):
        nodes = [one for node in graph.node for one in (_kept_apart(node, fresh) if _is_narrow(node) else (node,))]
        del graph.node[:]
        graph.node.extend(nodes)
    return changed


def _is_narrow(node: NodeProto) -> bool:
    return (
        node.op_type == "Cast"
        and node.domain in STANDARD
        and len(node.input) == 1
        and node_attributes(node).get("to") not in HOLDING
    )


def _kept_apart(node: NodeProto, fresh: Iterator[str]) -> tuple[NodeProto, NodeProto]:
    name = next(fresh)
    cast = NodeProto()
    cast.CopyFrom(node)
    cast.input[0] = name
    return helper.make_node("Abs", [node.input[0]], [name]), cast


def without_misjudged(inferred: ModelProto, asked: ModelProto) -> ModelProto | None:
    """The model that was asked about without a meaning of the nodes whose sizes were inferred wrong; None without any.

    Only what stands in the main graph is looked at.
    """
    shapes, numbers, opset = _shapes(inferred.graph), _numbers(asked.graph), opset_of(asked)
    wrong = [at for at, node in enumerate(asked.graph.node) if _is_misjudged(node, shapes, numbers, opset)]
    if not wrong:
        return None
    changed = ModelProto()
    changed.CopyFrom(asked)
    for at in wrong:
        changed.graph.node[at].domain = HIDDEN
    return changed


def _is_misjudged(node: NodeProto, shapes: Shapes, numbers: Mapping[str, Any], opset: int) -> bool:
    if node.domain not in STANDARD or not node.output:
        return False
    stated = node_attributes(node)
    if node.op_type in SCALES_AT:
        return _is_scaled_otherwise(node, shapes, numbers)
    if node.op_type in POOLS and opset < LEAVES_WINDOWS_OUT_SINCE and stated.get("ceil_mode"):
        return _has_windows_behind(node, shapes)
    if node.op_type == "ConvTranspose" and any(stated.get("output_padding", ())):
        return bool(stated.get("auto_pad", "NOTSET").startswith("SAME"))
    return False


def _is_scaled_otherwise(node: NodeProto, shapes: Shapes, numbers: Mapping[str, Any]) -> bool:
    named = [node.input[at] for at in SCALES_AT[node.op_type] if at < len(node.input)]
    known = [numbers[name] for name in named if name in numbers and numbers[name].dtype == np.float32]
    scales = known[0] if known else np.array(node_attributes(node).get("scales", ()), np.float32)
    before, after = (shapes.get(name, ()) for name in (node.input[0], node.output[0]))
    if not len(scales) == len(before) == len(after):
        return False
    sizes = zip(before, after, scales, strict=True)
    return any(None not in (size, new) and int(np.float32(size) * scale) != new for size, new, scale in sizes)


def _has_windows_behind(node: NodeProto, shapes: Shapes) -> bool:
    """Whether a last window begins behind the image and what pads it in front."""
    before, after = (shapes.get(name, ())[2:] for name in (node.input[0], node.output[0]))
    stated = node_attributes(node)
    strides, pads = stated.get("strides", (1,) * len(before)), stated.get("pads", (0,) * len(before))
    return any(
        size is not None and new is not None and (new - 1) * stride >= size + pad
        for size, new, stride, pad in zip(before, after, strides, pads, strict=False)
    )


def _shapes(graph: GraphProto) -> dict[str, list[int | None]]:
    """The sizes of tensors of known rank, None for those that are no number."""
    return {
        value.name: [dim.dim_value if dim.HasField("dim_value") else None for dim in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output, *graph.value_info)
        if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape")
    }


def _numbers(graph: GraphProto) -> dict[str, Any]:
    """The values of small constants."""
    found = {name: numpy_helper.to_array(tensor) for name, tensor in _tensors(graph) if _is_small(tensor)}
    given = {value.name for value in graph.input} - set(initializer_names(graph))
    return {name: value for name, value in found.items() if name not in given}


def _tensors(graph: GraphProto) -> Iterator[tuple[str, TensorProto]]:
    yield from ((tensor.name, tensor) for tensor in graph.initializer)
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in STANDARD:
            yield from ((node.output[0], one.t) for one in node.attribute if one.name == "value")


def _is_small(tensor: TensorProto) -> bool:
    return len(tensor.dims) == 1 and tensor.dims[0] <= 8 and tensor.data_type == TensorProto.FLOAT
