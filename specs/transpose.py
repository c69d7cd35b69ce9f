"""Permutation of axes; the attribute lists the moved last axes, counted from the end, so that it fits any rank.

`perm=(-1, -2)` swaps the last two axes of a tensor of any rank; ONNX spells it with the full list of axes.
"""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, axiom
from taso_opt.spec.shapes import is_star


def infer(x, perm):
    width = len(perm)
    if sorted(perm) != list(range(-width, 0)) or perm[:1] == (-width,):
        raise TypeMismatch(f"expected a permutation of the last axes that moves the first of them, found {perm}")
    if width > x.rank or any(is_star(dim) for dim in x.shape[-width:]):
        raise TypeMismatch(f"expected a tensor of rank at least {width} for Transpose, found {x}")
    return TensorType(x.dtype, (*x.shape[: x.rank - width], *(x.shape[axis] for axis in perm)))


def evaluate(xp, x, perm):
    rank = len(xp.shape(x))
    return xp.transpose(x, [*range(rank - len(perm)), *(rank + axis for axis in perm)])


def read(op, node):
    kind = node.types[0]
    if kind is None:
        return None
    full = node.attribute("perm", list(range(kind.rank))[::-1])
    moved = next((axis for axis in range(kind.rank) if full[axis] != axis), kind.rank)
    perm = tuple(axis - kind.rank for axis in full[moved:])
    return op.Transpose(node.inputs[0], perm=perm) if perm else node.inputs[0]


def write(term, context):
    (x,) = term.args
    rank = context.type_of(x).rank
    perm = term.attribute("perm")
    return OnnxCall("Transpose", (x,), {"perm": [*range(rank - len(perm)), *(rank + axis for axis in perm)]})


OPERATOR = Operator(
    "Transpose",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Transpose",), read, write),
    arity=1,
    arithmetic=False,
    choices={"matrix": ({"perm": (-1, -2)},), "image": ({"perm": (-1, -2)}, {"perm": (-2, -3, -1)})},
)


@axiom(perm=((-1, -2),))
def transpose_undoes_itself(op, x: "*b m n", perm):
    return op.Transpose(op.Transpose(x, perm=perm), perm=perm), x


@axiom("x: m k; y: k n")
def transpose_of_matmul(op, x: "*b m k", y: "*b k n"):
    swap = (-1, -2)
    swapped = op.MatMul(op.Transpose(y, perm=swap), op.Transpose(x, perm=swap))
    return op.Transpose(op.MatMul(x, y), perm=swap), swapped


@axiom("y: ", perm=((-1, -2), (-2, -3, -1)))
def transpose_of_add(op, x: "*b l m n", y: "*b l m n", perm):
    moved = [op.Transpose(operand, perm=perm) if op.type(operand).rank else operand for operand in (x, y)]
    return op.Transpose(op.Add(x, y), perm=perm), op.Add(*moved)


@axiom("y: ", perm=((-1, -2), (-2, -3, -1)))
def transpose_of_mul(op, x: "*b l m n", y: "*b l m n", perm):
    moved = [op.Transpose(operand, perm=perm) if op.type(operand).rank else operand for operand in (x, y)]
    return op.Transpose(op.Mul(x, y), perm=perm), op.Mul(*moved)


@axiom()
def transpose_of_joined_columns(op, x: "*b m n", y: "*b m p"):
    swap = (-1, -2)
    joined = op.Concat(op.Transpose(x, perm=swap), op.Transpose(y, perm=swap), axis=-2)
    return op.Transpose(op.Concat(x, y, axis=-1), perm=swap), joined


@axiom()
def transpose_of_stacked_rows(op, x: "*b m n", y: "*b p n"):
    swap = (-1, -2)
    joined = op.Concat(op.Transpose(x, perm=swap), op.Transpose(y, perm=swap), axis=-1)
    return op.Transpose(op.Concat(x, y, axis=-2), perm=swap), joined
