"""The 1x1 kernel whose convolution returns its image (the paper's Iconv, Table 2.1); for weights only."""

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import axiom, weight_operator

PLAIN = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "group": 1}


def infer(f):
    if f.rank < 3 or f.shape[0] != f.shape[1] or any(size != 1 for size in f.shape[2:]):
        raise TypeMismatch(f"expected a pointwise kernel with as many channels in as out for IdentityKernel, found {f}")
    return TensorType(f.dtype, f.shape)


def evaluate(xp, f):
    return xp.reshape(xp.identity(f, xp.shape(f)[0]), xp.shape(f))


OPERATOR = weight_operator("IdentityKernel", infer, evaluate, choices={"kernel": ({},)}, defined=False)


@axiom()
def conv_with_identity_kernel(op, x: "n c h w", f: "c c 1 1"):
    return op.Conv(x, op.IdentityKernel(f), **PLAIN), x
