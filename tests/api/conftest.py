"""Costs that no other test has measured, and finals that are won or lost for certain."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from parsed import CHAIN, CHAINED, with_weights
from taso_opt.search.judging import finals

STACKABLE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,256] a, float[1,256] b, float[1,256] c, float[1,256] d) => (float[1,1024] y)
{ p = MatMul(a, w)  q = MatMul(b, w)  r = MatMul(c, w)  s = MatMul(d, w)  y = Concat <axis = 1> (p, q, r, s) }"""


TANH_GELU = """<ir_version: 8, opset_import: ["" : 20]> g (float[256,512] x) => (float[256,512] y)
<float half = {0.5}, float one = {1.0}, float three = {3.0}, float share = {0.044715}, float factor = {0.79788456}>
{ c = Pow(x, three)  a = Mul(c, share)  b = Add(x, a)  u = Mul(b, factor)  t = Tanh(u)  h = Add(t, one)
  s = Mul(x, half)  y = Mul(s, h) }"""
"""A model of which each operator is a kernel, since it gives the result; Gelu is one."""


@pytest.fixture(autouse=True)
def _own_cache(own_cache):
    pass


@pytest.fixture
def chain(tmp_path):
    """The file of a model that rules make much cheaper."""
    path = tmp_path / "model.onnx"
    onnx.save(with_weights(CHAIN, **CHAINED), path)
    return path


@pytest.fixture
def short_finals(monkeypatch):
    """Who wins is known, so that nothing needs to be timed for long."""
    for limit in ("HEAT_LIMIT_S", "FINAL_LIMIT_S", "CHAMPION_LIMIT_S", "LONG_LIMIT_S"):
        monkeypatch.setattr(finals, limit, 0.3)


@pytest.fixture
def none_wins(short_finals, monkeypatch):
    """No candidate counts as faster."""
    monkeypatch.setattr(finals.Standard, "is_met", lambda *_: False)


@pytest.fixture
def first_wins(short_finals, monkeypatch):
    """The first candidate counts as faster, however noisy the machine is."""
    judged = finals._judged
    monkeypatch.setattr(finals, "_judged", lambda *asked: (judged(*asked)[0], True))


@pytest.fixture
def stackable():
    """A model of four products that one can take the place of."""
    proto = parser.parse_model(STACKABLE)
    weight = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    return proto


@pytest.fixture
def tanh_gelu(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(parser.parse_model(TANH_GELU).SerializeToString())
    return path
