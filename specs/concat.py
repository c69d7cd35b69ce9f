"""Concatenation along an axis counted from the end.

ONNX joins any number of tensors; a longer list means nested pairs, which associativity makes unambiguous.
"""

from functools import reduce
from operator import add

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import Axiom, OnnxCall, Operator, Spelling, axiom
from taso_opt.spec.shared.elementwise import CONCAT_AXES
from taso_opt.spec.shared.joining import laws_of_joined_operands, scheme_of
from taso_opt.spec.shared.shapes import axis_from_end, is_star, same_dims, same_dtype


def infer(*parts, axis):
    ranks = {part.rank for part in parts}
    if len(ranks) != 1 or not -ranks.copy().pop() <= axis < 0:
        shapes = ", ".join(map(str, parts))
        raise TypeMismatch(f"expected parts of one rank with axis {axis} for Concat, found {shapes}")
    dtype, first = same_dtype(*parts), parts[0].shape
    axis += len(first)
    for part in parts[1:]:
        same_dims("other sizes of Concat", part.shape[:axis], first[:axis])
        same_dims("other sizes of Concat", part.shape[axis + 1 :], first[axis + 1 :])
    sizes = [part.shape[axis] for part in parts]
    if any(is_star(size) for size in (*sizes, *first[axis:])):
        raise TypeMismatch(f"expected sizes along the axis of Concat, found {parts[0]}")
    return TensorType(dtype, (*first[:axis], reduce(add, sizes), *first[axis + 1 :]))


def evaluate(xp, *parts, axis):
    return xp.concatenate(parts, axis)


def read(op, node):
    if node.types[0] is None or None in node.inputs:
        return None
    return op.Concat(*node.inputs, axis=axis_from_end(node.attribute("axis", 0), node.types[0].rank))


def write(term, context):
    axis = term.attribute("axis") + context.type_of(term).rank
    return OnnxCall("Concat", term.args, {"axis": axis})


OPERATOR = Operator(
    "Concat",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Concat",), read, write),
    arity=None,
    arithmetic=False,
    choices={
        "matrix": tuple({"axis": axis} for axis in (-1, -2)),
        "image": tuple({"axis": axis} for axis in (-3, -4)),
    },
)


@axiom(axis=CONCAT_AXES)
def concat_is_associative(op, x: "*b @n", y: "*b @p", z: "*b @q", axis):
    left = op.Concat(op.Concat(x, y, axis=axis), z, axis=axis)
    return left, op.Concat(x, op.Concat(y, z, axis=axis), axis=axis)


@axiom(axis=CONCAT_AXES)
def concat_of_three_is_nested(op, x: "*b @n", y: "*b @p", z: "*b @q", axis):
    return op.Concat(x, y, z, axis=axis), op.Concat(op.Concat(x, y, axis=axis), z, axis=axis)


def _concat_of_concats(outer, inner):
    def law(op, x, y, z, w):
        left = op.Concat(op.Concat(x, y, axis=inner), op.Concat(z, w, axis=inner), axis=outer)
        return left, op.Concat(op.Concat(x, z, axis=outer), op.Concat(y, w, axis=outer), axis=inner)

    sizes = {"x": ("m", "n"), "y": ("m", "p"), "z": ("l", "n"), "w": ("l", "p")}
    schemes = {name: scheme_of({outer: row, inner: column}) for name, (row, column) in sizes.items()}
    return Axiom(f"concat_along_{-outer}_of_concats_along_{-inner}", law, (schemes,), {})


AXIOMS = (
    *laws_of_joined_operands(),
    *(_concat_of_concats(outer, inner) for outer in CONCAT_AXES for inner in CONCAT_AXES if outer < inner),
)
