"""A library is brought up to date with the specs without being discovered anew."""

import json
import re
import sys

import z3

import make_proofs
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import library_bytes, proofs_path, rule_id
from taso_opt.verify.library.check import check_library


def shipped():
    """Three rules in the order of the library, of which the last rests on axioms and the others on none."""
    every = [json.loads(line) for line in library_bytes(None).decode().splitlines()]
    return [*[one for one in every if not one["axioms"]][:2], next(one for one in every if one["axioms"])]


def library(tmp_path, *alterations):
    lines = shipped()
    for line, change in zip(lines, alterations, strict=False):
        line.update(change)
    path = tmp_path / "library.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["make_proofs.py", *map(str, arguments), "--jobs", "1"])
    return make_proofs.main()


def test_a_library_that_is_up_to_date_stays_as_it_is(tmp_path, monkeypatch):
    path = library(tmp_path)
    before = path.read_text()
    assert run(monkeypatch, path, "--renew") == 0
    assert path.read_text() == re.sub(r"z3 [\d.]+", f"z3 {z3.get_version_string()}", before)
    assert check_library(path, load_specs()).failures == ()
    assert check_library(path, load_specs()).followed == 1


def test_stale_digests_and_lost_axioms_are_renewed(tmp_path, monkeypatch):
    stale = {"specs": "0" * 32}
    path = library(tmp_path, {}, stale, {**stale, "axioms": ["relu_is_idempotent"]})
    assert run(monkeypatch, path, "--renew") == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["axioms"] for line in lines] == [line["axioms"] for line in shipped()]
    assert {line["specs"] for line in lines} == {load_specs().digest}
    assert check_library(path, load_specs()).failures == ()


def test_a_rule_that_is_false_is_named_and_nothing_is_written(tmp_path, monkeypatch, capsys):
    text = "Sub(x, y) = Sub(y, x) where x[*a], y[*a]"
    path = library(tmp_path, {"rule": text, "id": rule_id(text)})
    before = path.read_bytes()
    assert run(monkeypatch, path, "--renew") == 1
    assert f"{rule_id(text)} is not proved any more: " in capsys.readouterr().err
    assert path.read_bytes() == before and not proofs_path(path).exists()
