"""Concatenation along an axis counted from the end.

ONNX joins any number of tensors; a longer list means nested pairs, which associativity makes unambiguous.
"""

from functools import reduce
from operator import add

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, axiom
from taso_opt.spec.elementwise import CONCAT_AXES
from taso_opt.spec.shapes import axis_from_end, is_star, same_dims, same_dtype


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


@axiom()
def concat_of_concats(op, x: "*b m n", y: "*b m p", z: "*b l n", w: "*b l p"):
    rows_of_columns = op.Concat(op.Concat(x, y, axis=-1), op.Concat(z, w, axis=-1), axis=-2)
    return rows_of_columns, op.Concat(op.Concat(x, z, axis=-2), op.Concat(y, w, axis=-2), axis=-1)


@axiom(axis=CONCAT_AXES)
def concat_of_adds(op, x: "*b @n", y: "*b @n", z: "*b @p", w: "*b @p", axis):
    return _elementwise(op, "Add", x, y, z, w, axis)


@axiom(axis=CONCAT_AXES)
def concat_of_subs(op, x: "*b @n", y: "*b @n", z: "*b @p", w: "*b @p", axis):
    return _elementwise(op, "Sub", x, y, z, w, axis)


@axiom(axis=CONCAT_AXES)
def concat_of_muls(op, x: "*b @n", y: "*b @n", z: "*b @p", w: "*b @p", axis):
    return _elementwise(op, "Mul", x, y, z, w, axis)


@axiom()
def concat_of_column_biases(op, x: "*b m n", y: "n", z: "*b m p", w: "p"):
    return _elementwise(op, "Add", x, y, z, w, -1)


@axiom()
def concat_of_column_scales(op, x: "*b m n", y: "n", z: "*b m p", w: "p"):
    return _elementwise(op, "Mul", x, y, z, w, -1)


@axiom("y: ")
def stacked_rows_share_a_bias(op, x: "*b m n", y: "n", z: "*b p n"):
    return op.Concat(op.Add(x, y), op.Add(z, y), axis=-2), op.Add(op.Concat(x, z, axis=-2), y)


@axiom("y: ")
def stacked_rows_share_a_scale(op, x: "*b m n", y: "n", z: "*b p n"):
    return op.Concat(op.Mul(x, y), op.Mul(z, y), axis=-2), op.Mul(op.Concat(x, z, axis=-2), y)


@axiom(axis=CONCAT_AXES)
def joined_parts_share_a_scalar_factor(op, x: "*b @n", s: "", z: "*b @p", axis):
    return op.Concat(op.Mul(x, s), op.Mul(z, s), axis=axis), op.Mul(op.Concat(x, z, axis=axis), s)


def _elementwise(op, name, x, y, z, w, axis):
    f = getattr(op, name)
    return op.Concat(f(x, y), f(z, w), axis=axis), f(op.Concat(x, z, axis=axis), op.Concat(y, w, axis=axis))
