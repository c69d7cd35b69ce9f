"""The kernel of a convolution and a pointwise one after it as a single kernel; for weights only.

The pointwise kernel, the second operand, mixes the outputs of the first.
"""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import definition, weight_operator
from taso_opt.spec.shapes import same_dims, same_dtype

PLAIN = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "group": 1}
SWAP = (-3, -4, -2, -1)


def infer(f, k):
    if f.rank < 3 or k.rank != f.rank or any(size != 1 for size in k.shape[2:]):
        raise TypeMismatch(f"expected a kernel and a pointwise one for ComposedKernel, found {f} and {k}")
    same_dims("inner channels of ComposedKernel", f.shape[:1], k.shape[1:2])
    return TensorType(same_dtype(f, k), (k.shape[0], *f.shape[1:]))


def evaluate(xp, f, k):
    taps = "hijkl"[: len(xp.shape(f)) - 2]
    return xp.contract(f"md,dc{taps}->mc{taps}", xp.reshape(k, xp.shape(k)[:2]), f)


OPERATOR = weight_operator("ComposedKernel", infer, evaluate, arity=2, choices={"composed": ({},)})


@definition()
def composed_kernel(op, f: "d c i j", k: "m d 1 1"):
    turned = op.Transpose(f, perm=SWAP)
    return op.ComposedKernel(f, k), op.Transpose(op.Conv(turned, k, **PLAIN), perm=SWAP)
