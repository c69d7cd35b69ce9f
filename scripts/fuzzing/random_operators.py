"""Single operators with random attributes, for random models: those of specs/ in the ways that ONNX has of saying them.

Attributes are drawn as exporters write them and as they do not: steps that go backwards, windows that stand over,
axes from the end, operands that are left out. What ONNX does not allow of a value is not drawn for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .random_sketch import Draw, Sketch, Value

AXES_ARE_AN_INPUT = 18
"""The opset since which reductions have their axes as an operand; sums have had them since 13."""

AXIS_OF_DFT_IS_AN_INPUT = 20

MATRIX = 2
"""The axes of a matrix."""

REDUCTIONS = ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")
PLACES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
EQUATIONS = {
    2: ("ab,bc->ac", "ab,cb->ac", "ab,cb->ca"),
    3: ("abc,cd->abd", "abc,dc->abd", "abc,cd->adb"),
    4: ("abcd,de->abce", "abcd,ed->abce"),
}
WITH_PARAMETERS: dict[str, dict[str, tuple[float, ...]]] = {
    "LeakyRelu": {"alpha": (0.01, 0.2)},
    "Elu": {"alpha": (1.0, 0.5)},
    "Celu": {"alpha": (1.0, 2.0)},
    "HardSigmoid": {"alpha": (0.2, 1 / 6), "beta": (0.5,)},
    "ThresholdedRelu": {"alpha": (0.5, 1.0)},
    "Selu": {},
}


def draw_function(sketch: Sketch, x: Value) -> None:
    """A function with parameters, or one that its opset has lately."""
    if x.dtype != "float32":
        return
    random = sketch.random
    lately = [name for name, since in (("Mish", 18), ("Gelu", 20)) if sketch.opset >= since]
    name = random.choice([*WITH_PARAMETERS, *lately, "PRelu", "Clip"])
    if name == "PRelu":
        sketch.node(name, [x, sketch.weight(x.dtype, x.shape[1:2] + (1,) * len(x.shape[2:]) if x.shape else ())], x)
    elif name == "Clip":
        low, high = (sketch.number(value, x.dtype) for value in random.choice(((0, 6), (-1, 1), (0, 1))))
        sketch.node(name, [x, low, high], x)
    elif name == "Gelu":
        sketch.node(name, [x], x, approximate=random.choice(("none", "tanh")))
    else:
        chosen = {key: random.choice(values) for key, values in WITH_PARAMETERS.get(name, {}).items()}
        sketch.node(name, [x], x, **chosen)


def draw_positive(sketch: Sketch, x: Value) -> None:
    """A function of positive numbers."""
    if x.dtype not in ("float32", "float64"):
        return
    positive = sketch.node("Add", [sketch.node("Abs", [x], x), sketch.number(1, x.dtype)], x)
    name = sketch.random.choice(("Sqrt", "Log", "Reciprocal", "Pow", "Div", "Exp"))
    if name == "Pow":
        sketch.node(name, [positive, sketch.number(sketch.random.choice((0.5, 2, 3, -1, 1.5)), x.dtype)], x)
    elif name == "Div":
        sketch.node(name, [x, positive], x)
    elif name == "Exp":
        sketch.node(name, [sketch.node("Neg", [positive], x)], x)
    else:
        sketch.node(name, [positive], x)


def draw_several(sketch: Sketch, x: Value) -> None:
    """A function of several values of one shape."""
    if x.dtype != "float32":
        return
    alike = [one for one in sketch.values if (one.dtype, one.shape, one.dynamic) == (x.dtype, x.shape, x.dynamic)]
    chosen = [x, *sketch.random.choices(alike, k=sketch.random.randint(1, 2))]
    sketch.node(sketch.random.choice(("Mean", "Sum", "Max", "Min")), chosen, x)


def draw_choice(sketch: Sketch, x: Value) -> None:
    """A choice between values by a comparison."""
    if x.dtype not in ("float32", "float64", "int64"):
        return
    name = sketch.random.choice(("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "IsNaN"))
    operands = [x, sketch.number(sketch.random.choice((0, 1)), x.dtype)]
    sketch.random.shuffle(operands)
    if name == "IsNaN":
        if x.dtype == "int64":
            return
        operands = [x]
    flag = sketch.node(name, operands, replace(x, dtype="bool"))
    chosen = [x, sketch.node("Neg", [x], x) if sketch.random.random() < 0.5 else sketch.number(0, x.dtype)]
    sketch.random.shuffle(chosen)
    sketch.inferred("Where", [flag, *chosen])


def draw_reduction(sketch: Sketch, x: Value) -> None:
    """A reduction over some axes, which stay or go."""
    free = _free_axes(x)
    if x.dtype != "float32" or not free:
        return
    random = sketch.random
    name = random.choice((*REDUCTIONS, "ReduceSum"))
    axes = [axis - random.choice((0, len(x.shape))) for axis in random.sample(free, random.randint(1, len(free)))]
    keep = random.randrange(2)
    if name == "ReduceSum" or sketch.opset >= AXES_ARE_AN_INPUT:
        sketch.inferred(name, [x, sketch.integers(*axes)], keepdims=keep)
    else:
        sketch.inferred(name, [x], axes=axes, keepdims=keep)


def draw_slice(sketch: Sketch, x: Value) -> None:
    """A slice along some axes, also from the end, backwards and beyond."""
    free = _free_axes(x)
    if not free:
        return
    random, starts, ends, steps = sketch.random, [], [], []
    axes = random.sample(free, random.randint(1, min(2, len(free))))
    for axis in axes:
        size, step = x.shape[axis], random.choice((1, 1, 1, 2, -1))
        first, last = sorted((random.randrange(size), random.randrange(size)))
        start, end = (first, last + 1) if step > 0 else (last, first - 1)
        starts.append(start if random.random() < 0.7 else start - size)
        ends.append((end if end < size else random.choice((size, 2**63 - 1))) if end >= 0 else -size - 1)
        steps.append(step)
    sketch.inferred("Slice", [x, *(sketch.integers(*some) for some in (starts, ends, axes, steps))])


def draw_gather(sketch: Sketch, x: Value) -> None:
    """Some places of an axis, or one."""
    free = _free_axes(x)
    if not free:
        return
    axis = sketch.random.choice(free)
    places = [sketch.random.randrange(-x.shape[axis], x.shape[axis]) for _ in range(sketch.random.randint(1, 3))]
    indices = sketch.integers(*places) if len(places) > 1 else sketch.number(places[0], "int64")
    sketch.inferred("Gather", [x, indices], axis=axis)


def draw_lookup(sketch: Sketch, x: Value) -> None:
    """Rows of a matrix at places that are computed, in each of the ways that ONNX has of saying it."""
    if x.dtype != "float32" or x.dynamic or len(x.shape) != MATRIX:
        return
    random, (rows, columns) = sketch.random, x.shape
    known = [one for one in sketch.values if one.dtype == "int64" and not one.dynamic and len(one.shape) <= MATRIX]
    numbers = random.choice([*known, sketch.weight("int64", (3,))])
    places = sketch.node("Mod", [numbers, sketch.number(rows, "int64")], numbers)
    name = random.choice(("Gather", "GatherND", "GatherElements"))
    if name == "Gather":
        sketch.inferred(name, [x, places])
        return
    alone = sketch.inferred("Unsqueeze", [places, sketch.integers(-1)])
    if name == "GatherND":
        sketch.inferred(name, [x, alone])
    elif len(alone.shape) == MATRIX:
        whole = sketch.inferred("Expand", [alone, sketch.integers(1, columns)])
        sketch.inferred(name, [x, whole])


def draw_pad(sketch: Sketch, x: Value) -> None:
    """Padding of the last axes."""
    free = _free_axes(x)
    if x.dtype != "float32" or not free:
        return
    random = sketch.random
    mode = random.choice(("constant", "constant", "edge", "reflect"))
    most = [min(2, size - 1) if mode == "reflect" else 2 for size in x.shape]
    pads = [random.randint(0, most[axis]) if axis in free[-2:] else 0 for _ in range(2) for axis in range(len(x.shape))]
    more = [sketch.number(random.choice((0, 0, 1)), x.dtype)] if mode == "constant" and random.random() < 0.5 else []
    sketch.inferred("Pad", [x, sketch.integers(*pads), *more], mode=mode)


def draw_shape(sketch: Sketch, x: Value) -> None:
    """The same elements, or more of them, in another shape."""
    random, rank = sketch.random, len(x.shape)
    if not rank:
        return
    match random.randrange(5):
        case 0:
            sketch.inferred("Unsqueeze", [x, sketch.integers(random.choice((rank, -1, 1)))])
        case 1:
            ones = [axis for axis in _free_axes(x) if x.shape[axis] == 1]
            if ones:
                sketch.inferred("Squeeze", [x, sketch.integers(random.choice(ones))])
        case 2:
            sketch.inferred("Flatten", [x], axis=random.choice((1, -1) if rank > 1 and not x.dynamic else (1,)))
        case 3:
            shape = [random.choice((1, 3)) if size == 1 and axis else 1 for axis, size in enumerate(x.shape)]
            sketch.inferred(random.choice(("Expand", "Tile")), [x, sketch.integers(*shape)])
        case _:
            _blocks(sketch, x)


def _blocks(sketch: Sketch, x: Value) -> None:
    if x.dtype != "float32" or len(x.shape) != 4:
        return
    if not x.shape[1] % 4:
        sketch.inferred("DepthToSpace", [x], blocksize=2, mode=sketch.random.choice(("DCR", "CRD")))
    elif not (x.shape[2] % 2 or x.shape[3] % 2):
        sketch.inferred("SpaceToDepth", [x], blocksize=2)


def draw_window(sketch: Sketch, x: Value) -> None:
    """A convolution or a pooling over one to three axes, with steps, holes and padding of every kind."""
    axes = len(x.shape) - 2
    if x.dtype != "float32" or not 1 <= axes <= 3:
        return
    random, sizes = sketch.random, x.shape[2:]
    kernel = [random.choice((1, 2, 3)) for _ in sizes]
    chosen: dict[str, Any] = {"kernel_shape": kernel, "strides": [random.choice((1, 1, 2)) for _ in sizes]}
    if random.random() < 0.3:
        chosen["auto_pad"] = random.choice(("SAME_UPPER", "SAME_LOWER"))
    else:
        chosen["pads"] = [random.randint(0, size - 1) for _ in range(2) for size in kernel]
        begins, ends = chosen["pads"][:axes], chosen["pads"][axes:]
        if any(b + n + e < k for b, n, e, k in zip(begins, sizes, ends, kernel, strict=True)):
            return
    name = random.choice(("Conv", "Conv", "MaxPool", "AveragePool", "LpPool", "ConvTranspose"))
    if name == "Conv":
        groups = random.choice([group for group in (1, 2, x.shape[1]) if not x.shape[1] % group])
        weight = sketch.weight(x.dtype, (groups * random.choice((1, 2)), x.shape[1] // groups, *kernel), 0.3)
        sketch.inferred(name, [x, weight], group=groups, **chosen)
    elif name == "ConvTranspose":
        chosen.pop("auto_pad", None)
        chosen["pads"] = [0] * 2 * axes
        sketch.inferred(name, [x, sketch.weight(x.dtype, (x.shape[1], 2, *kernel), 0.3)], **chosen)
    else:
        if name == "AveragePool":
            chosen["count_include_pad"] = random.randrange(2)
        if "pads" in chosen and name != "LpPool":
            chosen["ceil_mode"] = int(random.random() < 0.3)
        sketch.inferred(name, [x], **chosen)


def draw_global(sketch: Sketch, x: Value) -> None:
    """A pooling over whole images."""
    if x.dtype == "float32" and len(x.shape) in (3, 4):
        sketch.inferred(sketch.random.choice(("GlobalAveragePool", "GlobalMaxPool")), [x])


def draw_resize(sketch: Sketch, x: Value) -> None:
    """An image of another size, by scales or sizes, in all modes."""
    if x.dtype != "float32" or len(x.shape) != 4 or max(x.shape) > 32:
        return
    random = sketch.random
    mode = random.choice(("nearest", "linear", "cubic"))
    chosen: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": random.choice(PLACES)}
    if mode == "nearest":
        chosen["nearest_mode"] = random.choice(NEAREST)
    scales = [1.0, 1.0, random.choice((1.0, 2.0, 3.0, 1.5)), random.choice((1.0, 2.0, 0.5))]
    if random.random() < 0.5 or x.dynamic:
        sketch.inferred("Resize", [x, "", sketch.constant(np.array(scales, np.float32))], **chosen)
    else:
        sizes = [max(1, int(size * scale)) for size, scale in zip(x.shape, scales, strict=True)]
        sketch.inferred("Resize", [x, "", "", sketch.integers(*sizes)], **chosen)


def draw_normalization(sketch: Sketch, x: Value) -> None:
    """A normalization over channels, images or the last axis."""
    if x.dtype != "float32" or len(x.shape) < 2:
        return
    random, channels = sketch.random, x.shape[1]
    scale, shift, mean = (sketch.weight(x.dtype, (channels,)) for _ in range(3))
    match random.randrange(7):
        case 0:
            spread = sketch.constant(sketch.generator.uniform(0.5, 2, channels).astype(x.dtype))
            sketch.inferred("BatchNormalization", [x, scale, shift, mean, spread], epsilon=1e-3)
        case 1 if len(x.shape) > 2:
            sketch.inferred("InstanceNormalization", [x, scale, shift], epsilon=1e-2)
        case 2 if sketch.opset >= 17:
            axis = random.randint(1, len(x.shape) - 1)
            weights = [sketch.weight(x.dtype, x.shape[axis:]) for _ in range(random.choice((1, 2)))]
            sketch.inferred("LayerNormalization", [x, *weights], axis=axis - random.choice((0, len(x.shape))))
        case 3 if len(x.shape) == 4:
            sketch.inferred("LRN", [x], size=random.choice((1, 3)))
        case 4 if sketch.opset >= 21 and len(x.shape) > 2:
            sketch.node("GroupNormalization", [x, scale, shift], x, num_groups=random.choice((1, channels)))
        case 5 if sketch.opset >= 23:
            sketch.node("RMSNormalization", [x, sketch.weight(x.dtype, x.shape[-1:])], x, axis=-1)
        case _:
            axis = random.choice(range(1, len(x.shape)))
            sketch.inferred(random.choice(("Softmax", "LogSoftmax")), [x], axis=axis)


def draw_einsum(sketch: Sketch, x: Value) -> None:
    """A product by an equation."""
    equation = EQUATIONS.get(len(x.shape))
    if x.dtype != "float32" or equation is None:
        return
    kept = [one for one in equation if not x.dynamic or one.split("->")[1].startswith("a")]
    chosen, width = sketch.random.choice(kept), sketch.random.choice((2, 3))
    second = chosen.split(",")[1].split("->")[0]
    shared = "abcd"[len(x.shape) - 1]
    shape = tuple(x.shape[-1] if letter == shared else width for letter in second)
    sketch.inferred("Einsum", [x, sketch.weight(x.dtype, shape, 0.5)], equation=chosen)


def draw_fourier(sketch: Sketch, x: Value) -> None:
    """A Fourier transform of real numbers, of whole rows or of windows."""
    if x.dtype != "float32" or len(x.shape) != 2 or sketch.opset < 17 or x.shape[1] < 4:
        return
    sided = sketch.random.randrange(2)
    if sketch.random.random() < 0.5:
        frames = sketch.number(sketch.random.choice((1, 2)), "int64")
        sketch.inferred("STFT", [x, frames, "", sketch.number(4, "int64")], onesided=sided)
        return
    line = sketch.inferred("Unsqueeze", [x, sketch.integers(-1)])
    if sketch.opset < AXIS_OF_DFT_IS_AN_INPUT:
        sketch.inferred("DFT", [line], axis=1, onesided=sided)
    else:
        sketch.inferred("DFT", [line, "", sketch.number(1, "int64")], onesided=sided)


def draw_recurrence(sketch: Sketch, x: Value) -> None:
    """An LSTM, a GRU or a plain recurrence, mostly forward, with and without biases and first states."""
    if x.dtype != "float32" or len(x.shape) != 3 or x.dynamic:
        return
    random, (_, batch, inputs), hidden = sketch.random, x.shape, sketch.random.choice((2, 3, 4))
    name, gates = random.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    direction = random.choice(("forward", "forward", "reverse", "bidirectional"))
    ways = 2 if direction == "bidirectional" else 1
    shapes = ((ways, gates * hidden, inputs), (ways, gates * hidden, hidden))
    operands: list[Value | str] = [x, *(sketch.weight(x.dtype, shape, 0.4) for shape in shapes)]
    operands.append(sketch.weight(x.dtype, (ways, 2 * gates * hidden), 0.4) if random.random() < 0.7 else "")
    if random.random() < 0.5:
        operands += ["", sketch.weight(x.dtype, (ways, batch, hidden), 0.4)]
    chosen: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if name == "GRU":
        chosen["linear_before_reset"] = random.randrange(2)
    sketch.inferred(name, operands, outputs=random.choice((1, 2)), **chosen)


def draw_attention(sketch: Sketch, x: Value) -> None:
    """Words that attend to each other."""
    if x.dtype != "float32" or len(x.shape) != 3:
        return
    if sketch.opset >= 23 and sketch.random.random() < 0.5:
        sketch.inferred("Attention", [x, x, x], q_num_heads=1, kv_num_heads=1)
        return
    words = sketch.inferred("Transpose", [x], perm=[0, 2, 1])
    scores = sketch.inferred("MatMul", [x, words])
    scaled = sketch.node("Mul", [scores, sketch.number(0.25, x.dtype)], scores)
    weights = sketch.node("Softmax", [scaled], scaled, axis=-1)
    sketch.inferred("MatMul", [weights, x])


def draw_unknown(sketch: Sketch, x: Value) -> None:
    """An operator that no specification describes."""
    free = _free_axes(x)
    if x.dtype != "float32" or not free:
        return
    axis = sketch.random.choice(free)
    match sketch.random.randrange(3):
        case 0:
            sketch.inferred("CumSum", [x, sketch.number(axis, "int64")])
        case 1:
            sketch.inferred("ArgMax", [x], axis=axis, keepdims=sketch.random.randrange(2))
        case _:
            sketch.inferred("TopK", [x, sketch.integers(1)], axis=axis, outputs=2)


def _free_axes(x: Value) -> list[int]:
    """The axes of known sizes."""
    return list(range(1 if x.dynamic else 0, len(x.shape)))


OPERATORS: Sequence[Draw] = (
    *[draw_function] * 2, draw_positive, draw_several, draw_choice, *[draw_reduction] * 2, *[draw_slice] * 2,
    draw_gather, *[draw_lookup] * 2, draw_pad, *[draw_shape] * 2, *[draw_window] * 3, draw_global, *[draw_resize] * 2,
    *[draw_normalization] * 2, draw_einsum, *[draw_fourier] * 2, *[draw_recurrence] * 2, *[draw_attention] * 2,
    draw_unknown,
)  # fmt: skip
