"""What a model computes from sizes that are numbers is a constant like any other."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from taso_opt.core.graph import Graph
from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, postorder
from taso_opt.onnx_io import read_model, write_model
from taso_opt.onnx_io.inference import symbolic_skeleton
from taso_opt.onnx_io.sizes import with_known_sizes
from taso_opt.rewrite.apply import substitute_terms
from taso_opt.spec import load_specs

HALVES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[{rows},{channels}] x) => (float[r,c] y, float[p,q] z) {{
  turned = Relu(x)
  shape = Shape(turned)  size = Gather <axis = 0> (shape, axis)  half = Div(size, two)
  y = Slice(turned, zero, half, axis)  z = Slice(turned, half, size, axis) }}"""

TOLD = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4,6] x) => (int64[n] shape, float[p,q] y) {
  shape = Shape(x)  turned = Relu(x)  y = Reshape(turned, shape) }"""


def saved(text, path, **values):
    model = parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(np.array(value), name) for name, value in values.items())
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def halves(tmp_path):
    """Halves of the channels, as exporters write a chunk, of a model with so many rows and channels."""

    def save(rows=4, channels=6):
        text = HALVES.format(rows=rows, channels=channels)
        return saved(text, tmp_path / "model.onnx", zero=[0], axis=[1], two=[2])

    return save


def with_maximum(read):
    """The model with its activation spelled as a maximum, as a rule would have it."""
    (relu,) = (term for term in postorder(read.graph.outputs) if isinstance(term, Apply) and term.operator == "Relu")
    spelled = read.builder.apply("Max", (literal(0, "float32"), *relu.args), {})
    return write_model(
        read, Graph(read.graph.inputs, substitute_terms(read.builder, read.graph.outputs, {relu: spelled}))
    )


def operators(read):
    return sorted(term.operator for term in postorder(read.graph.outputs) if isinstance(term, Apply))


@pytest.mark.parametrize("rows", [4, "n"])
def test_a_slice_between_computed_sizes_is_known(halves, rows):
    """What is computed depends on the channels alone, whatever the number of rows."""
    assert operators(read_model(halves(rows), load_specs())) == ["Relu", "Slice", "Slice"]


def test_what_depends_on_a_size_that_is_no_number_stays_as_it_is(halves):
    assert "Opaque" in operators(read_model(halves(channels="c"), load_specs()))


def test_the_nodes_that_computed_sizes_are_left_out_of_what_is_written(halves):
    path = halves()
    read = read_model(path, load_specs())
    found = with_maximum(read)
    onnx.checker.check_model(found, full_check=True)
    assert sorted(node.op_type for node in found.graph.node) == ["Max", "Slice", "Slice"]
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    wanted, given = (ReferenceEvaluator(model).run(None, {"x": x}) for model in (onnx.load(path), found))
    assert all(map(np.array_equal, wanted, given))


def test_sizes_that_are_outputs_are_still_given(tmp_path):
    read = read_model(saved(TOLD, tmp_path / "model.onnx"), load_specs())
    found = with_maximum(read)
    onnx.checker.check_model(found, full_check=True)
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    shape, y = ReferenceEvaluator(found).run(None, {"x": x})
    assert shape.tolist() == [4, 6] and np.array_equal(y, np.maximum(x, 0))


def test_nothing_is_folded_in_a_model_that_asks_for_no_size(tmp_path, monkeypatch):
    monkeypatch.setattr("onnxscript.optimizer.fold_constants_ir", lambda *_, **__: pytest.fail("folded"))
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu(x) }'
    bare = symbolic_skeleton(parser.parse_model(text), tmp_path)
    assert with_known_sizes(bare) == (bare, {})
