"""Grouped convolution over any number of spatial axes, with an optional bias (ONNX Conv with explicit pads)."""

from taso_opt.core.dims import divide, symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, axiom
from taso_opt.spec.shapes import check_rank, same_dims, same_dtype, window_outputs
from taso_opt.spec.windows import ANY_WINDOWS, padded, read_windows

PLAIN = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "group": 1}
WINDOWS = tuple(
    {**PLAIN, "strides": strides, "pads": pads} for strides in ((1, 1), (2, 2)) for pads in ((0, 0, 0, 0), (1, 1, 1, 1))
)


LINEAR = {**ANY_WINDOWS, "group": 1}
GROUPED = {**ANY_WINDOWS, "group": symbol("g")}


def infer(x, w, bias=None, *, strides, pads, dilations, group):
    if x.rank < 3 or w.rank != x.rank:
        raise TypeMismatch(f"expected an image and a kernel of equal rank for Conv, found {x} and {w}")
    same_dims("input channels of Conv", (x.shape[1],), (w.shape[1] * group,))
    _check_divisible(w.shape[0], group)
    if bias is not None:
        check_rank("bias of Conv", bias, 1)
        same_dims("output channels of Conv", bias.shape, w.shape[:1])
    spatial = window_outputs(x.shape[2:], w.shape[2:], strides, pads, dilations)
    return TensorType(same_dtype(x, w), (x.shape[0], w.shape[0], *spatial))


def _check_divisible(channels, group):
    if group * divide(channels, group) != channels:
        raise TypeMismatch(f"expected output channels divisible by {group} groups for Conv, found {channels}")


def evaluate(xp, x, w, bias=None, *, strides, pads, dilations, group):
    batch, channels, *_ = xp.shape(x)
    outputs, _, *kernel = xp.shape(w)
    windows = xp.windows(padded(xp, x, pads), kernel, strides, dilations)
    space, taps = "abdef"[: len(kernel)], "hijkl"[: len(kernel)]
    sizes = xp.shape(windows)[2 : 2 + len(kernel)]
    windows = xp.reshape(windows, (batch, group, channels // group, *sizes, *kernel))
    filters = xp.reshape(w, (group, outputs // group, channels // group, *kernel))
    result = xp.contract(f"ngc{space}{taps},gmc{taps}->ngm{space}", windows, filters)
    result = xp.reshape(result, (batch, outputs, *sizes))
    if bias is None:
        return result
    return xp.add(result, xp.reshape(bias, (outputs, *(1 for _ in kernel))))


def read(op, node):
    kernel = node.types[1].shape[2:] if len(node.types) > 1 and node.types[1] is not None else None
    if kernel is None or not all(isinstance(width, int) for width in kernel):
        return None
    windows = read_windows(node, kernel)
    operands = node.inputs[:2] if len(node.inputs) < 3 or node.inputs[2] is None else node.inputs
    return None if windows is None else op.Conv(*operands, **windows, group=node.attribute("group", 1))


def write(term, context):
    attributes = {name: list(term.attribute(name)) for name in ("strides", "pads", "dilations")}
    kernel = list(context.type_of(term.args[1]).shape[2:])
    return OnnxCall("Conv", term.args, {**attributes, "group": term.attribute("group"), "kernel_shape": kernel})


OPERATOR = Operator(
    "Conv",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Conv",), read, write),
    arity=None,
    choices={"image": (*WINDOWS, {**PLAIN, "group": 2})},
)


@axiom(windows=(GROUPED,))
def conv_is_linear_in_its_input(op, x: "n g*c h w", y: "n g*c h w", f: "g*m c i j", windows):
    return op.Conv(op.Add(x, y), f, **windows), op.Add(op.Conv(x, f, **windows), op.Conv(y, f, **windows))


@axiom(windows=(GROUPED,))
def conv_is_linear_in_its_kernel(op, x: "n g*c h w", f: "g*m c i j", g: "g*m c i j", windows):
    return op.Conv(x, op.Add(f, g), **windows), op.Add(op.Conv(x, f, **windows), op.Conv(x, g, **windows))


@axiom(windows=(GROUPED,))
def scalar_leaves_image(op, x: "n g*c h w", f: "g*m c i j", s: "", windows):
    return op.Conv(op.Mul(x, s), f, **windows), op.Mul(op.Conv(x, f, **windows), s)


@axiom(windows=(GROUPED,))
def scalar_leaves_kernel(op, x: "n g*c h w", f: "g*m c i j", s: "", windows):
    return op.Conv(x, op.Mul(f, s), **windows), op.Mul(op.Conv(x, f, **windows), s)


@axiom(windows=(GROUPED,))
def conv_of_a_larger_batch(op, x: "n g*c h w", y: "p g*c h w", f: "g*m c i j", windows):
    joined = op.Concat(op.Conv(x, f, **windows), op.Conv(y, f, **windows), axis=-4)
    return joined, op.Conv(op.Concat(x, y, axis=-4), f, **windows)


@axiom(windows=(LINEAR,))
def conv_of_joined_kernels(op, x: "n c h w", f: "m c i j", g: "p c i j", windows):
    joined = op.Concat(op.Conv(x, f, **windows), op.Conv(x, g, **windows), axis=-3)
    return joined, op.Conv(x, op.Concat(f, g, axis=-4), **windows)


@axiom(windows=(LINEAR,))
def conv_of_joined_kernels_and_biases(op, x: "n c h w", f: "m c i j", a: "m", g: "p c i j", b: "p", windows):
    joined = op.Concat(op.Conv(x, f, a, **windows), op.Conv(x, g, b, **windows), axis=-3)
    return joined, op.Conv(x, op.Concat(f, g, axis=-4), op.Concat(a, b, axis=-1), **windows)


@axiom(windows=(LINEAR,))
def sum_of_convs_is_one(op, x: "n c h w", f: "m c i j", y: "n d h w", g: "m d i j", windows):
    inner = op.Conv(op.Concat(x, y, axis=-3), op.Concat(f, g, axis=-3), **windows)
    return inner, op.Add(op.Conv(x, f, **windows), op.Conv(y, g, **windows))


@axiom(windows=(GROUPED,))
def sum_of_biased_convs(op, x: "n g*c h w", f: "g*m c i j", a: "g*m", g: "g*m c i j", b: "g*m", windows):
    summed = op.Add(op.Conv(x, f, a, **windows), op.Conv(x, g, b, **windows))
    return summed, op.Conv(x, op.Add(f, g), op.Add(a, b), **windows)
