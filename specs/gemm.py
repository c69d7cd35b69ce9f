"""ONNX Gemm is read as its parts, a matrix product and a sum; it is not an operator of its own."""

from taso_opt.spec import Spelling


def read(op, node):
    """Gemm with unit factors as MatMul and Add; other factors leave the node opaque."""
    if node.attribute("alpha", 1.0) != 1.0 or node.attribute("beta", 1.0) != 1.0:
        return None
    x, y = node.inputs[:2]
    if node.attribute("transA", 0):
        x = op.Transpose(x, perm=(-1, -2))
    if node.attribute("transB", 0):
        y = op.Transpose(y, perm=(-1, -2))
    result = op.MatMul(x, y)
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    return result if bias is None else op.Add(result, bias)


SPELLING = Spelling(("Gemm",), read)
