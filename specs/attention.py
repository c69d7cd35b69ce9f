"""Values mixed by the likeness of queries and keys, softmax(s q k^T + mask) v, an operator of its own since opset 23.

The factor of the scores, which ONNX keeps in an attribute, is an operand, as is the mask where there is one.
"""

from math import sqrt

from taso_opt.core.literal import literal
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.piecewise import fraction, ratio
from taso_opt.spec.shared.reductions import shares
from taso_opt.spec.shared.shapes import broadcast_shapes, is_number, same_dims, same_dtype

SINCE = 23
FLOAT = 1
"""The number of float32 among ONNX's element types."""

SWAP = (-1, -2)
RANK = 4
OTHER_MODES = ("is_causal", "q_num_heads", "kv_num_heads", "softcap", "qk_matmul_output_mode")
"""Attributes that ask for something else than the formula above when they are not 0."""


def infer(q, k, v, scale, *mask):
    dtype = same_dtype(q, k, v, scale, *mask)
    if {q.rank, k.rank, v.rank} != {RANK} or not is_number(scale) or len(mask) > 1:
        raise TypeMismatch(f"expected batches of heads and a number for Attention, found {q}, {k}, {v} and {scale}")
    same_dims("heads of queries and keys", q.shape[:-2], k.shape[:-2])
    same_dims("heads, numbers of keys and values", k.shape[:-1], v.shape[:-1])
    same_dims("features of queries and keys", q.shape[-1:], k.shape[-1:])
    scores = (*q.shape[:-1], k.shape[-2])
    for operand in mask:
        same_dims("rows and columns of scores and mask", operand.shape[-2:], scores[-2:])  # runtimes do not repeat them
        same_dims("scores with and without the mask", broadcast_shapes(operand.shape, scores), scores)
    return TensorType(dtype, (*q.shape[:-1], v.shape[-1]))


def evaluate(xp, q, k, v, scale, *mask):
    scores = xp.multiply(xp.contract("...md,...nd->...mn", q, k), scale)
    for operand in mask:
        scores = xp.add(scores, operand)
    return xp.contract("...mn,...nd->...md", shares(xp, scores, -1), v)


def read(op, node):
    q, k, v, mask, *past = (*node.inputs, None)[: max(4, len(node.inputs))]
    kind = node.types[0]
    other = any(node.attribute(name, 0) for name in OTHER_MODES) or any(operand is not None for operand in past)
    if (
        other
        or node.attribute("softmax_precision", FLOAT) != FLOAT
        or kind is None
        or kind.rank != RANK
        or node.output_count > 1
    ):
        return None
    size = kind.shape[-1]
    named = node.attribute("scale", 1 / sqrt(size) if isinstance(size, int) and size else None)
    if named is None or named <= 0:
        return None
    scale = literal(fraction(ratio(named)), kind.dtype)
    return op.Attention(q, k, v, scale, *(operand for operand in (mask,) if operand is not None))


def write(term, context):
    q, k, v, scale, *mask = term.args
    value = context.value_of(scale)
    if context.opset < SINCE or value is None or value <= 0:  # which runtimes do not load
        return None
    return OnnxCall("Attention", (q, k, v, *mask), {"scale": float(value)})


OPERATOR = Operator(
    "Attention",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Attention",), read, write),
    arity=None,
    defined=True,
)


@definition()
def attention(op, q: "b h m d", t: "b h d n", v: "b h n p", scale: ""):
    scores = op.Mul(op.MatMul(q, t), scale)
    return op.Attention(q, op.Transpose(t, perm=SWAP), v, scale), op.MatMul(op.Softmax(scores, axis=-1), v)


@definition("mask: b 1 m n", "mask: 1 1 m n", "mask: m n")
def masked_attention(op, q: "b h m d", t: "b h d n", v: "b h n p", scale: "", mask: "b h m n"):
    scores = op.Add(op.Mul(op.MatMul(q, t), scale), mask)
    return op.Attention(q, op.Transpose(t, perm=SWAP), v, scale, mask), op.MatMul(op.Softmax(scores, axis=-1), v)
