"""The types of all values of a model as ONNX's shape inference finds them, with sizes as symbols or as numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path

from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorShapeProto,
    TypeProto,
    ValueInfoProto,
    checker,
    shape_inference,
)

from taso_opt.core.dims import Dim, symbol
from taso_opt.core.types import TensorType
from taso_opt.onnx_io.elements import UNKNOWN, element_name
from taso_opt.onnx_io.files.skeleton import skeleton
from taso_opt.onnx_io.guards.misjudged import without_misjudged, without_narrow_casts
from taso_opt.onnx_io.guards.steps import has_near_steps
from taso_opt.onnx_io.scopes import STANDARD, bodies

UNKNOWN_TYPE = TensorType(UNKNOWN, ())
"""The type of a value that is no tensor, or of which not even the rank is known."""

MEANINGLESS = frozenset({"none", "null", "unknown", "dynamic", "any"})


def symbol_name(name: str) -> str | None:
    """The symbol for a dim's name; None for a name such as `?` or `-1` that exporters give to unrelated dims.

    Names that could be taken for an expression or for a star are put in quotes.
    """
    if not re.search(r"[^\W\d_]", name) or name.strip().lower() in MEANINGLESS:
        return None
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else f"'{name}'"


def symbolic_skeleton(model: ModelProto, file: Path) -> ModelProto:
    """A skeleton whose inputs have a symbol for every dim that is not a number, and nothing is said of other values.

    What files say of inner values is often stale, so that only the results of custom operators keep it. An output that
    is an input has the type of that.
    """
    bare = skeleton(model, file)
    taken = {dim.dim_param for value in _values(bare.graph) for dim in _dims(value.type)}
    fresh = (name for name in (f"unnamed_{number}" for number in count()) if name not in taken)
    functions = {function.name for function in model.functions}
    _forget(bare.graph, functions)
    for function in bare.functions:
        _forget_in_bodies(function.node, functions)
    for value in (*bare.graph.input, *bare.graph.output, *bare.graph.value_info):
        for dim in _dims(value.type):
            _name_dim(dim, fresh)
    inputs = {value.name: value.type for value in bare.graph.input}
    for value in bare.graph.output:
        if value.name in inputs:
            value.type.CopyFrom(inputs[value.name])
    return bare


def _name_dim(dim: TensorShapeProto.Dimension, fresh: Iterator[str]) -> None:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return
    dim.dim_param = symbol_name(dim.dim_param) or next(fresh)


def _values(graph: GraphProto) -> Iterator[ValueInfoProto]:
    yield from graph.input
    yield from graph.output
    yield from graph.value_info


def _dims(kind: TypeProto) -> list[TensorShapeProto.Dimension]:
    return list(kind.tensor_type.shape.dim) if kind.HasField("tensor_type") else []


def _forget(graph: GraphProto, functions: set[str]) -> None:
    """Remove what the file says of the shapes of values, but for those that operators of others compute."""
    computed = {name for node in graph.node for name in node.output}
    inferable = {
        name for node in graph.node if node.domain in STANDARD and node.op_type not in functions for name in node.output
    }
    kept = [value for value in graph.value_info if value.name in computed - inferable]
    del graph.value_info[:]
    graph.value_info.extend(kept)
    for value in graph.output:
        if value.name in inferable:
            _forget_shape(value.type)
    _forget_in_bodies(graph.node, functions)


def _forget_in_bodies(nodes: Iterable[NodeProto], functions: set[str]) -> None:
    for node in nodes:
        for body in bodies(node):
            _forget(body, functions)
            _forget_given(body, 1 if node.op_type == "Loop" else 0)


def _forget_given(body: GraphProto, counters: int) -> None:
    """Remove what a body says of the shapes of what enters it behind its counters, and all names of sizes.

    A loop may pass on values of another size in each turn; the number of a turn has the shape that its body states.
    """
    given = {value.name: value for value in body.input[counters:]}
    for value in (*given.values(), *(value for value in body.output if value.name in given)):
        _forget_shape(value.type)
    for dim in (dim for value in _values(body) for dim in _dims(value.type)):
        dim.ClearField("dim_param")


def _forget_shape(kind: TypeProto) -> None:
    """Remove the shape of a tensor, or of those in a sequence."""
    while kind.HasField("sequence_type"):
        kind = kind.sequence_type.elem_type
    if kind.HasField("tensor_type"):
        kind.tensor_type.ClearField("shape")


def with_numbers(bare: ModelProto, numbers: Mapping[str, int]) -> ModelProto:
    """The same skeleton with symbols replaced by numbers."""
    bound = ModelProto()
    bound.CopyFrom(bare)
    for value in _values(bound.graph):
        for dim in _dims(value.type):
            if dim.dim_param in numbers:
                dim.dim_value = numbers[dim.dim_param]
    return bound


def infer_types(bare: ModelProto) -> dict[str, TensorType]:
    """The type of every value of the main graph whose rank is found; a size that has no name gets a new symbol."""
    follows_values = has_near_steps(bare)
    asked: ModelProto | None = without_narrow_casts(bare) if follows_values else bare
    while asked is not None:
        inferred = _inferred(asked, follows_values)
        asked = without_misjudged(inferred, asked)
    used = {dim.dim_param for value in _values(inferred.graph) for dim in _dims(value.type)}
    fresh = (name for name in (f"computed_{number}" for number in count()) if name not in used)
    return {value.name: tensor_type(value.type, lambda: next(fresh)) for value in _values(inferred.graph)}


def _inferred(bare: ModelProto, follows_values: bool) -> ModelProto:
    try:
        return shape_inference.infer_shapes(bare, strict_mode=False, data_prop=follows_values)
    except (shape_inference.InferenceError, checker.ValidationError, ValueError, RuntimeError):
        return bare


def tensor_type(kind: TypeProto, fresh: Callable[[], str]) -> TensorType:
    """The type of a value; UNKNOWN_TYPE when it is no tensor or has no rank."""
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return UNKNOWN_TYPE
    name = element_name(kind.tensor_type.elem_type)
    return UNKNOWN_TYPE if name == UNKNOWN else TensorType(name, tuple(_dim(dim, fresh) for dim in _dims(kind)))


def _dim(dim: TensorShapeProto.Dimension, fresh: Callable[[], str]) -> Dim:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return int(dim.dim_value)
    return symbol(dim.dim_param or fresh())
