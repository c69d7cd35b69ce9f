"""Broken and hostile input: one line that says what is wrong, an exit code, nothing written, nothing executed."""

import os
import re
import sys
from pathlib import Path

import pytest

from taso_opt.cli import main

sys.path.insert(0, str(Path(__file__).parent))

import kinds_of_files
import kinds_of_models
import kinds_of_rules
import kinds_of_tensors
from kinds import KINDS

MODULES = (kinds_of_files, kinds_of_models, kinds_of_rules, kinds_of_tensors)
"""They enter their kinds when they are imported."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TASOOPT_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for the input, and above it what must be neither read nor written."""
    (tmp_path / "secret.bin").write_bytes(bytes(range(64)))
    inner = tmp_path / "in"
    inner.mkdir()
    monkeypatch.chdir(inner)
    return inner


def content(folder):
    """Every file below a folder and above it, with what it holds where it is small."""
    found = {}
    for path in sorted(folder.parent.rglob("*")):
        small = path.is_file() and path.stat().st_size < 1 << 20
        found[str(path)] = path.read_bytes() if small else os.lstat(path).st_size
    return found


def pattern(error, folder):
    """A regular expression for an error with an ellipsis in it."""
    whole = error.replace("{folder}", str(folder)).replace("{outside}", str(folder.parent))
    return ".*".join(re.escape(part) for part in whole.split("…"))


def test_there_are_more_than_forty_kinds():
    refused = [kind for kind in KINDS.values() if kind.code]
    assert len(refused) >= 40
    assert len(KINDS) >= 75


@pytest.mark.parametrize("name", KINDS)
def test_input_of_this_kind_is_answered_in_one_line_and_leaves_no_trace(name, folder, capfd, monkeypatch):
    monkeypatch.setattr("taso_opt.search.judging.kinds.TRIAL_LIMIT_S", 3.0)  # for loops that never end
    kind = KINDS[name]
    arguments = kind.arguments(folder)
    before = content(folder)
    code = main(arguments)
    out, err = capfd.readouterr()
    assert (code, err) == (kind.code, err), err
    if kind.code:
        assert re.fullmatch(rf"tasoopt: error: {pattern(kind.error, folder)}\n", err), err
        assert err[:-1].isprintable()
        assert out == ""
        assert content(folder) == before
    else:
        assert err == ""
        same = (folder / "model.opt.onnx").read_bytes() == (folder / "model.onnx").read_bytes()
        assert ("unchanged" if same else "x faster: wrote") in out
        after = content(folder)
        del after[str(folder / "model.opt.onnx")]
        assert after == before
