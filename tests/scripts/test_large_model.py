"""Memory that large models take, on smaller ones: what grows with the weights or the square of the graph shows."""

import os

import pytest

from large_model import large_model, long_model, measure
from taso_opt.onnx_io import read_model
from taso_opt.spec import load_specs

pytestmark = pytest.mark.usefixtures("own_cache")

MB = 1 << 20


def test_weights_in_other_files_take_no_memory_when_nothing_is_rewritten(tmp_path):
    path = large_model(tmp_path, 1280 * MB, zeros=True)
    assert os.stat(tmp_path / "weights.bin").st_size == 1280 * MB
    found = measure(path, budget=0.5)
    assert found["result"] == "unchanged"
    assert found["own_mb"] < 400
    assert found["child_mb"] < 700  # kernels with weights of 64 MiB are measured in several copies


def test_a_long_chain_is_read_and_searched_without_recursion_and_within_little_memory(tmp_path):
    found = measure(long_model(tmp_path, 3000), budget=1.0)
    assert found["exit_code"] == 0
    assert found["own_mb"] < 400


def test_a_long_chain_is_read_whole(tmp_path):
    model = read_model(long_model(tmp_path, 3000), load_specs())
    assert len(model.uses) == 3000
