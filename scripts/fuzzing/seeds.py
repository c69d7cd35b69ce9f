"""Valid models and rules from which the fuzzing of the readers starts: small, and different in what they use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.resources import files

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser

HEAD = '<ir_version: {ir}, opset_import: ["" : {opset}{more}]>'
DATA_FILE, DATA_BYTES = "data.bin", 256
"""The file of external data that stands beside every model that is read."""

TEXTS: Sequence[tuple[str, str]] = (
    ("", "g (float[N, 4] x) => (float[N, 2] y) <int64[2] s = {-1, 2}>"
         " { a = MatMul(x, w)  b = Reshape(a, s)  y = Relu(b) }"),
    ("", "g (float[2, 4] x, bool c) => (float[2, 2] y) { m = MatMul(x, w)"
         "  y = If(c) <then_branch = t () => (float[2, 2] p) { p = Relu(m) },"
         " else_branch = e () => (float[2, 2] q) { q = Neg(m) }> }"),
    ("", "g (float[2, 4] x) => (float[2, 4] y) <int64 n = {3}, bool c = {1}> { y = Loop(n, c, x) <body = b"
         " (int64 i, bool on, float[2, 4] s) => (bool go, float[2, 4] t) { go = Identity(on)  t = Add(s, x) }> }"),
    (', "local" : 1', "g (float[2, 4] x) => (float[2, 2] y) { a = MatMul(x, w)  y = local.f(a) }"
         '\n<domain: "local", opset_import: ["" : 17]> f (a) => (b) { c = Tanh(a)  b = Add(c, c) }'),
    ("", "g (float[1, 3, 8, 8] x) => (float[1, 4, 4, 4] y) { a = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, k)"
         "  b = Relu(a)  y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(b) }"),
    ("", "g (float[2, 4] x) => (float[2, 4] y, float[2, 4] z) <int64[2] s = {1, 3}> { a, b = Split<axis = 1>(x, s)"
         "  y = Concat<axis = 1>(a, b)  d = Dropout(y)  z = Identity(d) }"),
    ("", "g (float[2, 4] x, seq(float[2, 4]) s) => (float[M, 4] y) { t = SequenceInsert(s, x)"
         "  y = ConcatFromSequence<axis = 0>(t) }"),
    ("", "g (string[2] x, float16[2] h) => (string[2] y, float16[2] z) { y = Identity(x)  z = Relu(h) }"),
)  # fmt: skip
WEIGHTS = {"w": (4, 2), "k": (4, 3, 3, 3)}
EQUATIONS = (
    "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[*b, k, n], z[*b, n, p]",
    "Relu(Relu(x)) = Relu(x) where x[*a]",
)


def models() -> Iterator[bytes]:
    """The models, serialized; one refers to the data file."""
    for number, (more, text) in enumerate(TEXTS):
        model = parser.parse_model(HEAD.format(ir=8 + number % 2, opset=13 + number % 5, more=more) + text)
        _add_weights(model, number)
        yield model.SerializeToString()


def _add_weights(model: ModelProto, number: int) -> None:
    generator = np.random.default_rng(number)
    used = {name for node in model.graph.node for name in node.input}
    for name in used & WEIGHTS.keys():
        value = generator.standard_normal(WEIGHTS[name]).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(value, name))
        if number == 1:
            _move_out(model.graph.initializer[-1])
    if number == 3:
        indices = numpy_helper.from_array(np.array([0, 3], np.int64), "i")
        values = numpy_helper.from_array(np.ones(2, np.float32), "sparse")
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [8]))


def _move_out(tensor: TensorProto) -> None:
    length = len(tensor.raw_data)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", DATA_FILE), ("offset", "8"), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)


def rules() -> Iterator[bytes]:
    """Lines of the shipped library, every tenth of them, and lines that wrap equations."""
    library = files("taso_opt.data.rules").joinpath("library.jsonl").read_text(encoding="utf-8").splitlines()
    yield from (line.encode() for line in library[::10])
    for text in EQUATIONS:
        fields = {"id": "r", "rule": text, "fp_class": "E2", "axioms": [], "engine": "", "specs": ""}
        yield json.dumps(fields).encode()
