"""What a model computes in float64: by the runtime if it has the kernels, else by ONNX's reference implementation."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from taso_opt.errors import RuntimeFailure, UnsupportedError
from taso_opt.runtime import run_feeds, run_in_doubles

HEAD = '<ir_version: 8, opset_import: ["" : 17]> '
GENERATOR = np.random.default_rng(1)
CANCELLING = "g (float[1,4096] x) => (float[1,1] y) { p = MatMul(x, w)  q = MatMul(x, v)  y = Sub(p, q) }"


@pytest.fixture
def save(tmp_path):
    def save(text, **weights):
        model = parser.parse_model(HEAD + text)
        model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return save


def single(*shape):
    return GENERATOR.standard_normal(shape).astype(np.float32)


def test_sums_that_cancel_are_exact_in_float64(save, shared_process):
    w, x = single(4096, 1), single(1, 4096)
    v = w + np.float32(1e-6)
    path = save(CANCELLING, w=w, v=v)
    exact = x.astype(np.float64) @ w.astype(np.float64) - x.astype(np.float64) @ v.astype(np.float64)
    (found,) = run_in_doubles(shared_process, path, [{"x": x}])[0]
    (rounded,) = run_feeds(shared_process, path, [{"x": x}])[0]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, exact, rtol=1e-7)
    assert abs(rounded - exact).max() > 1e3 * abs(found - exact).max()


def test_where_the_runtime_has_no_kernel_the_reference_implementation_answers(save, shared_process):
    x, w = single(1, 2, 5, 5), single(3, 2, 5, 5)
    path = save("g (float[1,2,5,5] x) => (float[1,3,1,1] y) { y = Conv(x, w) }", w=w)
    (found,) = run_in_doubles(shared_process, path, [{"x": x}])[0]
    expected = np.einsum("nchw,ochw->no", x.astype(np.float64), w.astype(np.float64))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.reshape(1, 3), expected, rtol=1e-12)


def test_constants_casts_and_bodies_are_in_float64_too(save, shared_process):
    path = save(
        """g (float[2] x, bool c) => (float[2] y) {
        a = Constant <value_floats = [0.1, 0.2]> ()  s = Constant <value_ints = [2]> ()  z = ConstantOfShape(s)
        b = Cast <to = 1> (a)
        y = If(c) <then_branch = t () => (float[2] p) { k = Constant <value_float = 3.0> ()  m = Mul(x, k)
                  n = Add(m, b)  p = Add(n, z) }, else_branch = e () => (float[2] q) { q = Identity(x) }> }"""
    )
    x = np.array([1 / 3, 1e8], np.float32)
    (found,) = run_in_doubles(shared_process, path, [{"x": x, "c": np.array(True)}])[0]
    np.testing.assert_allclose(found, x.astype(np.float64) * 3 + np.float32([0.1, 0.2]).astype(np.float64), rtol=1e-15)


@pytest.mark.parametrize("opset", [9, 13, 14, 17])
def test_batch_normalization_takes_its_statistics_and_not_those_of_the_batch(save, shared_process, opset):
    x, w = single(2, 3, 5, 5), single(3, 3, 1, 1)
    s, b, m, v = single(3), single(3), single(3), np.abs(single(3))
    text = "g (float[2,3,5,5] x) => (float[2,3,5,5] y) { c = Conv(x, w)  y = BatchNormalization(c, s, b, m, v) }"
    path = save(text, w=w, s=s, b=b, m=m, v=v)
    model = onnx.load(path)
    model.opset_import[0].version = opset
    path.write_bytes(model.SerializeToString())
    (found,) = run_in_doubles(shared_process, path, [{"x": x}])[0]
    (rounded,) = run_feeds(shared_process, path, [{"x": x}])[0]
    assert found.dtype == np.float64
    np.testing.assert_allclose(rounded, found, rtol=1e-4, atol=1e-5)


def test_batch_normalization_in_training_has_no_reference(save, shared_process):
    x, w, s = single(2, 3, 5, 5), single(3, 3, 1, 1), single(3)
    path = save(
        """g (float[2,3,5,5] x) => (float[2,3,5,5] y) { c = Conv(x, w)
        y, m, v = BatchNormalization <training_mode = 1> (c, s, s, s, s) }""",
        w=w,
        s=s,
    )
    with pytest.raises(RuntimeFailure, match="no batch normalization in training mode"):
        run_in_doubles(shared_process, path, [{"x": x}])


def test_a_model_that_draws_random_numbers_has_no_reference(save, shared_process):
    path = save("g (float[2] x) => (float[2] y) { r = RandomNormalLike(x)  y = Add(x, r) }")
    with pytest.raises(UnsupportedError, match="expected no random numbers in a model to copy in float64"):
        run_in_doubles(shared_process, path, [{"x": single(2)}])
