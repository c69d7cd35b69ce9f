"""What ONNX says by functions of its own: for some operators the standard has a body of simpler ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onnx import FunctionProto, ModelProto, NodeProto, defs, helper, shape_inference

from taso_opt.onnx_io.scopes import opset_of
from taso_opt.onnx_io.tidying.tidy import tidied


def newest_opset() -> int:
    """The newest version of ONNX's operators that the library knows."""
    return int(defs.onnx_opset_version())


def opsets_with_body(op_type: str) -> tuple[int, ...]:
    """The versions of ONNX's operators for which the standard has a function for one of them."""
    found: set[int] = set()
    schemas: Sequence[Any] = defs.get_all_schemas_with_history()
    for schema in schemas:
        if schema.name == op_type and not schema.domain:
            versions = (*schema.function_opset_versions, *schema.context_dependent_function_opset_versions)
            found.update(max(version, schema.since_version) for version in versions)
    return tuple(sorted(found))


def with_body(proto: ModelProto) -> ModelProto | None:
    """A model of one node with the body of ONNX's function for that in its place; None where there is none.

    Constants of the body are computed, and conversions to the type that is there are gone. Raises UnsupportedError
    where the libraries cannot do it.
    """
    body = _body(proto.graph.node[0], proto) if len(proto.graph.node) == 1 else None
    if body is None:
        return None
    result = ModelProto()
    result.CopyFrom(proto)
    del result.graph.node[:]
    result.graph.node.extend(_called(body, proto.graph.node[0], opset_of(proto)))
    result = shape_inference.infer_shapes(result)
    cleaned = tidied(result)
    return result if cleaned is None else cleaned.model


def _body(node: NodeProto, proto: ModelProto) -> FunctionProto | None:
    opset = opset_of(proto)
    schema: Any = defs.get_schema(node.op_type, opset, node.domain)
    said = b""
    if schema.has_function:
        version = _latest(schema.function_opset_versions, opset)
        said = schema.get_function_with_opset_version(version)
    elif schema.has_context_dependent_function:
        version, types = _latest(schema.context_dependent_function_opset_versions, opset), _types(proto)
        known = [types.get(name, b"") for name in node.input]
        said = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), known)
    return FunctionProto.FromString(said) if said else None


def _latest(versions: Sequence[int], opset: int) -> int:
    return max(version for version in versions if version <= opset)


def _types(proto: ModelProto) -> dict[str, bytes]:
    stated = {value.name: value.type.SerializeToString() for value in proto.graph.input}
    weights = (
        (one.name, helper.make_tensor_type_proto(one.data_type, one.dims).SerializeToString())
        for one in proto.graph.initializer
    )
    return stated | dict(weights)


def _called(body: FunctionProto, node: NodeProto, opset: int) -> Iterator[NodeProto]:
    """The nodes of a function's body with what a call gives: values by their names there, attributes, or defaults."""
    schema = defs.get_schema(node.op_type, opset, node.domain)
    attributes = {name: one.default_value for name, one in schema.attributes.items() if one.default_value.name}
    attributes |= {one.name: one for one in node.attribute}
    given = dict(zip(body.input, node.input, strict=False))
    names = {name: given.get(name, "") for name in body.input} | dict(zip(body.output, node.output, strict=False))
    for inner in body.node:
        result = NodeProto()
        result.CopyFrom(inner)
        result.input[:] = [names.get(name, name) for name in inner.input]
        result.output[:] = [names.get(name, name) for name in inner.output]
        for one in result.attribute:
            if one.ref_attr_name:
                value = helper.get_attribute_value(attributes[one.ref_attr_name])
                one.CopyFrom(helper.make_attribute(one.name, value))
        yield result
