"""The kind of random inputs on which models are compared: one on which the outputs say something."""

import numpy as np
import onnx
import pytest
from onnx import parser

from taso_opt.onnx_io import read_model
from taso_opt.runtime import RunSettings
from taso_opt.search.judging.feeds import KINDS, NOISE, PATCH
from taso_opt.search.judging.kinds import OF_ANOTHER_KIND, remark, telling_kind
from taso_opt.spec import load_specs

DETECTOR = """
    blobs (float[1, 1, 64, 64] x) => (float[1, 1, 4, 4] y) {
        mean = AveragePool<kernel_shape=[16, 16], strides=[16, 16]>(x)
        far = Mul(mean, steep)
        score = Sub(far, threshold)
        y = Sigmoid(score)
    }
"""
"""Is 0 but where many neighbours are large together."""


@pytest.fixture
def kind_of(process, tmp_path):
    def find(text, samples=(), **constants):
        model = parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>' + text)
        for name, value in constants.items():
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(value), name))
        onnx.save(model, tmp_path / "model.onnx")
        read = read_model(tmp_path / "model.onnx", load_specs())
        return telling_kind(process, read, samples, RunSettings())

    return find


def test_noise_where_the_outputs_answer_to_it(kind_of):
    assert kind_of("plain (float[4] x) => (float[4] y) { y = Exp(x) }") == NOISE


def test_a_detector_that_finds_nothing_in_noise_gets_patches_of_it(kind_of):
    assert kind_of(DETECTOR, steep=200, threshold=200) == "patches of noise"


def test_a_function_that_is_flat_near_zero_gets_loud_noise(kind_of):
    shrunk = "shrunk (float[8] x) => (float[8] y) { y = Shrink<lambd=5.0, bias=5.0>(x) }"
    assert kind_of(shrunk) == "loud noise"


def test_a_model_that_takes_long_is_tried_with_noise_alone(kind_of, monkeypatch):
    monkeypatch.setattr("taso_opt.search.judging.kinds.PATIENCE_S", 0.0)
    assert kind_of(DETECTOR, steep=200, threshold=200) == NOISE


def test_noise_where_no_kind_says_more(kind_of):
    assert kind_of(DETECTOR, steep=60, threshold=1e6) == NOISE


def test_noise_where_no_float_is_drawn(kind_of):
    samples = [{"x": np.zeros((1, 1, 64, 64), np.float32)}]
    assert kind_of("whole (int64[3] k) => (int64[3] y) { y = Sub(k, k) }") == NOISE
    assert kind_of(DETECTOR, samples, steep=200, threshold=200) == NOISE


def test_noise_where_the_model_does_not_run_or_draws_numbers_itself(kind_of):
    reshaped = "wrong (float[4] x) => (float[3] y) { shape = Constant<value_ints=[3]>() y = Reshape(x, shape) }"
    assert kind_of(reshaped) == NOISE
    drawn = "drawn (float[4] x) => (float[4] y) { n = RandomNormalLike(x) m = Mul(n, zero) y = Mul(x, m) }"
    assert kind_of(drawn, zero=0) == NOISE


def test_patches_hold_the_same_number():
    noise = np.arange(2 * 40 * 20, dtype=np.float32).reshape(2, 40, 20)
    patches = KINDS["patches of noise"](noise)
    assert patches.shape == noise.shape
    assert len(np.unique(patches[0, :PATCH, :PATCH])) == 1
    assert len(np.unique(patches)) == 2 * 3 * 2


def test_a_user_is_told_of_every_other_kind():
    assert remark(NOISE) == ()
    assert remark("loud noise") == (OF_ANOTHER_KIND.format("loud noise"),)
