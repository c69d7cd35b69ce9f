"""Sizes that a model computes from the sizes of its inputs."""

import numpy as np
import pytest
from onnx import numpy_helper, parser

from taso_opt.onnx_io import read_model
from taso_opt.onnx_io.sizes.computed import numeric_types
from taso_opt.onnx_io.sizes.inference import infer_types, symbolic_skeleton, with_numbers
from taso_opt.spec import load_specs

POSITIONS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[b,s,8] x) => (float[n,8] y) {
  shape = Shape(x)  length = Gather <axis = 0> (shape, one)  positions = Range(zero, length, one)
  rows = Gather <axis = 0> (table, positions)  y = Relu(rows) }"""

LONG = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n] x) => (int64[m] y) {
  shape = Shape(x)  size = Gather <axis = 0> (shape, zero)  most = Mul(size, many)  y = Range(zero, most, one) }"""


def model(text, **values):
    made = parser.parse_model(text)
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in values.items())
    return made


@pytest.fixture
def embedded():
    return model(POSITIONS, table=np.ones((512, 8), np.float32), zero=0, one=1)


def test_sizes_are_followed_through_the_arithmetic_of_exporters(embedded, tmp_path):
    bare = symbolic_skeleton(embedded, tmp_path / "model.onnx")
    numbers = {"b": 2, "s": 16}
    assert not infer_types(with_numbers(bare, numbers))["y"].is_static
    assert str(numeric_types(bare, numbers)["y"]) == "[16, 8]"


def test_a_symbol_stands_for_the_size_that_it_has_and_not_for_an_assumed_one(embedded, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(embedded.SerializeToString())
    read = read_model(path, load_specs(), {"b": 2, "s": 16})
    (output,) = read.graph.outputs
    assert load_specs().builder(read.bindings).type(output).shape == (16, 8)


def test_what_would_be_large_is_not_computed(tmp_path, monkeypatch):
    monkeypatch.setattr("numpy.arange", lambda *_, **__: pytest.fail("computed"))
    bare = symbolic_skeleton(model(LONG, zero=0, one=1, many=2**40), tmp_path / "model.onnx")
    assert "y" in numeric_types(bare, {"n": 3})


def test_what_cannot_be_folded_is_typed_as_it_stands(embedded, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise RuntimeError("no")

    monkeypatch.setattr("onnxscript.optimizer.fold_constants_ir", fails)
    bare = symbolic_skeleton(embedded, tmp_path / "model.onnx")
    numbers = {"b": 2, "s": 16}
    assert numeric_types(bare, numbers) == infer_types(with_numbers(bare, numbers))
