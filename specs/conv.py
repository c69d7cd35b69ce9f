"""Grouped convolution over any number of spatial axes, with an optional bias (ONNX Conv with explicit pads)."""

from taso_opt.core.dims import divide, symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, axiom
from taso_opt.spec.shared.elementwise import items
from taso_opt.spec.shared.joining import halves
from taso_opt.spec.shared.shapes import check_rank, same_dims, same_dtype, window_outputs
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS, AROUND, padded, read_windows

PLAIN = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "group": 1}
WINDOWS = tuple(
    {**PLAIN, "strides": strides, "pads": pads} for strides in ((1, 1), (2, 2)) for pads in ((0, 0, 0, 0), (1, 1, 1, 1))
)


LINEAR = {**ANY_WINDOWS, "group": 1}
GROUPED = {**ANY_WINDOWS, "group": symbol("g")}
POOLS = tuple(
    {"strides": ANY_WINDOWS["strides"], "pads": ANY_WINDOWS["pads"], **ANY_KERNEL, "count_include_pad": counted}
    for counted in (0, 1)
)
"""Attributes of average pooling, any windows."""


def infer(x, w, bias=None, *, strides, pads, dilations, group):
    if x.rank < 3 or w.rank != x.rank:
        raise TypeMismatch(f"expected an image and a kernel of equal rank for Conv, found {x} and {w}")
    same_dims("input channels of Conv", (x.shape[1],), (w.shape[1] * group,))
    _check_divisible(w.shape[0], group)
    if bias is not None:
        same_dtype(w, bias)
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
    choices={
        "image": (*WINDOWS, {**PLAIN, "group": 2}),
        "pooling": tuple({**PLAIN, "pads": pads, "group": 2} for pads in ((0, 0, 0, 0), (1, 1, 1, 1))),
        "composed": ({**PLAIN, "strides": (2, 2), "pads": (1, 1, 1, 1)}, PLAIN),
        "depthwise": ({**PLAIN, "group": symbol("c")},),
        "around": tuple({**PLAIN, "pads": pads, "group": 2} for pads in AROUND),
    },
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


@axiom(windows=(GROUPED,))
def conv_of_difference_of_inputs(op, x: "n g*c h w", y: "n g*c h w", f: "g*m c i j", windows):
    return op.Conv(op.Sub(x, y), f, **windows), op.Sub(op.Conv(x, f, **windows), op.Conv(y, f, **windows))


@axiom(windows=(GROUPED,))
def conv_of_difference_of_kernels(op, x: "n g*c h w", f: "g*m c i j", g: "g*m c i j", windows):
    return op.Conv(x, op.Sub(f, g), **windows), op.Sub(op.Conv(x, f, **windows), op.Conv(x, g, **windows))


@axiom(windows=(GROUPED,))
def bias_is_added_to_every_pixel(op, x: "n g*c h w", f: "g*m c i j", a: "g*m", windows):
    channels = op.Reshape(a, shape=(symbol("g") * symbol("m"), 1, 1))
    return op.Conv(x, f, a, **windows), op.Add(op.Conv(x, f, **windows), channels)


@axiom(windows=(LINEAR,))
def channel_scale_leaves_kernel(op, x: "n c h w", f: "m c i j", s: "m 1 1", windows):
    scales = op.Reshape(s, shape=(symbol("m"), 1, 1, 1))
    return op.Mul(op.Conv(x, f, **windows), s), op.Conv(x, op.Mul(f, scales), **windows)


@axiom(windows=(LINEAR,))
def channel_scale_enters_kernel(op, x: "n c h w", f: "m c i j", s: "c 1 1", windows):
    return op.Conv(op.Mul(x, s), f, **windows), op.Conv(x, op.Mul(f, s), **windows)


@axiom(windows=(GROUPED,))
def conv_of_split_batch(op, x: "n+p g*c h w", f: "g*m c i j", windows):
    parts = tuple(op.Conv(part, f, **windows) for part in halves(op, x, -4))
    return halves(op, op.Conv(x, f, **windows), -4), parts


@axiom(windows=(LINEAR,))
def conv_of_split_kernels(op, x: "m c h w", f: "n+p c i j", windows):
    parts = tuple(op.Conv(x, part, **windows) for part in halves(op, f, -4))
    return halves(op, op.Conv(x, f, **windows), -3), parts


@axiom(windows=(GROUPED,))
def biased_conv_of_a_larger_batch(op, x: "n g*c h w", y: "p g*c h w", f: "g*m c i j", a: "g*m", windows):
    joined = op.Concat(op.Conv(x, f, a, **windows), op.Conv(y, f, a, **windows), axis=-4)
    return joined, op.Conv(op.Concat(x, y, axis=-4), f, a, **windows)


@axiom(windows=(GROUPED,))
def biased_conv_of_split_batch(op, x: "n+p g*c h w", f: "g*m c i j", a: "g*m", windows):
    parts = tuple(op.Conv(part, f, a, **windows) for part in halves(op, x, -4))
    return halves(op, op.Conv(x, f, a, **windows), -4), parts


@axiom(windows=(LINEAR,))
def biased_conv_of_split_kernels(op, x: "m c h w", f: "n+p c i j", a: "n+p", windows):
    pairs = zip(halves(op, f, -4), halves(op, a, -1), strict=True)
    parts = tuple(op.Conv(x, kernel, bias, **windows) for kernel, bias in pairs)
    return halves(op, op.Conv(x, f, a, **windows), -3), parts


@axiom(windows=(GROUPED,))
def convs_side_by_side_are_grouped(op, x: "n g*c h w", y: "n e*c h w", f: "g*m c i j", k: "e*m c i j", windows):
    other = {**windows, "group": symbol("e")}
    joined = op.Concat(op.Conv(x, f, **windows), op.Conv(y, k, **other), axis=-3)
    both = {**windows, "group": symbol("g") + symbol("e")}
    return joined, op.Conv(op.Concat(x, y, axis=-3), op.Concat(f, k, axis=-4), **both)


@axiom(windows=(GROUPED,))
def biased_convs_side_by_side_are_grouped(
    op, x: "n g*c h w", y: "n e*c h w", f: "g*m c i j", a: "g*m", k: "e*m c i j", b: "e*m", windows
):
    other = {**windows, "group": symbol("e")}
    joined = op.Concat(op.Conv(x, f, a, **windows), op.Conv(y, k, b, **other), axis=-3)
    both = {**windows, "group": symbol("g") + symbol("e")}
    operands = op.Concat(x, y, axis=-3), op.Concat(f, k, axis=-4), op.Concat(a, b, axis=-1)
    return joined, op.Conv(*operands, **both)


@axiom(windows=(GROUPED,))
def split_of_grouped_conv(op, x: "n g*c+e*c h w", f: "g*m+e*m c i j", windows):
    g, e, c, m = map(symbol, "gecm")
    whole = op.Split(op.Conv(x, f, **{**windows, "group": g + e}), axis=-3, sizes=(g * m, e * m))
    images, kernels = op.Split(x, axis=-3, sizes=(g * c, e * c)), op.Split(f, axis=-4, sizes=(g * m, e * m))
    first = op.Conv(op.item(images, 0), op.item(kernels, 0), **windows)
    second = op.Conv(op.item(images, 1), op.item(kernels, 1), **{**windows, "group": e})
    return items(whole), (first, second)


@axiom(windows=({**GROUPED, "dilations": (symbol("d_h"), symbol("d_w"))},))
def pointwise_conv_ignores_dilation(op, x: "n g*c h w", f: "g*m c 1 1", windows):
    return op.Conv(x, f, **windows), op.Conv(x, f, **{**windows, "dilations": (1, 1)})


@axiom(pool=POOLS)
def pointwise_conv_of_average(op, x: "n g*c h w", f: "g*m c 1 1", pool):
    pointwise = {**PLAIN, "group": symbol("g")}
    return op.Conv(op.AveragePool(x, **pool), f, **pointwise), op.AveragePool(op.Conv(x, f, **pointwise), **pool)


@axiom(counted=(0, 1))
def average_of_conv(op, x: "n g*c h w", f: "g*m c i j", counted):
    pool = {"kernel": (symbol("k_h"), symbol("k_w")), "strides": (1, 1)}
    dense = {**GROUPED, "strides": (1, 1)}
    sparse = {**GROUPED, "pads": (0, 0, 0, 0)}
    averaged = op.AveragePool(x, **pool, pads=GROUPED["pads"], count_include_pad=1)
    outer = {**pool, "strides": GROUPED["strides"], "pads": (0, 0, 0, 0), "count_include_pad": counted}
    return op.AveragePool(op.Conv(x, f, **dense), **outer), op.Conv(averaged, f, **sparse)


@axiom(windows=(LINEAR,))
def strided_pointwise_conv_of_conv(op, x: "n d h w", e: "g*c d i j", f: "g*m c 1 1", windows):
    dense = op.Conv(x, e, **{**windows, "strides": (1, 1)})
    strided = op.Conv(dense, f, **{**PLAIN, "strides": windows["strides"], "group": symbol("g")})
    return strided, op.Conv(op.Conv(x, e, **windows), f, **{**PLAIN, "group": symbol("g")})


@axiom()
def strided_pointwise_conv_of_maxpool(op, x: "n g*c h w", f: "g*m c 1 1"):
    pool = {**ANY_KERNEL, **ANY_WINDOWS}
    strided = {**PLAIN, "strides": pool["strides"], "group": symbol("g")}
    dense = op.MaxPool(x, **{**pool, "strides": (1, 1)})
    return op.Conv(dense, f, **strided), op.Conv(op.MaxPool(x, **pool), f, **{**PLAIN, "group": symbol("g")})


@axiom(pool=POOLS)
def strided_pointwise_conv_of_average(op, x: "n g*c h w", f: "g*m c 1 1", pool):
    strided = {**PLAIN, "strides": pool["strides"], "group": symbol("g")}
    dense = op.AveragePool(x, **{**pool, "strides": (1, 1)})
    return op.Conv(dense, f, **strided), op.Conv(op.AveragePool(x, **pool), f, **{**PLAIN, "group": symbol("g")})
