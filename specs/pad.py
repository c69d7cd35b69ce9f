"""Zeros around the last axes: `pads` lists how many come before each of them, then how many behind.

What ONNX pads along one axis with what lies at its ends is read as these, repeated, joined with all. It also pads with
other numbers, and by less than nothing; such nodes stay opaque.
"""

import numpy as np

from taso_opt.core.dims import symbol
from taso_opt.core.types import FLOATS, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling
from taso_opt.spec.shared.shapes import axis_from_end, is_star
from taso_opt.spec.shared.windows import AROUND, padded

OPERANDS_SINCE = 11
"""The opset since which ONNX takes the pads as an operand; before, as an attribute."""

SPATIAL = 2
"""How many axes at the end are always said."""

P = symbol("p")
CHANNELS = ({"pads": (0, 0, 0, P, 0, 0)}, {"pads": (0, 0, 0, 0, P, 0, 0, 0)}, {"pads": (0, P)})
"""Zeros behind the channels of an image or the inputs of a kernel, behind its outputs, and behind its bias."""


def infer(x, pads):
    axes = len(pads) // 2
    if len(pads) % 2 or x.rank < axes or any(is_star(dim) for dim in x.shape[x.rank - axes :]):
        raise TypeMismatch(f"expected a tensor with {axes} axes to pad for Pad, found {x}")
    if any(isinstance(pad, int) and pad < 0 for pad in pads):
        raise TypeMismatch(f"expected pads of at least 0 for Pad, found {list(pads)}")
    inner = x.shape[x.rank - axes :]
    sizes = (size + begin + end for size, begin, end in zip(inner, pads[:axes], pads[axes:], strict=True))
    return TensorType(x.dtype, (*x.shape[: x.rank - axes], *sizes))


def evaluate(xp, x, pads):
    return padded(xp, x, pads)


def read(op, node):
    kind, mode = node.types[0], node.attribute("mode", "constant")
    pads = None if kind is None or kind.dtype not in FLOATS else _pads(node, kind.rank)
    if pads is None or any(begin < 0 or end < 0 for begin, end in pads) or mode not in ("constant", "edge"):
        return None
    if mode == "edge":
        return _with_ends(op, node.inputs[0], kind, pads)
    first = next((at for at, pair in enumerate(pads) if pair != (0, 0)), kind.rank)
    # Always the last two axes at least, so that one rule fits every padding of an image.
    pads = pads[min(first, max(kind.rank - SPATIAL, 0)) :]
    return op.Pad(node.inputs[0], pads=(*(begin for begin, _ in pads), *(end for _, end in pads)))


def _with_ends(op, x, kind, pads):
    """The ends of an axis, repeated, around all of it; None where several are padded or its size is not known."""
    padded_axes = [at for at, pair in enumerate(pads) if pair != (0, 0)]
    if len(padded_axes) != 1:
        return None
    (at,) = padded_axes
    axis, size = at - kind.rank, kind.shape[at]
    if not isinstance(size, int) or size < 2:
        return None
    first, last = (op.Slice(x, axis=axis, sizes=sizes) for sizes in ((0, 1, size - 1), (size - 1, 1, 0)))
    before, behind = (
        op.Expand(end, shape=(*kind.shape[:at], count, *kind.shape[at + 1 :])) if count > 1 else end
        for end, count in zip((first, last), pads[at], strict=True)
    )
    parts = [part for part, count in zip((before, x, behind), (pads[at][0], 1, pads[at][1]), strict=True) if count]
    return op.Concat(*parts, axis=axis)


def _pads(node, rank):
    """Before and behind each axis; None where that, or what is padded with, is not known or not zero."""
    if node.opset < OPERANDS_SINCE:
        found, value, axes = node.attribute("pads", None), node.attribute("value", 0.0), None
    else:
        given, known = ((*values, *(None,) * (4 - len(values))) for values in (node.inputs, node.constants))
        if any(operand is not None and value is None for operand, value in zip(given[1:], known[1:], strict=True)):
            return None
        found, value, axes = known[1], 0.0 if known[2] is None else known[2], known[3]
    places = range(rank) if axes is None else [axis_from_end(int(axis), rank) + rank for axis in axes]
    if found is None or np.any(np.asarray(value) != 0) or len(found) != 2 * len(places):
        return None
    pairs = dict(
        zip(places, zip(map(int, found[: len(places)]), map(int, found[len(places) :]), strict=True), strict=True)
    )
    return [pairs.get(at, (0, 0)) for at in range(rank)]


def write(term, context):
    pads = term.attribute("pads")
    if not all(isinstance(pad, int) for pad in pads):
        return None
    axes = len(pads) // 2
    still = [0] * (context.type_of(term.args[0]).rank - axes)
    full = [*still, *pads[:axes], *still, *pads[axes:]]
    if context.opset < OPERANDS_SINCE:
        return OnnxCall("Pad", term.args, {"mode": "constant", "pads": full})
    return OnnxCall("Pad", (*term.args, np.array(full, np.int64)), {"mode": "constant"})


OPERATOR = Operator(
    "Pad",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Pad",), read, write),
    arity=1,
    arithmetic=False,
    choices={
        "padded": ({"pads": (0, 0, 0, P)}, {"pads": (0, 0, P, 0)}),
        "unpadded": ({"pads": (0, 0, 0, 0)},),
        "channels": CHANNELS,
        "around": tuple({"pads": pads} for pads in AROUND[1:]),
    },
    defined=True,
)
