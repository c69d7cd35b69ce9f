"""Permutation of axes; the attribute lists the moved last axes, counted from the end, so that it fits any rank.

`perm=(-1, -2)` swaps the last two axes of a tensor of any rank; ONNX spells it with the full list of axes.
"""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import Axiom, OnnxCall, Operator, Spelling, axiom
from taso_opt.spec.shared.axes import moved_axes
from taso_opt.spec.shared.elementwise import CONCAT_AXES, PERMUTATIONS, SWAP
from taso_opt.spec.shared.joining import scheme_of
from taso_opt.spec.shared.shapes import is_star


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
    perm = moved_axes(node.attribute("perm", list(range(kind.rank))[::-1]))
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


@axiom("x: m k", "y: k n", "x: *b l m k; y: l k n", "x: l m k; y: *b l k n")
def transpose_of_matmul(op, x: "*b m k", y: "*b k n"):
    swap = (-1, -2)
    swapped = op.MatMul(op.Transpose(y, perm=swap), op.Transpose(x, perm=swap))
    return op.Transpose(op.MatMul(x, y), perm=swap), swapped


@axiom("y: ", "y: m n", "y: *b m 1", perm=((-1, -2),))
def transpose_of_add(op, x: "*b m n", y: "*b m n", perm):
    return _elementwise(op, "Add", x, y, perm)


@axiom("y: ", perm=PERMUTATIONS)
def permutation_of_add(op, x: "*b l m n", y: "*b l m n", perm):
    return _elementwise(op, "Add", x, y, perm)


@axiom("y: ", "y: m n", "y: *b m 1", perm=((-1, -2),))
def transpose_of_mul(op, x: "*b m n", y: "*b m n", perm):
    return _elementwise(op, "Mul", x, y, perm)


@axiom("y: ", perm=PERMUTATIONS)
def permutation_of_mul(op, x: "*b l m n", y: "*b l m n", perm):
    return _elementwise(op, "Mul", x, y, perm)


@axiom("y: ", "x: ", "y: m n", "x: m n", "y: *b m 1", "x: *b m 1", perm=((-1, -2),))
def transpose_of_sub(op, x: "*b m n", y: "*b m n", perm):
    return _elementwise(op, "Sub", x, y, perm)


@axiom("y: ", "x: ", perm=PERMUTATIONS)
def permutation_of_sub(op, x: "*b l m n", y: "*b l m n", perm):
    return _elementwise(op, "Sub", x, y, perm)


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


@axiom(axis=(-3, -4))
def transpose_of_joined_batches(op, x: "*b @n", y: "*b @p", axis):
    swap = (-1, -2)
    joined = op.Concat(op.Transpose(x, perm=swap), op.Transpose(y, perm=swap), axis=axis)
    return op.Transpose(op.Concat(x, y, axis=axis), perm=swap), joined


@axiom(first=(SWAP, *PERMUTATIONS), second=(SWAP, *PERMUTATIONS))
def transposes_compose(op, x: "*b l m n", first, second):
    order = _after(_full(first), _full(second))
    both = _moved(order)
    return op.Transpose(op.Transpose(x, perm=first), perm=second), op.Transpose(x, perm=both) if both else x


@axiom()
def transpose_of_one_element(op, x: "*b 1 1"):
    return op.Transpose(x, perm=(-1, -2)), x


def _full(perm):
    return (*range(-3, -len(perm)), *perm)


def _after(first, second):
    return tuple(first[axis] for axis in second)


def _moved(order):
    """The permutation without the leading axes that stay in place."""
    start = next((at for at, axis in enumerate(order) if axis != at - len(order)), len(order))
    return order[start:]


def _permutation_of_concat(perm, axis):
    """A concatenation commutes with a permutation of axes; `axis` is the concatenation's before permuting."""
    moved = perm.index(axis) - len(perm) if axis >= -len(perm) else axis

    def law(op, x, y):
        joined = op.Concat(op.Transpose(x, perm=perm), op.Transpose(y, perm=perm), axis=moved)
        return op.Transpose(op.Concat(x, y, axis=axis), perm=perm), joined

    name = f"permutation_{''.join(str(-place) for place in perm)}_of_concat_along_{-axis}"
    schemes = {"x": scheme_of({-len(perm): "l", axis: "n"}), "y": scheme_of({-len(perm): "l", axis: "p"})}
    return Axiom(name, law, (schemes,), {})


AXIOMS = tuple(_permutation_of_concat(perm, axis) for perm in PERMUTATIONS for axis in CONCAT_AXES)


def _elementwise(op, name, x, y, perm):
    f = getattr(op, name)
    moved = [op.Transpose(operand, perm=perm) if op.type(operand).rank else operand for operand in (x, y)]
    return op.Transpose(f(x, y), perm=perm), f(*moved)
