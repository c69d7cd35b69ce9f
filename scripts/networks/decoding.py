"""One step of a decoder whose heads share keys and values.

grouped_queries (Ainslie et al., "GQA", EMNLP 2023): 2 layers on x of [1, 1, width 512], one new token; 8 heads of 64 in
    2 groups, each with keys and values of 512 tokens before and of the new one: inputs [1, 2, 512, 64], outputs
    [1, 2, 513, 64]. These are repeated for the heads of a group as torch.onnx writes it: Unsqueeze, Expand, Reshape.
    x = x + softmax(Q K^T / 8) V Wo. Deviation 1/sqrt(fan-in).
"""

import onnx

from .builder import GraphBuilder

HEAD = 64


def grouped_queries(
    layers: int = 2, width: int = 512, heads: int = 8, groups: int = 2, before: int = 512
) -> onnx.ModelProto:
    """The attention of a decoder for one token; output [1, 1, width], and all keys and values."""
    b = GraphBuilder("grouped_queries")
    x = b.graph_input("x", (1, 1, width))
    for layer in range(layers):
        query = _heads(b, x, width, heads)
        shape = (1, groups, before, HEAD)
        key, value = (_extended(b, x, f"{name}{layer}", width, shape) for name in ("keys", "values"))
        scores = b.node("MatMul", query, b.node("Transpose", _repeated(b, key, shape, heads), perm=[0, 1, 3, 2]))
        shares = b.node("Softmax", b.node("Div", scores, b.scalar(HEAD**0.5)), axis=-1)
        mixed = b.node("MatMul", shares, _repeated(b, value, shape, heads))
        joined = b.reshape(b.node("Transpose", mixed, perm=[0, 2, 1, 3]), (1, 1, heads * HEAD))
        x = b.node("Add", x, b.node("MatMul", joined, b.normal((heads * HEAD, width), (heads * HEAD) ** -0.5, "Wo")))
    b.graph_output(x, (1, 1, width))
    return b.build()


def _heads(b: GraphBuilder, x: str, width: int, heads: int) -> str:
    """A linear layer of the token, cut into heads."""
    product = b.node("MatMul", x, b.normal((width, heads * HEAD), width**-0.5, "W"))
    return b.node("Transpose", b.reshape(product, (1, 1, heads, HEAD)), perm=[0, 2, 1, 3])


def _extended(b: GraphBuilder, x: str, name: str, width: int, shape: tuple[int, int, int, int]) -> str:
    """The keys or values of all tokens, which are an output, too."""
    batch, groups, before, size = shape
    own = b.node("Concat", b.graph_input(name, shape), _heads(b, x, width, groups), axis=2)
    b.graph_output(own, (batch, groups, before + 1, size))
    return own


def _repeated(b: GraphBuilder, value: str, shape: tuple[int, int, int, int], heads: int) -> str:
    """The keys or values of each group for all of its heads."""
    batch, groups, before, size = shape
    apart = b.node("Unsqueeze", value, b.integers([2]))
    repeated = b.node("Expand", apart, b.integers([batch, groups, heads // groups, before + 1, size]))
    return b.reshape(repeated, (batch, heads, before + 1, size))
