"""Puts the bodies of a model's local functions in place of their calls, which is what a call means.

onnx-ir does the work, on a copy without weights. What it does not do by ONNX's definition is kept from it: functions
written for other versions of operators, and such that define an operator of ONNX anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import FunctionProto, ModelProto, NodeProto, TensorProto

from taso_opt.errors import UnsupportedError
from taso_opt.onnx_io.files.load import one_line
from taso_opt.onnx_io.guards.expansion import check_expansion
from taso_opt.onnx_io.scopes import STANDARD, function_nodes, initializer_names, nested_nodes

MOST_NODES = 20_000
"""That there may be once all calls are replaced; the library takes a millisecond for each."""

Key = tuple[str, str, str]


def without_calls(proto: ModelProto) -> ModelProto | None:
    """A copy in which calls of local functions are replaced by what these do; None where there is none to replace.

    Functions that nothing calls any more are gone; all else is as it was. Raises UnsupportedError where the library
    cannot do it.
    """
    replaceable = [function for function in proto.functions if _is_replaceable(function, proto)]
    keys = {_key_of(function) for function in replaceable}
    if not any(_key(node) in keys for node in nested_nodes(proto.graph.node)) or check_expansion(proto) > MOST_NODES:
        return None
    try:
        nodes = _replaced(proto, replaceable)
    except Exception as error:
        raise UnsupportedError(f"expected onnx-ir to replace calls of functions, found: {one_line(error)}") from error
    result = ModelProto()
    result.CopyFrom(proto)
    del result.graph.node[:], result.functions[:]
    result.graph.node.extend(nodes)
    result.functions.extend(_called(nodes, proto.functions))
    return result


def _is_replaceable(function: FunctionProto, proto: ModelProto) -> bool:
    """Whether the operators of a function mean in the model what they mean in it."""
    versions = {entry.domain: entry.version for entry in proto.opset_import}
    return function.domain not in STANDARD and all(
        versions.get(entry.domain) == entry.version for entry in function.opset_import
    )


def _replaced(proto: ModelProto, functions: Iterable[FunctionProto]) -> list[NodeProto]:
    import onnx_ir
    from onnx_ir.passes.common import InlinePass

    bare = ModelProto(ir_version=proto.ir_version, opset_import=proto.opset_import, functions=functions)
    graph = bare.graph
    graph.name = proto.graph.name
    graph.input.extend(proto.graph.input)
    graph.output.extend(proto.graph.output)
    graph.node.extend(proto.graph.node)
    graph.initializer.extend(
        TensorProto(name=name, data_type=TensorProto.FLOAT, dims=(0,)) for name in initializer_names(proto.graph)
    )
    model = onnx_ir.serde.deserialize_model(bare)
    InlinePass()(model)
    result: ModelProto = onnx_ir.serde.serialize_model(model)
    return list(result.graph.node)


def _called(nodes: Iterable[NodeProto], functions: Iterable[FunctionProto]) -> Iterator[FunctionProto]:
    """The functions that nodes call, and those that these call, in the order in which they stand."""
    known = {_key_of(function): function for function in functions}
    open_, called = list(nodes), set[Key]()
    while open_:
        for node in nested_nodes([open_.pop()]):
            key = _key(node)
            if key in known and key not in called:
                called.add(key)
                open_.extend(function_nodes(known[key]))
    return (function for key, function in known.items() if key in called)


def _key(node: NodeProto) -> Key:
    return node.domain, node.op_type, node.overload


def _key_of(function: FunctionProto) -> Key:
    return function.domain, function.name, function.overload
