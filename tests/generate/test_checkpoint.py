"""An interrupted generation goes on from what it left; a folder with anything else is refused in one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from taso_opt.core.quotients import parse_size
from taso_opt.errors import InvalidInputError, UsageError
from taso_opt.generate import GenerateSettings, generate
from taso_opt.generate.engines.checkpoint import FILE, Checkpoint, open_checkpoint
from taso_opt.generate.enumeration.families import POOLS
from taso_opt.generate.pipeline import jobs_of, memory_share
from taso_opt.spec.text import format_rule

GIB = 1 << 30
FULL = Path("/dev/full")


class Interrupted(Exception):
    """Stands for a user or a machine that stops a run."""


@pytest.fixture
def made(library):
    """A small generation with progress told, as text with its statistics."""

    def call(progress=lambda *_: None, operators=("Add", "Relu", "Concat", "Split"), **changes):
        chosen = [pool for pool in POOLS if pool.name in ("joined columns", "any shape", "split rows")]
        settings = GenerateSettings(operators=operators, max_ops=2, jobs=1, **changes)
        found = generate(library, settings, progress, chosen)
        return [format_rule(rule) for rule in found.candidates], found.stats

    return call


def stop_after(stage, count):
    def progress(name, done, _):
        if (name, done) == (stage, count):
            raise Interrupted

    return progress


@pytest.mark.parametrize(("stage", "count"), [("enumerate", 2), ("generalise", 1), ("try", 3)])
def test_an_interrupted_run_goes_on_and_finds_the_same(made, tmp_path, stage, count):
    whole = made()
    with pytest.raises(Interrupted):
        made(stop_after(stage, count), resume=tmp_path)
    told = []
    assert made(lambda *step: told.append(step), resume=tmp_path) == whole
    assert next(done for name, done, _ in told if name == stage) == count + 1  # nothing was done twice
    assert made(lambda *step: told.append(step) or 1 / 0, resume=tmp_path) == whole  # there is nothing left to do


def test_a_line_that_was_cut_off_is_done_again(made, tmp_path):
    whole = made()
    with pytest.raises(Interrupted):
        made(stop_after("enumerate", 2), resume=tmp_path)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:-20])
    told = []
    assert made(lambda *step: told.append(step), resume=tmp_path) == whole
    assert told[0][:2] == ("enumerate", 2)


def test_another_process_goes_on_whatever_order_its_sets_have(tmp_path):
    command = [sys.executable, "-m", "taso_opt", "generate", "--operators", "Add", "--pools", "grouped,pooled batch"]
    options = ["--max-ops", "1", "--jobs", "1", "--resume", str(tmp_path)]
    for seed in "123":
        done = subprocess.run([*command, *options], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
        assert done.returncode == 0, done.stderr


def test_equations_about_images_behind_strided_windows_are_read_back(library, tmp_path):
    pools = [pool for pool in POOLS if pool.name == "merged images"]
    settings = GenerateSettings(operators=("Conv", "Concat", "Split"), max_ops=3, jobs=1, resume=tmp_path)
    first = generate(library, settings, pools=pools)
    assert "floor((" in (tmp_path / FILE).read_text()
    assert generate(library, settings, pools=pools) == first


@pytest.mark.parametrize(
    "text", ["n", "n+p", "floor((h-3)/(2))+1", "2*floor((h)/(s_h))", "floor((floor((h-3)/(2))+w-2)/(n+p))", "*b", "7"]
)
def test_sizes_with_quotients_read_back(text):
    assert str(parse_size(text)) == text


@pytest.mark.parametrize("text", ["floor((h-3)/(2)", "floor((h-)/(2))", "floor()", "n)", "floor((h)/(n))m", ""])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="expected"):
        parse_size(text)


@pytest.mark.parametrize(("changes", "name"), [
    ({"seed": 5}, "seed"), ({"operators": ("Add",)}, "operators"), ({"pools": ("any shape",)}, "work"),
])  # fmt: skip
def test_the_pieces_of_another_task_are_refused(made, tmp_path, changes, name):
    made(resume=tmp_path)
    with pytest.raises(
        InvalidInputError, match=f"expected an interrupted run of the same task in .*, found another {name}"
    ):
        made(resume=tmp_path, **changes)


def content(tmp_path):
    return (tmp_path / FILE).read_text(encoding="utf-8").splitlines()


STATS = (
    '["enumerate", 0, {"stats": {"family": "f", "pool": "p", "levels": [], "claims": %s, "dropped": %s, "kept": 0}, '
    '"found": []}]'
)


@pytest.mark.parametrize("line", [
    "not JSON", "[1, 2]", '["enumerate", "x", {}]', '["enumerate", 0, {}]', '["enumerate", 0, 7]',
    '["enumerate", 0, {"stats": {}, "found": []}]', '["enumerate", 0, {"stats": [], "found": [["", [], "x = "]]}]',
    '["generalise", 0, [["nonsense"], 0]]', '["try", 0, ["nonsense"]]', '["try", 0, 7]',
    '["enumerate", Infinity, {}]', '["enumerate", "0", {}]',
    STATS % ('"many"', "{}"), STATS % ("0", "7"),
])  # fmt: skip
def test_what_the_tool_did_not_write_is_refused_in_one_line(made, tmp_path, line):
    with pytest.raises(Interrupted):
        made(stop_after("enumerate", 1), resume=tmp_path)
    head, *_ = content(tmp_path)
    (tmp_path / FILE).write_text(f"{head}\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="expected what an interrupted run left in") as error:
        made(resume=tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("damage", [b"\xff\xfe\n", b"[]\n", b"{}\n", b"\n\n"])
def test_a_file_with_another_head_is_refused(made, tmp_path, damage):
    (tmp_path / FILE).write_bytes(damage)
    with pytest.raises(InvalidInputError):
        made(resume=tmp_path)


def test_two_runs_in_one_folder_are_kept_apart(made, tmp_path):
    with open_checkpoint(tmp_path, {"task": "of the first"}).file:
        left = content(tmp_path)
        with pytest.raises(InvalidInputError, match="expected a folder of no other run for --resume"):
            made(resume=tmp_path)
        assert content(tmp_path) == left


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_sentence():
    checkpoint = Checkpoint(FULL.open("w", encoding="utf-8"))
    with pytest.raises(InvalidInputError, match="expected a folder that can be written for --resume, found /dev: "):
        checkpoint.save("enumerate", 0, {})
    checkpoint.close()


def test_a_folder_that_cannot_be_made_is_refused(made, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="expected a folder that can be written for --resume"):
        made(resume=tmp_path / "file" / "folder")


def test_the_first_line_names_all_that_the_pieces_depend_on(made, tmp_path, library):
    made(resume=tmp_path)
    head = json.loads(content(tmp_path)[0])
    assert head["specs"] == library.digest
    assert (head["seed"], head["max_ops"], head["operators"]) == (0, 2, ["Add", "Concat", "Relu", "Split"])


def test_less_memory_finds_the_same_with_smaller_pieces(made, monkeypatch):
    whole = made()
    room_for_50_tuples = GIB // 100
    monkeypatch.setattr("taso_opt.generate.enumeration.explore.ROW_BYTES", room_for_50_tuples)
    monkeypatch.setattr("taso_opt.generate.enumeration.enumerate.RANGE_ROWS", 64)
    assert made(max_memory=GIB // 2) == whole


def test_processes_share_the_memory_and_are_fewer_where_it_is_short():
    assert jobs_of(GenerateSettings(jobs=8, max_memory=64 * GIB)) == 8
    assert jobs_of(GenerateSettings(jobs=8, max_memory=2 * GIB)) == 3
    assert jobs_of(GenerateSettings(jobs=8, max_memory=GIB // 2)) == 1
    assert memory_share(GenerateSettings(jobs=2, max_memory=6 * GIB)) == 2 * GIB  # the process that asks has a share
    assert memory_share(GenerateSettings(jobs=1, max_memory=6 * GIB)) == 6 * GIB


def test_pools_are_chosen_by_name(made, library):
    found = generate(library, GenerateSettings(("Add", "Relu"), 2, 1, pools=("any shape",)))
    assert {pool.pool for pool in found.stats.pools} == {"any shape"}
    together = generate(library, GenerateSettings(("Add", "Relu"), 2, 1, pools=("whole products",)))
    assert len(together.candidates) >= 2
    assert "whole products" not in {pool.pool for pool in made()[1].pools}
    with pytest.raises(UsageError, match=r"expected a pool, found 'none such': there are chain, .*, whole products"):
        generate(library, GenerateSettings(pools=("none such",)))


def test_a_first_line_that_was_cut_off_is_begun_anew_and_another_file_is_not(made, tmp_path):
    whole = made(resume=tmp_path)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes()[:9])
    assert made(resume=tmp_path) == whole
    path.write_text("what is this")
    with pytest.raises(InvalidInputError, match="found something else"):
        made(resume=tmp_path)
    assert path.read_text() == "what is this"
