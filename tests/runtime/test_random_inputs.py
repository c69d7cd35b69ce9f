"""Shapes bound and inputs drawn: by name and seed, and of every type."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from taso_opt.errors import UnsupportedError
from taso_opt.runtime import InputSpec, random_inputs
from taso_opt.runtime.inputs import with_sizes


def test_inputs_depend_on_name_and_seed_alone():
    a, b = InputSpec("a", "float32", (3, 4)), InputSpec("b", "float32", (3, 4))
    both, alone = random_inputs([b, a], 7), random_inputs([a], 7)
    assert list(both) == ["b", "a"]
    np.testing.assert_array_equal(both["a"], alone["a"])
    assert not np.array_equal(both["a"], both["b"])
    assert not np.array_equal(random_inputs([a], 8)["a"], alone["a"])


def test_inputs_are_the_same_in_every_process():
    code = (
        "from taso_opt.runtime import InputSpec, random_inputs;"
        "print(float(random_inputs([InputSpec('x', 'float64', ())], 3)['x']))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            cwd=Path(__file__).resolve().parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {f"{float(random_inputs([InputSpec('x', 'float64', ())], 3)['x'])}\n"}


@pytest.mark.parametrize("shape", [(), (7,), (10, 10), (25, 12)])
def test_repeated_floats_lie_as_close_together_as_any_others(shape):
    (x,) = random_inputs([InputSpec("x", "float32", shape)], 3, different=100).values()
    kept = x if x.base is None else x.base
    assert x.shape == shape and kept.nbytes <= x.nbytes + (4 * 100 if x.size > 100 else 0)
    flat = x.ravel()
    assert np.array_equal(flat[100:], flat[:-100]) and np.unique(flat).size == min(x.size, 100)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_are_standard_normal(dtype):
    x = random_inputs([InputSpec("x", dtype, (100, 100))], 0)["x"]
    assert x.dtype == np.dtype(dtype)
    assert abs(float(x.astype(np.float64).mean())) < 0.05
    assert abs(float(x.astype(np.float64).std()) - 1) < 0.05


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_integers_run_from_zero_to_nine(dtype):
    x = random_inputs([InputSpec("x", dtype, (1000,))], 0)["x"]
    assert x.dtype == np.dtype(dtype)
    assert set(x.tolist()) == set(range(10))


def test_booleans_and_strings_vary():
    inputs = random_inputs([InputSpec("b", "bool", (50,)), InputSpec("s", "object", (2, 50))], 0)
    assert set(inputs["b"].tolist()) == {True, False}
    assert inputs["s"].dtype == object
    assert set(inputs["s"].ravel().tolist()) == {f"s{digit}" for digit in range(10)}
    assert all(type(value) is str for value in inputs["s"].ravel())


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "object"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_scalars_and_empty_tensors_are_drawn(dtype, shape):
    x = random_inputs([InputSpec("x", dtype, shape)], 0)["x"]
    assert isinstance(x, np.ndarray)
    assert (x.shape, x.dtype) == (shape, np.dtype(dtype))


def test_free_dims_are_one():
    specs = [InputSpec(f"x{at}", "float32", shape) for at, shape in enumerate([("batch", None, 3, -1), (0,), ()])]
    assert [spec.shape for spec in with_sizes(specs)] == [(1, 1, 3, 1), (0,), ()]


def test_a_type_that_cannot_be_drawn_is_named():
    for dtype in ("seq(tensor(float))", "tensor(bfloat16)"):
        with pytest.raises(UnsupportedError, match=r"for random input 'x', found (seq|tensor)\("):
            random_inputs([InputSpec("x", dtype, (1,))], 0)
    with pytest.raises(UnsupportedError, match="expected a concrete shape for input 'x'"):
        random_inputs([InputSpec("x", "float32", ("N",))], 0)


def test_numbers_of_which_few_are_different_start_at_another_place_in_every_array():
    specs = [InputSpec(name, "float32", (3, 50)) for name in "ab"]
    few = random_inputs(specs, 0, 67)
    assert set(few["a"].ravel()) == set(few["b"].ravel())
    assert len(set(few["a"].ravel())) == 67
    assert not np.array_equal(few["a"], few["b"])
    np.testing.assert_array_equal(few["a"].ravel()[:83], few["a"].ravel()[67:])
    np.testing.assert_array_equal(random_inputs(specs[:1], 0, 67)["a"], few["a"])
    assert not np.array_equal(random_inputs(specs[:1], 1, 67)["a"], few["a"])


def test_whole_numbers_lie_below_a_bound():
    few, many = InputSpec("a", "int64", (1000,)), InputSpec("a", "int64", (1000,), below=50)
    assert set(random_inputs([few], 0)["a"]) == set(range(10))
    assert set(random_inputs([many], 0)["a"]) == set(range(50))
