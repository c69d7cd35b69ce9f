"""Refuses equations of Einsum that ONNX's own shape inference reads without an end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onnx import AttributeProto, ModelProto, NodeProto

from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io.scopes import STANDARD, function_nodes, nodes_of

OPERATOR, ATTRIBUTE = "Einsum", "equation"
OPERAND = re.compile(r"[^.]*(\.\.\.)?[^.]*")
"""What stands between two commas or in front of the arrow: dots are an ellipsis, and there is one at most."""


def check_equations(model: ModelProto) -> None:
    """Raise InvalidInputError for a dot that is no part of an ellipsis in the operands of an equation.

    ONNX's shape inference never comes back from such an equation, and the runtime uses the same.
    """
    for attribute in _equations(model):
        operands, _, _ = attribute.s.decode(errors="replace").partition("->")
        if not all(OPERAND.fullmatch(operand) for operand in operands.split(",")):
            raise InvalidInputError(f"expected an equation of letters and ellipses for Einsum, found {operands!r}")


def _equations(model: ModelProto) -> Iterator[AttributeProto]:
    """The equations of all nodes, and what may become one: a local function can take it from its caller."""
    functions = {(function.domain, function.name) for function in model.functions}
    names = _names_of_equations(model)

    def may_have_one(node: NodeProto) -> bool:
        is_einsum = node.op_type == OPERATOR and node.domain in STANDARD
        return is_einsum or (node.domain, node.op_type) in functions

    for node in filter(may_have_one, nodes_of(model)):
        yield from (attribute for attribute in node.attribute if attribute.name in names)
    for function in model.functions:
        yield from (attribute for attribute in function.attribute_proto if attribute.name in names)


def _names_of_equations(model: ModelProto) -> set[str]:
    """The names under which local functions hand an equation on, and its own."""
    references = [
        (attribute.name, attribute.ref_attr_name)
        for function in model.functions
        for node in function_nodes(function)
        for attribute in node.attribute
        if attribute.ref_attr_name
    ]
    names, before = {ATTRIBUTE}, 0
    while len(names) > before:
        before = len(names)
        names.update(outer for inner, outer in references if inner in names)
    return names
