"""LayerNorm, GELU and attention of the BERT family, each in the spellings that its variants use."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from .builder import Array, GraphBuilder

Normalization = Callable[[GraphBuilder, str, str, str], str]
Activation = Callable[[GraphBuilder, str], str]

EPSILON = 1e-5


@dataclass(frozen=True)
class Projections:
    """The weights [width, width] and biases [width] of query, key, value, as numbers that a variant may cut."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]
    heads: int


Attention = Callable[[GraphBuilder, str, Projections, int], str]


def exported_layer_norm(b: GraphBuilder, value: str, scale: str, shift: str) -> str:
    """LayerNorm over the last axis as exporters decompose it: Pow 2, Sqrt, Div."""
    centred = _centred(b, value)
    variance = b.node("ReduceMean", b.node("Pow", centred, b.scalar(2.0)), axes=[-1], keepdims=1)
    deviation = b.node("Sqrt", b.node("Add", variance, b.scalar(EPSILON)))
    return b.node("Add", b.node("Mul", b.node("Div", centred, deviation), scale), shift)


def respelled_layer_norm(b: GraphBuilder, value: str, scale: str, shift: str) -> str:
    """The same LayerNorm with d * d for the square and a product with the reciprocal for the division."""
    centred = _centred(b, value)
    variance = b.node("ReduceMean", b.node("Mul", centred, centred), axes=[-1], keepdims=1)
    inverse = b.node("Reciprocal", b.node("Sqrt", b.node("Add", variance, b.scalar(EPSILON))))
    return b.node("Add", b.node("Mul", scale, b.node("Mul", centred, inverse)), shift)


def exported_gelu(b: GraphBuilder, value: str) -> str:
    """GELU as exporters write it: x * (1 + erf(x / sqrt(2))) * 0.5."""
    error = b.node("Erf", b.node("Div", value, b.scalar(math.sqrt(2.0))))
    return b.node("Mul", b.node("Mul", value, b.node("Add", error, b.scalar(1.0))), b.scalar(0.5))


def respelled_gelu(b: GraphBuilder, value: str) -> str:
    """GELU as 0.5 x + (0.5 x) * erf(x * sqrt(1/2)), which the runtime does not recognise."""
    error = b.node("Erf", b.node("Mul", value, b.scalar(math.sqrt(0.5))))
    half = b.node("Mul", value, b.scalar(0.5))
    return b.node("Add", half, b.node("Mul", half, error))


def exported_attention(b: GraphBuilder, value: str, parts: Projections, sequence: int) -> str:
    """Multi-head softmax attention on [1, sequence, width], scores divided by sqrt(head width)."""
    width = parts.weights[0].shape[0]
    inner = width // parts.heads
    query, key, content = (
        b.reshape(_project(b, value, weight, bias), (1, sequence, parts.heads, inner))
        for weight, bias in zip(parts.weights, parts.biases, strict=True)
    )
    scores = b.node(
        "MatMul",
        b.node("Transpose", query, perm=[0, 2, 1, 3]),
        b.node("Transpose", key, perm=[0, 2, 3, 1]),
    )
    shares = b.node("Softmax", b.node("Div", scores, b.scalar(math.sqrt(inner))), axis=-1)
    mixed = b.node("MatMul", shares, b.node("Transpose", content, perm=[0, 2, 1, 3]))
    return b.reshape(b.node("Transpose", mixed, perm=[0, 2, 1, 3]), (1, sequence, width))


def respelled_attention(b: GraphBuilder, value: str, parts: Projections, sequence: int) -> str:
    """The same attention with the scale on the query and the softmax written out over its shifted exponentials."""
    width = parts.weights[0].shape[0]
    inner = width // parts.heads
    query, key, content = (
        b.node(
            "Transpose",
            b.reshape(_project(b, value, weight, bias), (1, sequence, parts.heads, inner)),
            perm=[0, 2, 1, 3],
        )
        for weight, bias in zip(parts.weights, parts.biases, strict=True)
    )
    query = b.node("Mul", query, b.scalar(1.0 / math.sqrt(inner)))
    scores = b.node("MatMul", query, b.node("Transpose", key, perm=[0, 1, 3, 2]))
    raised = b.node("Exp", b.node("Sub", scores, b.node("ReduceMax", scores, axes=[-1], keepdims=1)))
    total = b.node("ReduceSum", raised, b.integers((-1,)), keepdims=1)
    mixed = b.node("MatMul", b.node("Div", raised, total), content)
    return b.reshape(b.node("Transpose", mixed, perm=[0, 2, 1, 3]), (1, sequence, width))


def attention_by_head(b: GraphBuilder, value: str, parts: Projections, sequence: int) -> str:
    """The same attention where every head has its own three small matmuls; the heads are concatenated."""
    inner = parts.weights[0].shape[0] // parts.heads
    heads = []
    for head in range(parts.heads):
        cut = slice(head * inner, (head + 1) * inner)
        query, key, content = (
            _project(b, value, weight[:, cut], bias[cut])
            for weight, bias in zip(parts.weights, parts.biases, strict=True)
        )
        scores = b.node("MatMul", query, b.node("Transpose", key, perm=[0, 2, 1]))
        shares = b.node("Softmax", b.node("Div", scores, b.scalar(math.sqrt(inner))), axis=-1)
        heads.append(b.node("MatMul", shares, content))
    return b.node("Concat", *heads, axis=-1)


def _project(b: GraphBuilder, value: str, weight: Array, bias: Array) -> str:
    return b.node("Add", b.node("MatMul", value, b.constant(weight)), b.constant(bias, "bias"))


def _centred(b: GraphBuilder, value: str) -> str:
    return b.node("Sub", value, b.node("ReduceMean", value, axes=[-1], keepdims=1))
