"""Spellings of an activation that the runtime does not know become the one that it has a kernel for."""

import onnx
import onnxruntime as ort
import pytest
from onnx import parser

from taso_opt.api import OptimizeSettings, optimize_file

GELU = """<ir_version: 8, opset_import: ["" : 17]> g (float[256,512] x) => (float[256,512] y)
<float half = {0.5}, float one = {1.0}, float factor = {0.70710677}>
{ s = Mul(x, factor)  e = Erf(s)  h = Add(e, one)  p = Mul(x, h)  y = Mul(p, half) }"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(parser.parse_model(GELU).SerializeToString())
    return path


def kernels(path, folder):
    """The operators that the runtime runs for a model."""
    options = ort.SessionOptions()
    options.log_severity_level, options.optimized_model_filepath = 3, str(folder / "loaded.onnx")
    ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [node.op_type for node in onnx.load(folder / "loaded.onnx").graph.node]


def test_a_gelu_that_multiplies_by_the_root_of_one_half_becomes_one_kernel(model, process, tmp_path, first_wins):
    assert len(kernels(model, tmp_path)) == 5
    record = optimize_file(model, OptimizeSettings(budget=10.0), process=process)
    assert record.result == "improved"
    assert kernels(record.output, tmp_path) == ["Gelu"]


def test_a_gelu_that_the_runtime_fuses_only_in_front_of_others_is_one_at_the_end(
    process, tanh_gelu, tmp_path, first_wins
):
    """The runtime makes one kernel of these operators unless the model gives their result."""
    assert len(kernels(tanh_gelu, tmp_path)) == 8
    record = optimize_file(tanh_gelu, OptimizeSettings(budget=10.0), process=process)
    assert record.result == "improved"
    assert kernels(record.output, tmp_path) == ["Gelu"]
    before = next(entry for entry in record.costs if entry.count_before)
    assert before.before_ms > 0
