"""Zeros around the taps of a convolution's kernel (the paper's enlarge, Table 2.1); for weights only, ONNX has none."""

from taso_opt.core.dims import symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import axiom, weight_operator
from taso_opt.spec.shared.windows import ANY_WINDOWS, padded

PADS = tuple(symbol(f"e_{side}") for side in "tlbr")


def infer(f, pads):
    axes = len(pads) // 2
    if f.rank != axes + 2 or len(pads) % 2:
        raise TypeMismatch(f"expected a kernel with pads for each of its spatial axes for Enlarge, found {f}")
    sizes = (size + begin + end for size, begin, end in zip(f.shape[2:], pads[:axes], pads[axes:], strict=True))
    return TensorType(f.dtype, (*f.shape[:2], *sizes))


def evaluate(xp, f, pads):
    return padded(xp, f, pads)


OPERATOR = weight_operator("Enlarge", infer, evaluate, choices={"kernel": ({"pads": (1, 1, 1, 1)},)}, defined=False)


@axiom()
def conv_with_enlarged_kernel(op, x: "n g*c h w", f: "g*m c i j"):
    windows = {**ANY_WINDOWS, "dilations": (1, 1), "group": symbol("g")}
    wider = tuple(pad + more for pad, more in zip(windows["pads"], PADS, strict=True))
    return op.Conv(x, f, **windows), op.Conv(x, op.Enlarge(f, pads=PADS), **{**windows, "pads": wider})


@axiom()
def enlarged_sum(op, f: "m c i j", g: "m c i j"):
    return op.Enlarge(op.Add(f, g), pads=PADS), op.Add(op.Enlarge(f, pads=PADS), op.Enlarge(g, pads=PADS))
