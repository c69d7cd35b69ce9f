"""Layer normalization and GELU, each spelled in five ways between dense layers.

Input [1, 128, 256], for GELU [1, 256, 128]; for each spelling a dense layer of the same width and

layernorm_spellings: a layer normalization with scale and shift: by d * d, with the reciprocal, with the power -1/2, by
the mean of squares less the square of the mean, and with Pow and Sqrt as exporters write it.
gelu_spellings: with h = erf(x / sqrt(2)), x * (0.5 * (1 + h)), 0.5 x + 0.5 x * h, and x * (1 + h) * 0.5 as exporters
write it; with t = tanh(sqrt(2 / pi) * (x + 0.044715 x^3)), 0.5 x * (1 + t), the cube by Pow and by products.

Deviation 1/sqrt(fan-in); scales uniform in 0.7..1.3, shifts 0.1.
"""

import math
from collections.abc import Callable

import onnx

from .builder import GraphBuilder, linear
from .transformer_parts import exported_gelu

EPSILON = 1e-5


def layernorm_spellings(sequence: int = 128, width: int = 256, rounds: int = 2) -> onnx.ModelProto:
    """Every spelling `rounds` times; input and output [1, sequence, width]."""
    b = GraphBuilder("layernorm_spellings")
    value = b.graph_input("rows", (1, sequence, width))
    for _ in range(rounds):
        for normalized in SPELLINGS:
            value = linear(b, value, width, width)
            scale = b.constant(b.draw_uniform((width,), 0.7, 1.3), "scale")
            shift = b.normal((width,), 0.1, "shift")
            value = b.node("Add", b.node("Mul", normalized(b, value), scale), shift)
    b.graph_output(value, (1, sequence, width))
    return b.build()


def gelu_spellings(sequence: int = 256, width: int = 128, rounds: int = 2) -> onnx.ModelProto:
    """Every spelling `rounds` times; input and output [1, sequence, width]."""
    b = GraphBuilder("gelu_spellings")
    value = b.graph_input("rows", (1, sequence, width))
    for _ in range(rounds):
        for activated in GELUS:
            value = activated(b, linear(b, value, width, width))
    b.graph_output(value, (1, sequence, width))
    return b.build()


def _mean(b: GraphBuilder, value: str) -> str:
    return b.node("ReduceMean", value, axes=[-1], keepdims=1)


def _centred(b: GraphBuilder, value: str) -> str:
    return b.node("Sub", value, _mean(b, value))


def _shifted(b: GraphBuilder, variance: str) -> str:
    return b.node("Add", variance, b.scalar(EPSILON))


def _by_products(b: GraphBuilder, value: str) -> str:
    centred = _centred(b, value)
    variance = _mean(b, b.node("Mul", centred, centred))
    return b.node("Div", centred, b.node("Sqrt", _shifted(b, variance)))


def _by_reciprocal(b: GraphBuilder, value: str) -> str:
    centred = _centred(b, value)
    variance = _mean(b, b.node("Mul", centred, centred))
    return b.node("Mul", centred, b.node("Reciprocal", b.node("Sqrt", _shifted(b, variance))))


def _by_power(b: GraphBuilder, value: str) -> str:
    centred = _centred(b, value)
    variance = _mean(b, b.node("Mul", centred, centred))
    return b.node("Mul", centred, b.node("Pow", _shifted(b, variance), b.scalar(-0.5)))


def _by_squares(b: GraphBuilder, value: str) -> str:
    mean = _mean(b, value)
    variance = b.node("Sub", _mean(b, b.node("Mul", value, value)), b.node("Mul", mean, mean))
    return b.node("Div", b.node("Sub", value, mean), b.node("Sqrt", _shifted(b, variance)))


def _as_exported(b: GraphBuilder, value: str) -> str:
    centred = _centred(b, value)
    variance = _mean(b, b.node("Pow", centred, b.scalar(2.0)))
    return b.node("Div", centred, b.node("Sqrt", _shifted(b, variance)))


SPELLINGS: tuple[Callable[[GraphBuilder, str], str], ...] = (
    _by_products,
    _by_reciprocal,
    _by_power,
    _by_squares,
    _as_exported,
)


def _erf(b: GraphBuilder, value: str) -> str:
    return b.node("Erf", b.node("Div", value, b.scalar(math.sqrt(2))))


def _gelu_by_half_of_sum(b: GraphBuilder, value: str) -> str:
    half = b.node("Mul", b.scalar(0.5), b.node("Add", _erf(b, value), b.scalar(1.0)))
    return b.node("Mul", value, half)


def _gelu_by_sum_of_halves(b: GraphBuilder, value: str) -> str:
    half = b.node("Mul", value, b.scalar(0.5))
    return b.node("Add", half, b.node("Mul", half, _erf(b, value)))


def _gelu_by_tanh(b: GraphBuilder, value: str, cube: str) -> str:
    inner = b.node("Add", value, b.node("Mul", cube, b.scalar(0.044715)))
    bend = b.node("Tanh", b.node("Mul", inner, b.scalar(math.sqrt(2 / math.pi))))
    return b.node("Mul", b.node("Mul", value, b.scalar(0.5)), b.node("Add", bend, b.scalar(1.0)))


def _gelu_by_power(b: GraphBuilder, value: str) -> str:
    return _gelu_by_tanh(b, value, b.node("Pow", value, b.scalar(3.0)))


def _gelu_by_cube(b: GraphBuilder, value: str) -> str:
    return _gelu_by_tanh(b, value, b.node("Mul", b.node("Mul", value, value), value))


GELUS: tuple[Callable[[GraphBuilder, str], str], ...] = (
    exported_gelu,
    _gelu_by_half_of_sum,
    _gelu_by_sum_of_halves,
    _gelu_by_power,
    _gelu_by_cube,
)
