"""Turns the application of a declared operator into an ONNX node, and tells what a node states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from onnx import NodeProto, helper

from taso_opt.core.dims import Size
from taso_opt.core.literal import literal_value
from taso_opt.core.term import Apply, Term, attributes_of, is_constant, postorder
from taso_opt.errors import SpecError
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array, OnnxCall, WriteContext


def spelled(
    builder: Builder, term: Apply, opset: int, value_of: Callable[[Term], Fraction | None] = literal_value
) -> OnnxCall | None:
    """How ONNX says a term, sizes in its attributes bound as the builder says; None when it cannot at this opset.

    `value_of` tells the value of a constant of one element, None for every other term.
    """
    operator = builder.operator(term)
    if operator is None or operator.spelling.write is None:
        return None
    bound = Apply(term.operator, term.args, attributes_of(builder.bound_attributes(term)))
    try:
        call = operator.spelling.write(bound, WriteContext(opset, builder.type, value_of))
    except SpecError:
        return None
    return None if call is None or any(map(_has_size, call.attributes.values())) else call


def _has_size(value: Any) -> bool:
    """Whether a symbolic size is left in an attribute, which ONNX cannot write there."""
    return isinstance(value, Size) or (isinstance(value, list | tuple) and any(map(_has_size, value)))


def ordered_operands(builder: Builder, term: Apply, call: OnnxCall, constant: Callable[[Term], bool]) -> OnnxCall:
    """The same call with constants behind the other operands, where the operator lets us choose.

    The runtime recognises `MatMul(x, W) + b` and the like in that order everywhere, in the other order not always.
    """
    operator = builder.operator(term)
    if operator is None or not operator.commutative:
        return call
    inputs = sorted(call.inputs, key=lambda operand: isinstance(operand, Term) and constant(operand))
    return OnnxCall(call.op_type, tuple(inputs), call.attributes, call.output_count)


def node_of(
    call: OnnxCall, name: str, outputs: Sequence[str], value: Callable[[Term], str], array: Callable[[Array], str]
) -> NodeProto:
    """The node of a call; `value` names the terms among its operands, `array` the values that become constants."""
    inputs = []
    for operand in call.inputs:
        if operand is None:
            inputs.append("")
        elif isinstance(operand, Term):
            inputs.append(value(operand))
        else:
            inputs.append(array(operand))
    return helper.make_node(call.op_type, inputs, list(outputs), name=name, **call.attributes)


def folded_terms(builder: Builder, roots: Sequence[Term], opset: int) -> set[Term]:
    """The constant terms whose values stand in a file: all but those that the runtime computes when it loads a model.

    Such are weights that are larger than what they are made of, where ONNX can say how, and what is made of these, if
    ONNX can say that as well.
    """
    folded: set[Term] = set()

    def is_left(term: Term) -> bool:
        operator = builder.operator(term) if isinstance(term, Apply) else None
        larger = operator is not None and operator.weights_only
        if not larger and folded.issuperset(term.children):
            return False
        return not isinstance(term, Apply) or spelled(builder, term, opset) is not None

    for term in postorder(constant_terms(roots)):
        if not is_left(term):
            folded.add(term)
    return folded


def constant_terms(roots: Sequence[Term]) -> set[Term]:
    """The terms that are made of constants and declared operators only, so that their value can be computed now."""
    return {term for term in postorder(roots) if is_constant(term)}


def node_attributes(node: NodeProto) -> dict[str, Any]:
    """Attributes as Python values, text decoded."""
    return {attribute.name: _decoded(helper.get_attribute_value(attribute)) for attribute in node.attribute}


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [_decoded(part) for part in value] if isinstance(value, list) else value
