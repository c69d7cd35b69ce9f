"""Random models of our own: what the specifications know beside what they do not, with everything graphs are allowed.

Several element types, symbolic sizes, weights and values with several users, initializers with defaults, constants as
nodes, local functions, branches with captured values, quantized pairs, values that are used and are outputs.
Values stay small and smooth, so that a difference means a wrong model and not a rounding blown up.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

from .random_sketch import CODES, FLOATS, Draw, Sketch, Value

UNARY = ("Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Identity")
FLOAT32_UNARY = ("LeakyRelu", "Elu", "Softplus", "HardSigmoid", "HardSwish", "Selu", "Erf", "Softsign", "Sin")
BINARY = ("Add", "Sub", "Mul", "Max", "Min")
OPSETS, LATELY = (14, 15, 17, 18, 20), (14, 15, 17, 18, 20, 21, 23)
"""Versions of ONNX's operators; models with operators of all kinds may have newer ones."""

SIZES = (1, 2, 3, 4, 6, 8)
RANKS, IMAGES = (1, 2, 2, 2, 3, 4), (1, 2, 2, 3, 3, 4, 4, 4)
"""Ranks of inputs; those for models with operators of all kinds have more images among them."""

SYMBOL, BOUND = "N", 2
"""The symbolic size, at most the first axis, and the number that shapes count with."""


def random_model(seed: int, operators: Sequence[Draw] = ()) -> ModelProto:
    """A valid model of 4 to 24 nodes, or more where `operators` are drawn too; the same for the same seed."""
    random = Random(seed)
    sketch = Sketch(random, np.random.default_rng(seed), random.choice(LATELY if operators else OPSETS))
    draws, ranks = (*DRAWS, *operators), IMAGES if operators else RANKS
    for number in range(random.randint(1, 3)):
        _add_input(sketch, f"x{number}", random.choice(ranks))
    for _ in range(random.randint(4, 24)):
        operand = random.choice(sketch.values[-6:] if random.random() < 0.7 else sketch.values)
        random.choice(draws)(sketch, operand)
    used = {name for node in sketch.nodes for name in node.input}
    ends = [value for value in sketch.values if value.name not in used]
    more = random.sample(sketch.values, min(2, len(sketch.values))) if random.random() < 0.4 else []
    outputs = list(dict.fromkeys([*ends, *more]))
    random.shuffle(outputs)
    graph = helper.make_graph(
        sketch.nodes, f"random{seed}", sketch.inputs, [_info(value) for value in outputs], sketch.initializers
    )
    opsets = [helper.make_opsetid("", sketch.opset), helper.make_opsetid("local", 1)]
    ir_version = max(random.choice((8, 9, 10)), helper.find_min_ir_version_for(opsets, ignore_unknown=True))
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version, functions=sketch.functions)


def _add_input(sketch: Sketch, name: str, rank: int) -> None:
    random = sketch.random
    dtype = random.choice(("float32",) * 6 + ("float64", "float16", "int64"))
    dynamic = random.random() < 0.4
    shape = (BOUND if dynamic else random.choice(SIZES), *(random.choice(SIZES) for _ in range(rank - 1)))
    value = Value(name, dtype, shape, dynamic)
    sketch.values.append(value)
    sketch.inputs.append(_info(value))


def _info(value: Value) -> ValueInfoProto:
    shape = [SYMBOL if value.dynamic and axis == 0 else size for axis, size in enumerate(value.shape)]
    return helper.make_tensor_value_info(value.name, CODES[value.dtype], shape)


def _unary(sketch: Sketch, x: Value) -> None:
    if x.dtype not in FLOATS:
        sketch.node("Neg" if x.dtype != "bool" else "Not", [x], x)
        return
    known = UNARY + (FLOAT32_UNARY if x.dtype == "float32" else ())
    sketch.node(sketch.random.choice(known), [x], x)


def _binary(sketch: Sketch, x: Value) -> None:
    if x.dtype == "bool":
        return
    alike = [value for value in sketch.values if (value.dtype, value.shape) == (x.dtype, x.shape)]
    alike = [value for value in alike if value.dynamic == x.dynamic]
    form = sketch.random.randrange(4)
    if form == 0:
        other = sketch.weight(x.dtype, x.shape[-1:])
    elif form == 1:
        other = sketch.weight(x.dtype, ())
    elif form == 2 and not x.dynamic:
        other = sketch.weight(x.dtype, x.shape)
    else:
        other = sketch.random.choice(alike)
    operands = [x, other] if sketch.random.random() < 0.6 else [other, x]
    known = [name for name in BINARY if name != "Sub" or x != other]  # x - x would leave nothing but rounding
    bounded = sketch.node(sketch.random.choice(known), operands, x)
    if x.dtype in FLOATS and sketch.random.random() < 0.5:
        sketch.node("Tanh", [bounded], x)


def _matmul(sketch: Sketch, x: Value) -> None:
    if x.dtype not in ("float32", "float64") or len(x.shape) < 2:
        return
    width = sketch.random.choice(SIZES)
    like = Value("", x.dtype, (*x.shape[:-1], width), x.dynamic)
    weight = sketch.weight(x.dtype, (x.shape[-1], width), x.shape[-1] ** -0.5)
    if len(x.shape) == 2 and sketch.random.random() < 0.3:
        bias = sketch.weight(x.dtype, (width,))
        sketch.node("Gemm", [x, weight, bias], like, alpha=sketch.random.choice((1.0, 0.5)))
    elif len(x.shape) == 2 and sketch.random.random() < 0.3:
        scores = sketch.node("MatMul", [x, weight], like)
        sketch.node("Add", [scores, sketch.weight(x.dtype, (width,))], like)
    else:
        sketch.node("MatMul", [x, weight], like)


def _siblings(sketch: Sketch, x: Value) -> None:
    """Several products of one value, or one weight for several values: what rules merge."""
    if x.dtype != "float32" or len(x.shape) != 2:
        return
    width = sketch.random.choice(SIZES)
    like = Value("", x.dtype, (x.shape[0], width), x.dynamic)
    shape, scale = (x.shape[1], width), x.shape[1] ** -0.5
    count = sketch.random.randint(2, 4)
    parts = [sketch.node("MatMul", [x, sketch.weight(x.dtype, shape, scale)], like) for _ in range(count)]
    joined = Value("", x.dtype, (x.shape[0], width * len(parts)), x.dynamic)
    if sketch.random.random() < 0.5:
        sketch.node("Concat", parts, joined, axis=sketch.random.choice((1, -1)))
    else:
        sketch.node("Sum", parts, like)


def _transpose(sketch: Sketch, x: Value) -> None:
    axes = list(range(len(x.shape)))
    sketch.random.shuffle(axes)
    if not axes or (x.dynamic and axes[0] != 0):
        return
    like = Value("", x.dtype, tuple(x.shape[axis] for axis in axes), x.dynamic)
    sketch.node("Transpose", [x], like, perm=axes)


def _reshape(sketch: Sketch, x: Value) -> None:
    if len(x.shape) < 2:
        return
    rest = int(np.prod(x.shape[1:]))
    like = Value("", x.dtype, (x.shape[0], rest), x.dynamic)
    sketch.node("Reshape", [x, sketch.integers(0, -1)], like)


def _concat(sketch: Sketch, x: Value) -> None:
    if not x.shape or x.dtype == "bool":
        return
    axis = sketch.random.randrange(len(x.shape))
    if x.dynamic and axis == 0:
        return
    shape = tuple(size * (2 if at == axis else 1) for at, size in enumerate(x.shape))
    sketch.node("Concat", [x, x], Value("", x.dtype, shape, x.dynamic), axis=axis)


def _split(sketch: Sketch, x: Value) -> None:
    axis = len(x.shape) - 1
    if not x.shape or x.shape[axis] < 2 or (x.dynamic and axis == 0):
        return
    first = sketch.random.randint(1, x.shape[axis] - 1)
    sizes = (first, x.shape[axis] - first)
    parts = [Value(sketch.name(f"p{at}"), x.dtype, (*x.shape[:-1], size), x.dynamic) for at, size in enumerate(sizes)]
    names = [part.name for part in parts]
    sketch.nodes.append(helper.make_node("Split", [x.name, sketch.integers(*sizes).name], names, axis=-1))
    sketch.values.extend(parts)


def _convolution(sketch: Sketch, x: Value) -> None:
    if x.dtype != "float32" or len(x.shape) != 4:
        return
    channels, kernel = sketch.random.choice((2, 4, 8)), sketch.random.choice((1, 3))
    groups = sketch.random.choice(
        [group for group in (1, 2, x.shape[1]) if not (x.shape[1] % group or channels % group)]
    )
    like = Value("", x.dtype, (x.shape[0], channels, *x.shape[2:]), x.dynamic)
    fan = x.shape[1] // groups * kernel**2
    weight = sketch.weight(x.dtype, (channels, x.shape[1] // groups, kernel, kernel), fan**-0.5)
    bias = [sketch.weight(x.dtype, (channels,))] if sketch.random.random() < 0.5 else []
    pads = [kernel // 2] * 4
    made = sketch.node("Conv", [x, weight, *bias], like, kernel_shape=[kernel] * 2, pads=pads, group=groups)
    if sketch.random.random() < 0.5:
        operator = sketch.random.choice(("MaxPool", "AveragePool"))
        sketch.node(operator, [made], like, kernel_shape=[3, 3], pads=[1] * 4)


def _function(sketch: Sketch, x: Value) -> None:
    if x.dtype != "float32":
        return
    if not sketch.functions:
        nodes = [helper.make_node("Tanh", ["a"], ["t"]), helper.make_node("Add", ["t", "a"], ["b"])]
        opsets = [helper.make_opsetid("", sketch.opset)]
        sketch.functions.append(helper.make_function("local", "residual", ["a"], ["b"], nodes, opsets))
    made = Value(sketch.name(), x.dtype, x.shape, x.dynamic)
    sketch.nodes.append(helper.make_node("residual", [x.name], [made.name], domain="local"))
    sketch.values.append(made)


def _branch(sketch: Sketch, x: Value) -> None:
    if x.dtype not in FLOATS:
        return
    test = sketch.node("ReduceSum", [x], Value("", x.dtype, ()), keepdims=0)
    zero = sketch.weight(x.dtype, ())
    flag = sketch.node("Greater", [test, zero], Value("", "bool", ()))
    bodies = {}
    for name, operator in (("then_branch", "Tanh"), ("else_branch", "Sigmoid")):
        result = Value(f"{name}{len(sketch.nodes)}", x.dtype, x.shape, x.dynamic)
        node = helper.make_node(operator, [x.name], [result.name])
        bodies[name] = helper.make_graph([node], name, [], [_info(result)])
    sketch.node("If", [flag], x, **bodies)


def _quantized(sketch: Sketch, x: Value) -> None:
    if x.dtype != "float32":
        return
    scale, zero = sketch.name("scale"), sketch.name("zero")
    sketch.initializers.append(numpy_helper.from_array(np.array(0.05, np.float32), scale))
    sketch.initializers.append(numpy_helper.from_array(np.array(128, np.uint8), zero))
    inner = sketch.name("q")
    sketch.nodes.append(helper.make_node("QuantizeLinear", [x.name, scale, zero], [inner]))
    sketch.node("DequantizeLinear", [inner, scale, zero], x)


def _other(sketch: Sketch, x: Value) -> None:
    if x.dtype not in FLOATS or not x.shape:
        return
    match sketch.random.randrange(5):
        case 0:
            sketch.node("Softmax", [x], x, axis=-1)
        case 1:
            sketch.node("LogSoftmax", [x], x, axis=-1)
        case 2:
            target = "float64" if x.dtype == "float32" else "float32"
            sketch.node("Cast", [x], Value("", target, x.shape, x.dynamic), to=CODES[target])
        case 3:
            sketch.node("Clip", [x, sketch.weight(x.dtype, ()), ""], x)
        case _:
            sketch.node("Dropout", [x], x)


DRAWS: Sequence[Draw] = (
    *[_unary] * 4, *[_binary] * 5, *[_matmul] * 4, *[_siblings] * 3, _transpose, _transpose, _reshape, _concat, _concat,
    _split, _split, *[_convolution] * 5, _function, _branch, _quantized, _other, _other,
)  # fmt: skip
