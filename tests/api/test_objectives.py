"""Objectives and limits from the settings to the written file; the same question gets the same answer again."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import onnx
import pytest

import taso_opt
from parsed import CHAIN, with_weights
from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.cli import main
from taso_opt.cost import CostTable
from taso_opt.errors import UsageError
from taso_opt.search.judging import finals

LOW_RANK = CHAIN.replace("512] x) => (float[64,16]", "256] x) => (float[64,256]")
"""Folding its weights lets them grow by half."""


@pytest.fixture
def low_rank(tmp_path):
    """x A B of rank 40: folded it is one product in place of two, of three times the work and weights."""
    path = tmp_path / "model.onnx"
    onnx.save(with_weights(LOW_RANK, a=(256, 40), b=(40, 256)), path)
    return path


def parts(record):
    return {part.name: (part.before, part.after) for part in record.objective}


@pytest.mark.parametrize(
    ("objective", "before", "after"),
    [
        ("flops", 2 * 64 * 512 * 512 + 2 * 64 * 512 * 16, 2 * 64 * 512 * 16),
        ("launches", 2, 1),
        ("weights", 4 * (512 * 512 + 512 * 16), 4 * 512 * 16),
        ("memory", 4 * (512 * 512 + 512 * 16 + 64 * 512 * 2 + 64 * 16), 4 * (512 * 16 + 64 * 512 + 64 * 16)),
    ],
)
def test_each_objective_is_counted_reached_and_reported(objective, before, after, chain, process, first_wins):
    record = optimize_file(chain, OptimizeSettings(objective=objective, budget=20), process=process)
    assert record.result == "improved"
    assert parts(record) == {objective: (before, after)}
    assert [node.op_type for node in onnx.load(record.output).graph.node] == ["MatMul"]
    assert record.speedup is not None and record.outputs[0].agrees, "compared and timed like any other"


def test_a_result_by_another_objective_is_not_slower_unless_that_is_allowed(low_rank, process):
    """One launch in place of two, but three times the work."""
    strict = optimize_file(low_rank, OptimizeSettings(objective="launches", budget=20), process=process)
    assert strict.result == "unchanged" and "--allow-slower" in strict.reason
    assert low_rank.read_bytes() == low_rank.with_name("model.opt.onnx").read_bytes()
    allowed = OptimizeSettings(objective="launches", allow_slower=True, force=True, budget=20)
    record = optimize_file(low_rank, allowed, process=process)
    assert (record.result, parts(record)) == ("improved", {"launches": (2, 1)})
    assert record.speedup.high < 1


def test_a_limit_on_the_size_keeps_the_model_small(low_rank, process, first_wins):
    settings = OptimizeSettings(objective="launches", max_size_growth=219, allow_slower=True, budget=20)
    record = optimize_file(low_rank, settings, process=process)
    assert (record.result, record.reason) == ("unchanged", "no rewriting within the limits is better by the objective")
    grown = OptimizeSettings(objective="launches", max_size_growth=221, allow_slower=True, force=True, budget=20)
    record = optimize_file(low_rank, grown, process=process)
    assert record.result == "improved"
    assert record.bytes_added == 4 * (256 * 256 - 2 * 256 * 40)
    assert parts(record)["weights"] == (4 * 2 * 256 * 40, 4 * 256 * 256)


def test_a_model_above_the_memory_limit_is_brought_below_it(chain, process, first_wins):
    limited = OptimizeSettings(memory_limit=300_000, budget=20)
    record = optimize_file(chain, limited, process=process)
    assert record.result == "improved"
    before, after = parts(record)["memory"]
    assert after <= 300_000 < before
    impossible = OptimizeSettings(memory_limit=1000, force=True, budget=20)
    assert optimize_file(chain, impossible, process=process).reason.startswith("no rewriting within the limits")


def test_a_dry_run_says_what_the_model_would_have_more_and_less(chain, process, first_wins):
    planned, made = (
        optimize_file(chain, OptimizeSettings(dry_run=dry, budget=20, force=True, seed=3), process=process)
        for dry in (True, False)
    )
    assert (planned.result, made.result) == ("dry-run", "improved")
    assert planned.bytes_added == made.bytes_added != 0
    assert planned.operators_after == made.operators_after != planned.operators_before


def test_that_a_search_found_nothing_is_said_with_its_time_when_it_is_recalled(chain, process):
    impossible = OptimizeSettings(memory_limit=1000, dry_run=True, budget=20)
    first, again = (optimize_file(chain, impossible, process=process) for _ in range(2))
    assert first.reason == "no rewriting within the limits is better by the objective"
    when = f"as a search found at {again.search.recalled_from} (after tasoopt cost clear, it searches anew)"
    assert again.search.recalled_from and again.reason == f"{first.reason}, {when}"


def test_the_same_question_gets_the_same_file_again_without_a_new_contest(chain, process, monkeypatch):
    settings = OptimizeSettings(budget=20, force=True)
    first = optimize_file(chain, settings, process=process)
    written = chain.with_name("model.opt.onnx").read_bytes()
    heats, told = [], []
    monkeypatch.setattr(finals, "is_behind", lambda *measured: heats.append(measured) or False)
    second = optimize_file(chain, settings, told.append, process)
    assert second.result == first.result == "improved"
    assert chain.with_name("model.opt.onnx").read_bytes() == written
    assert len(heats) == 1 and second.speedup is not None
    assert sum(line.startswith("writing candidate") for line in told) == 1


def test_two_processes_write_the_same_file(chain, tmp_path):
    outputs = []
    for hash_seed in ("1", "2"):
        outputs.append(tmp_path / f"out{hash_seed}.onnx")
        command = [sys.executable, "-m", "taso_opt", "optimize", str(chain), "-o", str(outputs[-1]), "--budget", "20"]
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": hash_seed}, check=True, capture_output=True)
    first, second = (path.read_bytes() for path in outputs)
    assert first == second != chain.read_bytes()


def test_a_decision_that_the_original_stays_is_recalled_until_it_is_cleared(low_rank, process, none_wins):
    settings = OptimizeSettings(objective="launches", budget=20, force=True)
    assert "as measured at" not in optimize_file(low_rank, settings, process=process).reason
    again = optimize_file(low_rank, settings, process=process)
    assert "as measured at" in again.reason and "tasoopt cost clear" in again.reason
    assert again.speedup is None
    with CostTable() as table:
        table.clear()
    assert "as measured at" not in optimize_file(low_rank, settings, process=process).reason


def test_a_champion_that_is_slower_now_is_put_to_the_test_again(chain, process, monkeypatch):
    settings = OptimizeSettings(budget=20, force=True)
    assert optimize_file(chain, settings, process=process).result == "improved"
    answers = iter([True, False])
    monkeypatch.setattr(finals, "is_behind", lambda *measured: next(answers))
    assert optimize_file(chain, settings, process=process).result == "improved"
    assert next(answers, "asked twice") == "asked twice"


def test_the_command_line_takes_and_shows_objectives(chain, capsys, first_wins):
    arguments = ["optimize", str(chain), "--objective", "flops", "--memory-limit", "50MB", "--budget", "5"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "floating-point operations" in text and "peak memory (estimate)" in text
    assert "better: flops -97.0%" in text
    assert main([*arguments, "--dry-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [part["name"] for part in document["objective"]] == ["flops", "memory"]
    assert document["settings"]["memory_limit"] == 50_000_000


@pytest.mark.parametrize(
    ("arguments", "wording"),
    [
        (["--objective", "speed"], "expected an objective among latency, flops, memory, launches, weights"),
        (["--memory-limit", "much"], "expected a size in bytes such as 300000, 64MB or 1.5GiB, found 'much'"),
        (["--max-size-growth", "-5%"], "expected a percentage such as 10%, found '-5%'"),
        (["--allow-slower"], "expected another objective than latency, or a limit, beside --allow-slower"),
    ],
)
def test_wrong_objectives_and_limits_are_refused_in_one_line(arguments, wording, chain, capsys):
    assert main(["optimize", str(chain), *arguments]) == 2
    assert wording in capsys.readouterr().err


def test_the_python_function_takes_numbers():
    with pytest.raises(UsageError, match="expected memory_limit of at least 1, found 0"):
        taso_opt.optimize(onnx.ModelProto(), memory_limit=0)
    with pytest.raises(UsageError, match="expected max_size_growth of at least 0, found -1"):
        taso_opt.optimize(onnx.ModelProto(), max_size_growth=-1)


def test_a_search_that_time_cut_is_recalled_and_goes_on_with_more_time(chain, tmp_path, process):
    def run(budget):
        return optimize_file(chain, OptimizeSettings(dry_run=True, budget=budget), process=process).search

    first = run(1e-4)
    assert (first.stopped_by, first.recalled_from) == ("budget", "")
    again = run(1e-4)
    assert again.recalled_from
    assert replace(again, recalled_from="", measured=0, measuring_seconds=0.0) == replace(
        first, measured=0, measuring_seconds=0.0
    )
    longer = run(20.0)
    assert (longer.recalled_from, longer.stopped_by) == ("", "patience") or longer.stopped_by == "exhausted"
    assert longer.explored > first.explored
