"""Encoders of the BERT family: bare attention layers, and full encoders in several spellings.

bert_taso: 8 layers of attention alone on x of [sequence 64, width 1024], 16 heads, no biases: q, k, v = x W, reshaped
    to [sequence, heads, inner] and transposed to [heads, sequence, inner]; y = softmax(q k^T / sqrt(inner)) v,
    transposed and reshaped back; x = x + y Wo. This is the network of the TASO paper's artifact with the attention's
    result really used, a softmax, without which eight layers, each cubic in x, overflow or vanish, and the residual
    sum (residual=False leaves it out), without which all rows become equal after three layers.
bert_base: 8 layers on x of [1, sequence 128, width 768], 12 heads, biases everywhere:
    x = LayerNorm(x + attention(x) Wo + bo);  x = LayerNorm(x + gelu(x W1 + b1) W2 + b2), W1 four times wider;
    LayerNorm and GELU decomposed as exporters do.
bert_respelled: the same function of the same weights, LayerNorm, GELU and softmax in spellings that the runtime does
    not recognise.
bert_heads: the same function of the same weights, where every head has its own three small matmuls.
bert_small: bert_base with 2 layers, width 256, 4 heads, sequence 128 and weights of its own.
bert_first_token: bert_small with a classifier, tanh(t Wp + bp) Wc + bc, on the first token t of the last x, taken by
    Gather with the index 0.
bert_first_row: the same function of the same weights; the token is taken by Slice from 0 to 1.

Weights have standard deviation 1/sqrt(fan-in), biases 0.1; LayerNorm scales are normal(1, 0.1), shifts normal(0, 0.1).
The output is the last x, or what the classifier says.
"""

import math

import onnx

from .builder import GraphBuilder, linear
from .transformer_parts import (
    Activation,
    Attention,
    Normalization,
    Projections,
    attention_by_head,
    exported_attention,
    exported_gelu,
    exported_layer_norm,
    respelled_attention,
    respelled_gelu,
    respelled_layer_norm,
)


def bert_taso(
    layers: int = 8, width: int = 1024, heads: int = 16, sequence: int = 64, residual: bool = True
) -> onnx.ModelProto:
    """Layers of bare softmax attention; input and output [sequence, width]."""
    b = GraphBuilder("bert_taso")
    x = b.graph_input("x", (sequence, width))
    for _ in range(layers):
        mixed = _bare_attention(b, x, (sequence, heads, width // heads))
        x = b.node("Add", x, mixed) if residual else mixed
    b.graph_output(x, (sequence, width))
    return b.build()


def bert_base(layers: int = 8, width: int = 768, heads: int = 12, sequence: int = 128) -> onnx.ModelProto:
    """An encoder as exporters write it; input and output [1, sequence, width]."""
    b = GraphBuilder("bert_base")
    parts = (exported_attention, exported_layer_norm, exported_gelu)
    return _encoder(b, (layers, width, heads, sequence), *parts)


def bert_respelled(layers: int = 8, width: int = 768, heads: int = 12, sequence: int = 128) -> onnx.ModelProto:
    """bert_base in spellings that the runtime does not recognise; input and output [1, sequence, width]."""
    b = GraphBuilder("bert_respelled", family="bert_base")
    parts = (respelled_attention, respelled_layer_norm, respelled_gelu)
    return _encoder(b, (layers, width, heads, sequence), *parts)


def bert_heads(layers: int = 8, width: int = 768, heads: int = 12, sequence: int = 128) -> onnx.ModelProto:
    """bert_base with three small matmuls for every head; input and output [1, sequence, width]."""
    b = GraphBuilder("bert_heads", family="bert_base")
    parts = (attention_by_head, exported_layer_norm, exported_gelu)
    return _encoder(b, (layers, width, heads, sequence), *parts)


def bert_small(layers: int = 2, width: int = 256, heads: int = 4, sequence: int = 128) -> onnx.ModelProto:
    """A small encoder as exporters write it; input and output [1, sequence, width]."""
    b = GraphBuilder("bert_small")
    parts = (exported_attention, exported_layer_norm, exported_gelu)
    return _encoder(b, (layers, width, heads, sequence), *parts)


def bert_first_token(
    layers: int = 2, width: int = 256, heads: int = 4, sequence: int = 128, classes: int = 16
) -> onnx.ModelProto:
    """A small encoder and a classifier on its first token, taken by Gather; output [1, classes]."""
    b = GraphBuilder("bert_first_token")
    x = _exported_layers(b, (layers, width, heads, sequence))
    token = b.node("Gather", x, b.index(0), axis=1)
    b.graph_output(_classified(b, token, width, classes), (1, classes))
    return b.build()


def bert_first_row(
    layers: int = 2, width: int = 256, heads: int = 4, sequence: int = 128, classes: int = 16
) -> onnx.ModelProto:
    """The same encoder and classifier, the token taken by Slice; output [1, 1, classes]."""
    b = GraphBuilder("bert_first_row", "bert_first_token")
    x = _exported_layers(b, (layers, width, heads, sequence))
    token = b.node("Slice", x, b.integers((0,)), b.integers((1,)), b.integers((1,)))
    b.graph_output(_classified(b, token, width, classes), (1, 1, classes))
    return b.build()


def _exported_layers(b: GraphBuilder, sizes: tuple[int, int, int, int]) -> str:
    return _layers(b, sizes, exported_attention, exported_layer_norm, exported_gelu)


def _classified(b: GraphBuilder, token: str, width: int, classes: int) -> str:
    return linear(b, b.node("Tanh", linear(b, token, width, width)), width, classes)


def _bare_attention(b: GraphBuilder, x: str, shape: tuple[int, int, int]) -> str:
    sequence, heads, inner = shape
    width = heads * inner
    std = width**-0.5
    rows = []
    for name in ("Wq", "Wk", "Wv"):
        projected = b.node("MatMul", x, b.normal((width, width), std, name))
        rows.append(b.reshape(projected, shape))
    query, value = (b.node("Transpose", row, perm=[1, 0, 2]) for row in (rows[0], rows[2]))
    scores = b.node("MatMul", query, b.node("Transpose", rows[1], perm=[1, 2, 0]))
    shares = b.node("Softmax", b.node("Mul", scores, b.scalar(1 / math.sqrt(inner))), axis=-1)
    mixed = b.node("Transpose", b.node("MatMul", shares, value), perm=[1, 0, 2])
    return b.node("MatMul", b.reshape(mixed, (sequence, width)), b.normal((width, width), std, "Wo"))


def _encoder(
    b: GraphBuilder, sizes: tuple[int, int, int, int], attend: Attention, normalize: Normalization, gelu: Activation
) -> onnx.ModelProto:
    """A post-norm encoder of sizes (layers, width, heads, sequence) whose last x is the output."""
    _, width, _, sequence = sizes
    b.graph_output(_layers(b, sizes, attend, normalize, gelu), (1, sequence, width))
    return b.build()


def _layers(
    b: GraphBuilder, sizes: tuple[int, int, int, int], attend: Attention, normalize: Normalization, gelu: Activation
) -> str:
    """The last x of the encoder; draws weights in one order for all spellings."""
    layers, width, heads, sequence = sizes
    x = b.graph_input("x", (1, sequence, width))
    for _ in range(layers):
        mixed = attend(b, x, _projections(b, width, heads), sequence)
        x = normalize(b, b.node("Add", x, linear(b, mixed, width, width)), *_affine(b, width))
        wide = gelu(b, linear(b, x, width, 4 * width))
        x = normalize(b, b.node("Add", x, linear(b, wide, 4 * width, width)), *_affine(b, width))
    return x


def _projections(b: GraphBuilder, width: int, heads: int) -> Projections:
    weights = tuple(b.draw((width, width), width**-0.5) for _ in range(3))
    return Projections(weights, tuple(b.draw((width,), 0.1) for _ in range(3)), heads)


def _affine(b: GraphBuilder, width: int) -> tuple[str, str]:
    return b.normal((width,), 0.1, "scale", mean=1.0), b.normal((width,), 0.1, "shift")
