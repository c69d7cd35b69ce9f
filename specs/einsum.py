"""ONNX Einsum is read as products of matrices between transposes and reshapes, two tensors at a time, and as sums."""

import re
from collections import Counter

from taso_opt.core.dims import product
from taso_opt.spec import Spelling
from taso_opt.spec.shared.axes import moved_axes

EQUATION = re.compile(r"([A-Za-z,.]*)(->)?([A-Za-z.]*)")
STRETCHED = "9876543210"
"""Letters of our own for the axes that an ellipsis stands for: the last axis is the same in all operands."""


def read(op, node):
    """A node whose equation takes each axis of an operand once; diagonals and sizes that may differ leave it opaque."""
    if None in node.types:
        return None
    letters = _letters(node.attribute("equation", "").replace(" ", ""), [kind.rank for kind in node.types])
    if letters is None:
        return None
    *operands, result = letters
    sizes = _sizes(operands, node.types)
    if sizes is None or not sizes.keys() >= set(result):
        return None
    first, whole = operands[0], node.inputs[0]
    for at, (second, other) in enumerate(zip(operands[1:], node.inputs[1:], strict=True), 2):
        later = dict.fromkeys([*result, *"".join(operands[at:])])
        first, whole = _product(op, sizes, later, (first, whole), (second, other))
    first, whole = _summed(op, sizes, whole, first, result)
    return _ordered(op, whole, first, result)


def _letters(equation, ranks):
    """A letter for each axis of each operand and of the result; None for axes taken twice, or not as many as there are.

    Where an equation has no result, that is of all letters which stand in it once, in their order, behind the axes of
    an ellipsis; that of large and small letters is not the same everywhere.
    """
    found = EQUATION.fullmatch(equation)
    if found is None:
        return None
    given, arrow, result = found.groups()
    operands = given.split(",")
    if len(operands) != len(ranks):
        return None
    if not arrow:
        counted = Counter(given.replace(",", "").replace(".", ""))
        result = ("..." if "." in given else "") + "".join(sorted(one for one, times in counted.items() if times == 1))
        if result.lower() != result and result.upper() != result:
            return None
    stretched = [_axes(letters, rank) for letters, rank in zip(operands, ranks, strict=True)]
    if None in stretched or result.count(".") not in (0, 3):
        return None
    most = max((axes for axes in stretched if axes is not None), key=len)
    if most and "..." not in result:
        return None
    named = [*(letters.replace("...", axes) for letters, axes in zip(operands, stretched, strict=True))]
    named.append(result.replace("...", most))
    return None if any("." in letters or len(set(letters)) < len(letters) for letters in named) else named


def _axes(letters, rank):
    """The letters of the axes that an ellipsis stands for, none where there is none; None where ranks do not fit."""
    count = rank - len(letters.replace("...", ""))
    is_fit = 0 <= count <= len(STRETCHED) if "..." in letters else count == 0
    return STRETCHED[len(STRETCHED) - count :] if is_fit else None


def _sizes(operands, types):
    """The size of each letter; None where it is not the same everywhere."""
    sizes = {}
    for letters, kind in zip(operands, types, strict=True):
        if any(sizes.setdefault(letter, size) != size for letter, size in zip(letters, kind.shape, strict=True)):
            return None
    return sizes


def _product(op, sizes, later, *operands):
    """The letters and the value of two tensors as one, of which the letters in `later` are kept, in this order.

    The letters of both that are not are summed: then it is a product of matrices.
    """
    (first, _), (second, _) = operands
    (first, x), (second, y) = (
        _summed(op, sizes, value, letters, dict.fromkeys([*later, *other]))
        for (letters, value), other in zip(operands, (second, first), strict=True)
    )
    batches = [one for one in later if one in first and one in second]
    rows = [one for one in later if one in first and one not in second]
    columns = [one for one in later if one in second and one not in first]
    summed = [one for one in first if one in second and one not in later]
    kept = [*batches, *rows, *columns]
    if not summed:
        x = _with_axes(op, x, first, sizes, [*batches, *rows, *("" for _ in columns)])
        return kept, op.Mul(x, _with_axes(op, y, second, sizes, [*batches, *("" for _ in rows), *columns]))
    x = _with_axes(op, x, first, sizes, [*batches, rows, summed])
    y = _with_axes(op, y, second, sizes, [*batches, summed, columns])
    return kept, _shaped(op, op.MatMul(x, y), sizes, kept)


def _summed(op, sizes, x, letters, kept):
    """The letters that are kept, in this order where others are not, and the tensor with sums over those."""
    left, gone = [one for one in kept if one in letters], [one for one in letters if one not in kept]
    if not gone:
        return letters, x
    rows = op.ReduceSum(_ordered(op, x, letters, [*left, *gone]), axes=tuple(range(-len(gone), 0)))
    return left, _shaped(op, rows, sizes, left)


def _with_axes(op, x, letters, sizes, axes):
    """A tensor with the axes of these letters, those of several joined to one, those of none of size 1."""
    return _shaped(op, _ordered(op, x, letters, [one for axis in axes for one in axis]), sizes, axes)


def _ordered(op, x, letters, wanted):
    """A tensor with its axes in another order."""
    perm = moved_axes([letters.index(letter) for letter in wanted])
    return op.Transpose(x, perm=perm) if perm else x


def _shaped(op, x, sizes, axes):
    """A tensor in the shape in which each axis has the sizes of its letters."""
    shape = tuple(product([sizes[letter] for letter in axis]) for axis in axes)
    return x if op.type(x).shape == shape else op.Reshape(x, shape=shape)


SPELLING = Spelling(("Einsum",), read)
