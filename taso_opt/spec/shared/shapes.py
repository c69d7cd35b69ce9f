"""Shape arithmetic that type inference of many operators shares; every function raises TypeMismatch on misfits."""

from __future__ import annotations

from collections.abc import Sequence

from taso_opt.core.dims import STAR, Dim, Size, divide, symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch

ANY_SHAPE = STAR + "any"
"""How stars begin that stand for the shape of one variable alone: `x[*any_x], s[*any_s]` have only to broadcast."""

JOINED = "&"

FAR = 2**31 - 1
"""From here on the end of a slice is that of the axis, whatever its size."""


def broadcast(x: TensorType, y: TensorType) -> TensorType:
    """The type of an element-wise operator with NumPy broadcasting."""
    same_dtype(x, y)
    return TensorType(x.dtype, broadcast_shapes(x.shape, y.shape))


def broadcast_shapes(x: tuple[Dim, ...], y: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """NumPy's broadcasting, aligned at the last axis; symbolic sizes agree only when they are the same symbol."""
    if x != y and _is_any_shape(x) and _is_any_shape(y):
        return (_joined(x[0], y[0]),)
    rank = max(len(x), len(y))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in (x, y)]
    return tuple(_broadcast_dim(a, b) for a, b in zip(*padded, strict=True))


def any_shape(name: str) -> Size:
    """The star for the shape of a variable that has only to broadcast with the others."""
    return symbol(f"{ANY_SHAPE}_{name}")


def _is_any_shape(shape: Sequence[Dim]) -> bool:
    return len(shape) == 1 and str(shape[0]).startswith(ANY_SHAPE)


def _joined(x: Dim, y: Dim) -> Dim:
    """What two shapes that only have to broadcast broadcast to: one named after both, in whatever order they meet."""
    names = {name for star in (x, y) for name in str(star).removeprefix(STAR).split(JOINED)}
    return symbol(STAR + JOINED.join(sorted(names)))


def same_dtype(*types: TensorType) -> str:
    """The one element type of all operands."""
    dtypes = {operand.dtype for operand in types}
    if len(dtypes) != 1:
        raise TypeMismatch(f"expected operands of one element type, found {', '.join(sorted(dtypes))}")
    return dtypes.pop()


def same_dims(what: str, x: Sequence[Dim], y: Sequence[Dim]) -> None:
    """Check that two lists of sizes are equal."""
    if tuple(x) != tuple(y):
        raise TypeMismatch(f"expected equal {what}, found {list(x)} and {list(y)}")


def axis_from_end(axis: int, rank: int) -> int:
    """An axis counted from the end, as all attributes of terms count them."""
    if not -rank <= axis < rank:
        raise TypeMismatch(f"expected an axis of a tensor of rank {rank}, found {axis}")
    return axis - rank if axis >= 0 else axis


def is_number(x: TensorType) -> bool:
    """Whether a tensor has one element and no more than one axis."""
    return x.shape in ((), (1,))


def check_flag(name: str, value: object) -> None:
    """Check that an attribute says yes or no."""
    if not isinstance(value, int) or value not in (0, 1):
        raise TypeMismatch(f"expected 0 or 1 as {name}, found {value}")


def check_rank(what: str, x: TensorType, rank: int) -> None:
    """Check that a tensor has exactly this rank."""
    if x.rank != rank:
        raise TypeMismatch(f"expected {what} of rank {rank}, found shape {x}")


def window_outputs(
    sizes: Sequence[Dim], kernel: Sequence[Dim], strides: Sequence[Dim], pads: Sequence[Dim], dilations: Sequence[Dim]
) -> tuple[Dim, ...]:
    """Output sizes of a sliding window (floor mode); `pads` lists all begins, then all ends, as ONNX does."""
    axes = len(sizes)
    if not axes == len(kernel) == len(strides) == len(dilations) == len(pads) // 2:
        raise TypeMismatch(f"expected one kernel size, stride, dilation and two pads for each of {axes} axes")
    outputs: list[Dim] = []
    for axis, (size, width, stride, dilation) in enumerate(zip(sizes, kernel, strides, dilations, strict=True)):
        span = size + pads[axis] + pads[axis + axes] - (dilation * (width - 1) + 1)
        if isinstance(span, int) and span < 0:
            raise TypeMismatch(f"expected a window no larger than the padded input, found {width} over {size}")
        if any(isinstance(value, int) and value < 1 for value in (stride, width, dilation)):
            raise TypeMismatch(f"expected a positive stride, kernel and dilation, found {stride}, {width}, {dilation}")
        outputs.append(divide(span, stride) + 1)
    return tuple(outputs)


def check_pooling_pads(kernel: Sequence[Dim], pads: Sequence[Dim]) -> None:
    """Check that no pad is as wide as the kernel, as ONNX Runtime demands of pooling operators."""
    for margin, reason in pooling_conditions(kernel, pads):
        if isinstance(margin, int) and margin < 0:
            raise TypeMismatch(f"expected {reason}, found pads {list(pads)} and kernel {list(kernel)}")


def pooling_conditions(kernel: Sequence[Dim], pads: Sequence[Dim], **_: object) -> list[tuple[Dim, str]]:
    """What must not be negative so that a pooling operator is defined."""
    return [
        (width - 1 - pad, "pads below the kernel size") for width, pad in zip((*kernel, *kernel), pads, strict=True)
    ]


def _broadcast_dim(a: Dim, b: Dim) -> Dim:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    raise TypeMismatch(f"expected sizes that broadcast, found {a} and {b}")


def is_star(dim: Dim) -> bool:
    """Whether a size stands for any number of axes."""
    return isinstance(dim, Size) and dim.is_star
