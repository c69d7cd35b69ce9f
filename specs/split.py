"""Split along an axis counted from the end into parts of the given sizes."""

from functools import reduce
from itertools import accumulate
from operator import add

import numpy as np

from taso_opt.core.dims import symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import Axiom, OnnxCall, Operator, Spelling, axiom
from taso_opt.spec.shared.elementwise import CONCAT_AXES, PERMUTATIONS, items
from taso_opt.spec.shared.joining import halves, laws_of_cut_operands, scheme_of
from taso_opt.spec.shared.shapes import axis_from_end, is_star

N, P, Q = symbol("n"), symbol("p"), symbol("q")
TOLD_SINCE = 18
"""The opset since which a node tells how many equal parts there are; before, its outputs do."""


def infer(x, axis, sizes):
    if not -x.rank <= axis < 0 or any(is_star(dim) for dim in x.shape[axis:]):
        raise TypeMismatch(f"expected a tensor with axis {axis} for Split, found {x}")
    if reduce(add, sizes) != x.shape[axis]:
        raise TypeMismatch(f"expected sizes that sum to {x.shape[axis]} for Split, found {list(sizes)}")
    at = axis + x.rank
    return tuple(TensorType(x.dtype, (*x.shape[:at], size, *x.shape[at + 1 :])) for size in sizes)


def evaluate(xp, x, axis, sizes):
    stops = accumulate(sizes)
    return tuple(xp.slice(x, axis, stop - size, stop) for stop, size in zip(stops, sizes, strict=True))


def read(op, node):
    kind = node.types[0]
    if kind is None:
        return None
    axis = axis_from_end(node.attribute("axis", 0), kind.rank)
    sizes = _sizes(node, kind.shape[axis])
    if sizes is None:
        return None
    split = op.Split(node.inputs[0], axis=axis, sizes=sizes)
    return tuple(op.item(split, index) for index in range(len(sizes)))


def _sizes(node, total):
    if len(node.inputs) > 1 and node.inputs[1] is not None:
        return None if node.constants[1] is None else tuple(int(size) for size in node.constants[1])
    if "split" in node.attributes:
        return tuple(int(size) for size in node.attributes["split"])
    if isinstance(total, int):
        chunk = -(-total // node.output_count)
        return tuple(min(chunk, total - chunk * index) for index in range(node.output_count))
    chunk = total // node.output_count
    return (chunk,) * node.output_count if chunk * node.output_count == total else None


def write(term, context):
    sizes = term.attribute("sizes")
    axis = term.attribute("axis") + context.type_of(term.args[0]).rank
    if not all(isinstance(size, int) for size in sizes):
        return _equal_parts(term, axis, context) if len(set(sizes)) == 1 else None
    if context.opset < 13:
        return OnnxCall("Split", term.args, {"axis": axis, "split": list(sizes)}, len(sizes))
    return OnnxCall("Split", (*term.args, np.array(sizes, np.int64)), {"axis": axis}, len(sizes))


def _equal_parts(term, axis, context):
    """A split whose parts have a size that only a run knows: as many as there are outputs, of one size."""
    count = len(term.attribute("sizes"))
    told = {"num_outputs": count} if context.opset >= TOLD_SINCE else {}
    return OnnxCall("Split", term.args, {"axis": axis, **told}, count)


OPERATOR = Operator(
    "Split",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Split",), read, write),
    arity=1,
    arithmetic=False,
    outputs=2,
)


@axiom(axis=CONCAT_AXES)
def split_undoes_concat(op, x: "*b @n", y: "*b @p", axis):
    return items(op.Split(op.Concat(x, y, axis=axis), axis=axis, sizes=(N, P))), (x, y)


@axiom(axis=CONCAT_AXES)
def concat_undoes_split(op, x: "*b @n+p", axis):
    return op.Concat(*items(op.Split(x, axis=axis, sizes=(N, P))), axis=axis), x


@axiom(axis=CONCAT_AXES)
def split_of_three_is_nested(op, x: "*b @n+p+q", axis):
    whole = op.Split(x, axis=axis, sizes=(N, P, Q))
    head, last = items(op.Split(x, axis=axis, sizes=(N + P, Q)))
    return tuple(op.item(whole, part) for part in range(3)), (*items(op.Split(head, axis=axis, sizes=(N, P))), last)


@axiom("y: k m")
def split_rows_share_a_right_factor(op, x: "*b n+p k", y: "*b k m"):
    parts = items(op.Split(x, axis=-2, sizes=(N, P)))
    return items(op.Split(op.MatMul(x, y), axis=-2, sizes=(N, P))), tuple(op.MatMul(part, y) for part in parts)


@axiom("y: k n+p")
def split_columns_share_a_left_factor(op, x: "*b m k", y: "*b k n+p"):
    parts = items(op.Split(y, axis=-1, sizes=(N, P)))
    return items(op.Split(op.MatMul(x, y), axis=-1, sizes=(N, P))), tuple(op.MatMul(x, part) for part in parts)


@axiom()
def transpose_of_split_columns(op, x: "*b m n+p"):
    swap = (-1, -2)
    parts = items(op.Split(x, axis=-1, sizes=(N, P)))
    moved = items(op.Split(op.Transpose(x, perm=swap), axis=-2, sizes=(N, P)))
    return moved, tuple(op.Transpose(part, perm=swap) for part in parts)


@axiom(axis=(-3, -4), perm=((-1, -2),))
def transpose_of_split_batch(op, x: "*b @n+p", axis, perm):
    moved = halves(op, op.Transpose(x, perm=perm), axis)
    return moved, tuple(op.Transpose(part, perm=perm) for part in halves(op, x, axis))


@axiom()
def transpose_of_split_rows(op, x: "*b n+p m"):
    swap = (-1, -2)
    moved = halves(op, op.Transpose(x, perm=swap), -1)
    return moved, tuple(op.Transpose(part, perm=swap) for part in halves(op, x, -2))


def _split_of_concat(cut, joined):
    def law(op, x, y):
        parts = zip(halves(op, x, cut), halves(op, y, cut), strict=True)
        return halves(op, op.Concat(x, y, axis=joined), cut), tuple(op.Concat(u, v, axis=joined) for u, v in parts)

    schemes = {name: scheme_of({cut: "n+p", joined: size}) for name, size in (("x", "k"), ("y", "l"))}
    return Axiom(f"split_along_{-cut}_of_concat_along_{-joined}", law, (schemes,), {})


def _split_of_permutation(perm, axis):
    """A split commutes with a permutation of axes; `axis` is where the permutation takes the split's axis from."""
    moved = perm.index(axis) - len(perm) if axis >= -len(perm) else axis

    def law(op, x):
        parts = tuple(op.Transpose(part, perm=perm) for part in halves(op, x, axis))
        return halves(op, op.Transpose(x, perm=perm), moved), parts

    name = f"split_of_permutation_{''.join(str(-place) for place in perm)}_along_{-axis}"
    return Axiom(name, law, ({"x": scheme_of({-len(perm): "l", axis: "n+p"})},), {})


def _split_of_split(first, second):
    """Cuts along two axes can be made in either order."""
    parts, pieces = (N, P), (Q, symbol("r"))

    def law(op, x):
        left = [op.Split(part, axis=second, sizes=pieces) for part in items(op.Split(x, axis=first, sizes=parts))]
        right = [op.Split(part, axis=first, sizes=parts) for part in items(op.Split(x, axis=second, sizes=pieces))]
        both = [(a, b) for a in range(2) for b in range(2)]
        return tuple(op.item(left[a], b) for a, b in both), tuple(op.item(right[b], a) for a, b in both)

    name = f"splits_along_{-first}_and_{-second}_commute"
    return Axiom(name, law, ({"x": scheme_of({first: "n+p", second: "q+r"})},), {})


AXIOMS = (
    *laws_of_cut_operands(),
    *(_split_of_concat(cut, joined) for cut in CONCAT_AXES for joined in CONCAT_AXES if cut != joined),
    *(_split_of_split(first, second) for first in CONCAT_AXES for second in CONCAT_AXES if first < second),
    *(_split_of_permutation(perm, axis) for perm in PERMUTATIONS for axis in CONCAT_AXES),
)
