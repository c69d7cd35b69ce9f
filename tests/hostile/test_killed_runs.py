"""Runs that are killed leave nothing half written; two runs at once do not disturb each other."""

import onnx
import pytest

from kill_test import Scene, kill_runs, leftovers, traces
from taso_opt.cost import CostTable
from taso_opt.onnx_io import load_model


def test_runs_killed_at_random_moments_leave_the_original_whole_and_no_half_written_output(tmp_path):
    problems, alive = kill_runs(tmp_path, kills=3, seed=3, budget=0.3)
    assert problems == []
    assert alive >= 1


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path, 0.3)


def test_the_test_itself_notices_what_it_looks_for(scene):
    (scene.root / "in" / "weights.bin").write_bytes(b"other")
    (scene.root / "in" / "more").touch()
    (scene.root / "out" / ".tasoopt-1.tmp").touch()
    scene.output.write_bytes(b"half a mod")
    (scene.root / "cache" / "costs.sqlite").write_bytes(b"")
    (scene.root / "cache" / "costs.sqlite.broken").write_bytes(b"")
    found = "; ".join(traces(scene))
    for problem in ("weights.bin of the original", "beside the original", "not complete", "table was given up"):
        assert problem in found
    assert leftovers(scene) == ["out/.tasoopt-1.tmp"]


def test_two_runs_at_once_on_one_output_and_one_cost_table_both_end_well(scene):
    runs = [scene.start() for _ in range(2)]
    for run in runs:
        _, said = run.communicate(timeout=120)
        assert run.returncode == 0, said.decode()
    assert list(traces(scene)) == []
    assert leftovers(scene) == []
    load_model(scene.output)
    with CostTable(scene.root / "cache" / "costs.sqlite") as table:
        assert len(list(table.entries())) > 0
    assert onnx.load(scene.output).graph.output[0].name == "y"
