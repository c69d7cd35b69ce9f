"""Candidates from ONNX's own functions: an element-wise operator equals what the standard's body for it computes.

Exporters and inliners leave such bodies in models, constants and all. They are read as any model is; the verifier
proves that the operator means what they compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from taso_opt.core.literal import literal, literal_value
from taso_opt.core.rule import Rule
from taso_opt.core.term import OPAQUE, Apply, Const, Term, Var, postorder
from taso_opt.core.types import REAL, TensorType
from taso_opt.errors import SpecError, TasoError, TypeMismatch
from taso_opt.generate.equations.subsume import subsumes
from taso_opt.generate.scalar.functions import of_any_shape, operations, with_images
from taso_opt.generate.schemes.definitions import multiplies_by_one
from taso_opt.onnx_io import (
    OLDEST_IR,
    ModelProto,
    newest_opset,
    opsets_with_body,
    read_model,
    standalone_model,
    with_body,
)
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Operator
from taso_opt.spec.shared.shapes import any_shape
from taso_opt.spec.text import format_rule

DTYPE, SHAPE = "float32", (2, 3)

NUMBERS = (Fraction(5, 16), Fraction(11, 16))
"""What stands for numbers that are operands here and attributes or constants in ONNX: floats that no body has."""


def discover_bodies(library: SpecLibrary, operators: frozenset[str], known: Sequence[Rule]) -> tuple[Rule, ...]:
    """What ONNX's functions say of the named operators with these alone, in the order of the text form.

    What equations that are `known` say already, without a condition, is left out.
    """
    builder = library.builder()
    known = [one for one in known if not one.conditions]
    named = (library.operators[name] for name in sorted(operators))
    terms = (term for operator in named if operator.elementwise for term in _applications(builder, operator))
    rules = (_equation(builder, term, body) for term in terms for body in said_by_onnx(library, term))
    found = {format_rule(rule): rule for rule in rules if rule.operators <= operators and _is_said_so(rule)}
    new = (text for text in sorted(found) if not any(subsumes(one, found[text], builder) for one in known))
    return tuple(found[text] for text in new)


def _is_said_so(rule: Rule) -> bool:
    """Whether nothing is multiplied by one, as in a body whose factor is an attribute: models have that no more."""
    return not any(map(multiplies_by_one, rule.roots))


def said_by_onnx(library: SpecLibrary, term: Apply) -> Iterator[Term]:
    """The body of ONNX's function for the operator of a term, once for each version that has another one.

    The term has variables of `DTYPE` and numbers; its bodies are made of the same. Bodies with something that no
    specification covers are left out.
    """
    newest = _written(library, term, newest_opset())
    opsets = opsets_with_body(newest.graph.node[0].op_type) if newest is not None else ()
    found: dict[Term, None] = {}
    for opset in opsets:
        written = _written(library, term, opset)
        with suppress(TasoError):
            body = None if written is None else with_body(written)
            said = None if body is None else _read(body, library, term)
            if said is not None:
                found[said] = None
    yield from found


def _written(library: SpecLibrary, term: Apply, opset: int) -> ModelProto | None:
    """A model of the term as one node; None where it cannot be said so in a version of ONNX."""
    try:
        written = standalone_model(library.builder(), [term], opset=opset, ir_version=OLDEST_IR)
    except SpecError:
        return None
    proto = ModelProto.FromString(written)
    return proto if len(proto.graph.node) == 1 else None


def _read(proto: ModelProto, library: SpecLibrary, term: Apply) -> Term | None:
    """What a model computes, in the variables of a term; None where something is no number or has no specification."""
    with TemporaryDirectory(prefix="tasoopt-body-") as folder:
        path = Path(folder) / "body.onnx"
        path.write_bytes(proto.SerializeToString())
        model = read_model(path, library)
        (said,) = model.graph.outputs
        variables = [one for one in postorder([term]) if isinstance(one, Var)]
        images: dict[Term, Term] = dict(zip(model.graph.inputs, variables, strict=True))
        for part in postorder([said]):
            if isinstance(part, Const):
                value = model.literal(part)
                if value is None:
                    return None
                images[part] = literal(value, DTYPE)
            elif isinstance(part, Apply) and part.operator == OPAQUE:
                return None
    return with_images(library.builder(), said, images)


def _applications(builder: Builder, operator: Operator) -> Iterator[Apply]:
    """The operator on variables of one shape, or on one and numbers, at every choice of its parameters."""
    if operator.weights_only or operator.arity is None:
        return
    numbers = [literal(number, DTYPE) for number in NUMBERS[: operator.arity - 1]] if operator.numbers else []
    variables = [Var(name, TensorType(DTYPE, SHAPE)) for name in "xst"[: operator.arity - len(numbers)]]
    for operation in operations(operator):
        with suppress(TypeMismatch):  # what chooses takes truth values
            yield builder.apply(operator.name, (*variables, *numbers), operation.attributes)


def _equation(builder: Builder, term: Apply, body: Term) -> Rule:
    """The equation of an operator and its body, of any shapes and numbers."""
    named = dict(zip(NUMBERS, "st", strict=True))
    images: dict[Term, Term] = {}
    for part in postorder([term, body]):
        value = literal_value(part)
        if isinstance(part, Var):
            images[part] = Var(part.name, TensorType(REAL, (any_shape(part.name),)))
        elif value is not None:
            images[part] = Var(named[value], TensorType(REAL, ())) if value in named else literal(value)
    left, right = (with_images(builder, side, images) for side in (term, body))
    return of_any_shape(builder, Rule((left,), (right,)))
