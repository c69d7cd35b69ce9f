"""A result is compared with the original at every size that the user names, and at others than the assumed ones."""

import numpy as np
import pytest
from onnx import numpy_helper, parser

from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.errors import MismatchError

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,256] a, float[N,256] b, float[N,256] c, float[N,256] d) => (float[M,256] y)
{ p = MatMul(a, w)  q = MatMul(b, w)  r = MatMul(c, w)  s = MatMul(d, w)  y = Concat <axis = 0> (p, q, r, s) }"""
WRONG_BEYOND_ONE = """
{ p = MatMul(a, w)  q = MatMul(b, w)  r = MatMul(c, w)  s = MatMul(d, w)  e = Concat <axis = 0> (p, q, r, s)
  z = Shape <start = 0, end = 1> (a)  m = Sub(z, one)  t = Cast <to = 1> (m)  y = Add(e, t) }"""


@pytest.fixture
def path(tmp_path):
    weight = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    model = parser.parse_model(TEXT)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    return tmp_path / "model.onnx"


@pytest.fixture
def wrong(monkeypatch):
    """Every candidate computes the same at size 1 and something else at every other."""

    def rewritten(model, plan):
        made = parser.parse_model(TEXT[: TEXT.index("\n{")] + WRONG_BEYOND_ONE)
        made.graph.initializer.append(model.proto.graph.initializer[0])
        made.graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), "one"))
        return made

    monkeypatch.setattr("taso_opt.api.contest.rewritten", rewritten)


def test_a_result_that_is_right_at_the_measured_size_alone_is_a_mismatch(path, process, wrong):
    settings = OptimizeSettings(budget=20.0, dims={"N": (1, 8)})
    with pytest.raises(MismatchError, match="expected a relative error of at most"):
        optimize_file(path, settings, process=process)
    assert not path.with_name("model.opt.onnx").exists()


def test_where_no_size_is_named_another_than_the_assumed_one_is_tried_too(path, process, wrong):
    with pytest.raises(MismatchError, match="expected a relative error of at most"):
        optimize_file(path, OptimizeSettings(budget=20.0), process=process)


def test_the_size_that_is_named_alone_is_compared_alone(path, process, wrong):
    record = optimize_file(path, OptimizeSettings(budget=20.0, dims={"N": 1}), process=process)
    assert record.max_rel_error is None or record.max_rel_error < 1e-4


def test_a_right_result_passes_at_all_sizes(path, process):
    record = optimize_file(path, OptimizeSettings(budget=20.0, dims={"N": (1, 3, 8)}), process=process)
    assert record.result in ("improved", "unchanged")
    assert record.document()["settings"]["dims"] == {"N": [1, 3, 8]}


def test_sizes_go_together_and_the_last_one_stands_for_further_ones():
    settings = OptimizeSettings(dims={"N": (1, 8, 16), "length": (32, 64), "k": 4})
    assert settings.bindings == (
        {"N": 1, "length": 32, "k": 4},
        {"N": 8, "length": 64, "k": 4},
        {"N": 16, "length": 64, "k": 4},
    )
    assert OptimizeSettings().bindings == ({},)
