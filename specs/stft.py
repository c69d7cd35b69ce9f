"""ONNX STFT of real signals is read as a convolution along time: a kernel for each part of each frequency.

A frame has as many elements as the window, which is known ahead of time; without one all of them count alike.
"""

from taso_opt.spec import Spelling
from taso_opt.spec.shared.fourier import PARTS, all_alike, is_small, number_of

DTYPE = "float32"
"""Of signals: the runtime has no convolutions of doubles."""


def read(op, node):
    """A node with a known step and window; signals of complex numbers leave it opaque."""
    kind, step = node.types[0], number_of(node, 1)
    if kind is None or kind.dtype != DTYPE or kind.rank not in (2, 3) or step is None or step < 1:
        return None
    if kind.rank == 3 and kind.shape[-1] != 1:
        return None
    window = _window(op, node)
    onesided = int(bool(node.attribute("onesided", 1)))
    if window is None or not is_small(op.type(window).shape[0], onesided):
        return None
    signal = node.inputs[0] if kind.rank == 2 else op.Squeeze(node.inputs[0], axis=-1)
    kernel = op.FourierKernel(window, onesided=onesided)
    lines = op.Unsqueeze(signal, axis=-2)
    found = op.Conv(lines, kernel, strides=(step,), pads=(0, 0), dilations=(1,), group=1)
    batch, parts, frames = op.type(found).shape
    return op.Reshape(op.Transpose(found, perm=(-1, -2)), shape=(batch, frames, parts // PARTS, PARTS))


def _window(op, node):
    """The window of a node, which has the length of a frame; None where it is not known."""
    if len(node.inputs) < 3 or node.inputs[2] is None:
        length = number_of(node, 3)
        return None if length is None else all_alike(op, length, node.types[0].dtype)
    known = node.constants[2]
    return node.inputs[2] if known is not None and number_of(node, 3, known.size) == known.size else None


SPELLING = Spelling(("STFT",), read)
