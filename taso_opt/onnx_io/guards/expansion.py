"""How large a model becomes when its local functions are put in place of their calls."""

from __future__ import annotations

from collections.abc import Iterable

from onnx import FunctionProto, ModelProto, NodeProto

from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io.scopes import function_nodes, nested_nodes

LARGEST_EXPANSION = 1_000_000
"""Nodes; thirty functions that each call the next one twice make a thousand times as many."""

Key = tuple[str, str, str]


def check_expansion(model: ModelProto) -> int:
    """How many nodes a model has with all calls replaced; linear time.

    Refuses functions that share a name, call themselves or expand to too many nodes: raises InvalidInputError.
    """
    functions = {(function.domain, function.name, function.overload): function for function in model.functions}
    if len(functions) < len(model.functions):
        raise InvalidInputError("expected functions of different names, found two of the same")
    sizes: dict[Key, int] = {}
    for key in functions:
        _measure(key, functions, sizes)
    total = _expanded(nested_nodes(model.graph.node), sizes)
    if total > LARGEST_EXPANSION:
        raise InvalidInputError(f"expected functions that expand to at most {LARGEST_EXPANSION} nodes, found more")
    return total


def _measure(first: Key, functions: dict[Key, FunctionProto], sizes: dict[Key, int]) -> None:
    """Find the size of one function and of all that it calls, without recursion."""
    stack, open_calls = [first], set[Key]()
    while stack:
        key = stack[-1]
        if key in sizes:
            stack.pop()
            continue
        called = {call for node in function_nodes(functions[key]) if (call := _key(node)) in functions}
        missing = [call for call in called if call not in sizes]
        if not missing:
            sizes[key] = _expanded(function_nodes(functions[key]), sizes)
            open_calls.discard(key)
        elif key in open_calls and any(call in open_calls for call in missing):
            raise InvalidInputError(f"expected functions that do not call themselves, found {key[1]!r}")
        else:
            open_calls.add(key)
            stack.extend(missing)


def _expanded(nodes: Iterable[NodeProto], sizes: dict[Key, int]) -> int:
    return min(sum(sizes.get(_key(node), 1) for node in nodes), LARGEST_EXPANSION + 1)


def _key(node: NodeProto) -> Key:
    return node.domain, node.op_type, node.overload
