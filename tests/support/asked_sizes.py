"""How exporters ask for the sizes of an input x with axes b and n, as nodes of ONNX's text form."""

from taso_opt.core.dims import symbol

HEAD = '<ir_version: 8, opset_import: ["" : 17]> '
ASKED = "s = Shape(x)  b = Gather(s, zero)  n = Gather(s, one)  b1 = Unsqueeze(b, first)  n1 = Unsqueeze(n, first)  "
PLACES = "int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] rest = {-1}"
B, N = symbol("b"), symbol("n")
