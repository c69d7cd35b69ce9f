"""The kernels of two convolutions, one of them pointwise, as that of a single one; for weights only.

A pointwise kernel mixes the outputs of the convolution before it or the inputs of the one after it.
"""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import definition, weight_operator
from taso_opt.spec.shared.shapes import same_dims, same_dtype

PLAIN = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "group": 1}
SWAP = (-3, -4, -2, -1)


def infer(f, k):
    pointwise = any(all(size == 1 for size in one.shape[2:]) for one in (f, k))
    if f.rank < 3 or k.rank != f.rank or not pointwise:
        raise TypeMismatch(f"expected two kernels, one of them pointwise, for ComposedKernel, found {f} and {k}")
    same_dims("inner channels of ComposedKernel", f.shape[:1], k.shape[1:2])
    taps = (first * second for first, second in zip(f.shape[2:], k.shape[2:], strict=True))
    return TensorType(same_dtype(f, k), (k.shape[0], f.shape[1], *taps))


def evaluate(xp, f, k):
    pairs = list(zip("hijkl", "qrstu", strict=True))[: len(xp.shape(f)) - 2]
    first, second = map("".join, zip(*pairs, strict=True))
    both = xp.contract(f"dc{first},md{second}->mc{''.join(map(''.join, pairs))}", f, k)
    taps = (one * other for one, other in zip(xp.shape(f)[2:], xp.shape(k)[2:], strict=True))
    return xp.reshape(both, (xp.shape(k)[0], xp.shape(f)[1], *taps))


OPERATOR = weight_operator("ComposedKernel", infer, evaluate, arity=2, choices={"composed": ({},)})


@definition()
def composed_kernel(op, f: "d c i j", k: "m d 1 1"):
    turned = op.Transpose(f, perm=SWAP)
    return op.ComposedKernel(f, k), op.Transpose(op.Conv(turned, k, **PLAIN), perm=SWAP)


@definition()
def kernel_composed_with_the_one_before(op, f: "d c 1 1", k: "m d i j"):
    return op.ComposedKernel(f, k), op.Conv(k, op.Transpose(f, perm=SWAP), **PLAIN)
