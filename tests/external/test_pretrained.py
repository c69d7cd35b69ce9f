"""Real models that others made: optimized or unchanged, outputs agree, signature and metadata as they were."""

import onnx
import pytest

import fuzz_models
from benchmarks.models import DIMS
from fetch_models import PRETRAINED, fetch
from fuzz_models import MODES, examine
from taso_opt.errors import UnsupportedError
from taso_opt.onnx_io import operator_counts


@pytest.mark.parametrize("name", sorted(PRETRAINED))
def test_a_real_model_comes_out_as_it_went_in(name, tmp_path, process, monkeypatch, record_property):
    try:
        path = fetch(name)
    except UnsupportedError as error:
        pytest.skip(f"the model cannot be fetched: {error}")
    monkeypatch.setattr(fuzz_models, "BUDGET_S", 10.0)
    before = path.read_bytes()
    found = {one.mode: one for one in examine(path, tmp_path, process, DIMS.get(name))}
    record_property("operators", sum(operator_counts(onnx.load(path, load_external_data=False)).values()))
    for mode in MODES:
        record_property(mode, found[mode].result if mode in found else "not run")
        record_property(f"{mode} rewritten", mode in found and found[mode].rewritten)
    assert {mode: one.result for mode, one in found.items()} == dict.fromkeys(MODES, "agrees"), list(found.values())
    assert path.read_bytes() == before
