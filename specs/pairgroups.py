"""The kernel that convolves two groups as one: zeros between them (the paper's merge_gconv); for weights only."""

from taso_opt.core.dims import divide, symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import axiom, weight_operator
from taso_opt.spec.shared.windows import ANY_WINDOWS


def infer(f, group):
    if f.rank < 3 or 2 * group * divide(f.shape[0], 2 * group) != f.shape[0]:
        raise TypeMismatch(f"expected a kernel of {group} pairs of groups for PairGroups, found {f}")
    return TensorType(f.dtype, (f.shape[0], 2 * f.shape[1], *f.shape[2:]))


def evaluate(xp, f, group):
    outputs, channels, *kernel = xp.shape(f)
    pairs = xp.reshape(f, (group, 2, outputs // (2 * group), channels, *kernel))
    first, second = xp.slice(pairs, -4 - len(kernel) + 1, 0, 1), xp.slice(pairs, -4 - len(kernel) + 1, 1, 2)
    still = [(0, 0)] * len(kernel)
    joined = [xp.pad(first, [(0, channels), *still]), xp.pad(second, [(channels, 0), *still])]
    return xp.reshape(xp.concatenate(joined, -4 - len(kernel) + 1), (outputs, 2 * channels, *kernel))


OPERATOR = weight_operator("PairGroups", infer, evaluate, choices={"kernel": ({"group": 1},)}, defined=False)


@axiom()
def conv_of_paired_groups(op, x: "n 2*g*c h w", f: "2*g*m c i j"):
    g = symbol("g")
    apart = op.Conv(x, f, **ANY_WINDOWS, group=2 * g)
    return apart, op.Conv(x, op.PairGroups(f, group=g), **ANY_WINDOWS, group=g)


@axiom()
def paired_groups_of_sum(op, f: "2*g*m c i j", h: "2*g*m c i j"):
    g = symbol("g")
    return op.PairGroups(op.Add(f, h), group=g), op.Add(op.PairGroups(f, group=g), op.PairGroups(h, group=g))
