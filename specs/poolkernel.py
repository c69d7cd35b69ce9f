"""The kernel whose convolution averages each window (the paper's Cpool, Table 2.1), in any number of groups.

For weights only. Of its operand nothing but the type counts: with one channel in each group it is the depth-wise kernel
of equal shares, with a single group those shares stand on the diagonal of the channels.
"""

from taso_opt.core.dims import symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import axiom, weight_operator
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS, WindowShares

PLAIN = {"dilations": (1, 1), "group": symbol("g")}
POOLS = (
    {"pads": ANY_WINDOWS["pads"], "count_include_pad": 1},
    {"pads": (0, 0, 0, 0), "count_include_pad": 0},
)
"""Where every window averages as many elements as it has."""


def infer(f, group):
    if f.rank < 3 or f.shape[1] * group != f.shape[0]:
        raise TypeMismatch(f"expected a kernel of {group} groups with as many channels in as out, found {f}")
    return TensorType(f.dtype, f.shape)


def evaluate(xp, f, group):
    _, channels, *kernel = xp.shape(f)
    diagonal = xp.contract("g,cd->gcd", _ones(xp, f, group), xp.identity(f, channels))
    result, axes = xp.reshape(diagonal, (group * channels, channels)), "oc"
    for axis, size in zip("hijkl", kernel, strict=False):
        share = WindowShares((size,), (size,), (1,), (0, 0), True)
        result = xp.contract(f"{axes},{axis}->{axes}{axis}", result, xp.scale(_ones(xp, f, size), share))
        axes += axis
    return result


def _ones(xp, f, size):
    return xp.sum(xp.identity(f, size), (-1,))


OPERATOR = weight_operator("PoolKernel", infer, evaluate, choices={"pooling": ({"group": 2},)}, defined=False)


@axiom(pool=POOLS)
def averagepool_is_a_convolution(op, x: "n g*c h w", f: "g*c c k_h k_w", pool):
    strides, pads = ANY_WINDOWS["strides"], pool["pads"]
    averaged = op.AveragePool(x, **ANY_KERNEL, strides=strides, **pool)
    return averaged, op.Conv(x, op.PoolKernel(f, group=symbol("g")), **PLAIN, strides=strides, pads=pads)
