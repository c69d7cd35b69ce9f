"""ONNX Einsum of two tensors is read as a matrix product between transposes and reshapes, of one as a sum."""

import re
from typing import NamedTuple

from taso_opt.core.dims import product
from taso_opt.spec import Spelling
from taso_opt.spec.axes import moved_axes

EQUATION = re.compile(r"(\w*),(\w*)->(\w*)")
OF_ONE = re.compile(r"(\w+)->(\w*)")


class Letters(NamedTuple):
    """Those of both operands and the result, of the first or the second one and the result, and of what is summed."""

    batches: str
    rows: str
    columns: str
    summed: str


def read(op, node):
    """A node whose letters each stand for one of these; diagonals and sums of one of two operands leave it opaque."""
    equation = node.attribute("equation", "").replace(" ", "")
    if None in node.types:
        return None
    alone, found = OF_ONE.fullmatch(equation), EQUATION.fullmatch(equation)
    if alone is not None:
        return _summed(op, node, *alone.groups())
    if found is None:
        return None
    first, second, result = found.groups()
    letters, sizes = _letters(first, second, result), _sizes((first, second), node.types)
    if letters is None or sizes is None:
        return None
    batches, rows, columns, summed = letters
    x = _with_axes(op, node.inputs[0], first, sizes, (*batches, rows, summed))
    y = _with_axes(op, node.inputs[1], second, sizes, (*batches, summed, columns))
    whole = _shaped(op, op.MatMul(x, y), sizes, batches + rows + columns)
    return _ordered(op, whole, batches + rows + columns, result)


def _summed(op, node, letters, result):
    """One tensor with axes in another order and sums over those that the result lacks; None for diagonals."""
    gone, sizes = [one for one in letters if one not in result], _sizes((letters,), node.types)
    if sizes is None or sorted(letters) != sorted((*result, *gone)):
        return None
    ordered = _ordered(op, node.inputs[0], letters, result + "".join(gone))
    if not gone:
        return ordered
    return _shaped(op, op.ReduceSum(ordered, axes=tuple(range(-len(gone), 0))), sizes, result)


def _letters(first, second, result):
    """The letters by what they stand for, in the order of the result; None where one stands for something else."""
    found = Letters(
        "".join(one for one in result if one in first and one in second),
        "".join(one for one in result if one in first and one not in second),
        "".join(one for one in result if one not in first and one in second),
        "".join(one for one in first if one in second and one not in result),
    )
    batches, rows, columns, summed = map(sorted, found)
    known = sorted(first) == sorted(batches + rows + summed) and sorted(second) == sorted(batches + summed + columns)
    return found if summed and known and sorted(result) == sorted(batches + rows + columns) else None


def _sizes(operands, types):
    """The size of each letter; None where operands have other ranks, or sizes that are not the same."""
    sizes = {}
    for letters, kind in zip(operands, types, strict=True):
        if len(letters) != kind.rank:
            return None
        if any(sizes.setdefault(letter, size) != size for letter, size in zip(letters, kind.shape, strict=True)):
            return None
    return sizes


def _with_axes(op, x, letters, sizes, axes):
    """A tensor with the axes of these letters, those of several joined to one."""
    return _shaped(op, _ordered(op, x, letters, "".join(axes)), sizes, axes)


def _ordered(op, x, letters, wanted):
    """A tensor with its axes in another order."""
    perm = moved_axes([letters.index(letter) for letter in wanted])
    return op.Transpose(x, perm=perm) if perm else x


def _shaped(op, x, sizes, axes):
    """A tensor in the shape in which each axis has the sizes of its letters."""
    shape = tuple(product([sizes[letter] for letter in axis]) for axis in axes)
    return x if op.type(x).shape == shape else op.Reshape(x, shape=shape)


SPELLING = Spelling(("Einsum",), read)
