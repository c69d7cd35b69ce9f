"""`tasoopt cost` shows, exports and clears what was measured."""

import json
import math
import sqlite3

import pytest

from taso_opt.cli import main
from taso_opt.cost import CostTable
from taso_opt.cost.table import CostEntry


@pytest.fixture(autouse=True)
def _three_costs(tmp_path, monkeypatch):
    monkeypatch.setenv("TASOOPT_CACHE", str(tmp_path))
    with CostTable() as table:
        table.store([CostEntry("here", "Relu(x)", 1.5e-6, 2e-7, 9), CostEntry("here", "Exp(x)", math.inf, 0.0, 0)])
        table.store([CostEntry("elsewhere", "Relu(x)", 2.5e-6, 0.0, 9)])


def test_show_prints_the_newest_costs_and_says_what_does_not_run(tmp_path, capsys):
    assert main(["cost", "show"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == f"{tmp_path / 'costs.sqlite'}: 3 costs"
    assert sorted(" ".join(line.split()) for line in lines) == [
        "1.500 µs ± 0.200 Relu(x)",
        "2.500 µs ± 0.000 Relu(x)",
        "not runnable Exp(x)",
    ]
    assert len({line.index(line.split()[-1]) for line in lines}) == 1  # the units stand below each other


@pytest.mark.parametrize(("later", "newest"), [("elsewhere", "2.500 µs"), ("here", "1.500 µs")])
def test_show_can_be_limited_to_the_newest(later, newest, tmp_path, capsys):
    with sqlite3.connect(tmp_path / "costs.sqlite") as table:
        table.execute("UPDATE costs SET measured_at = '2100-01-01' WHERE device = ? AND unit = 'Relu(x)'", (later,))
    assert main(["cost", "show", "--limit", "1"]) == 0
    _, line = capsys.readouterr().out.splitlines()
    assert line.strip().startswith(newest)


def test_export_writes_all_costs_as_json(tmp_path, capsys):
    assert main(["cost", "export", "-o", str(tmp_path / "costs.json")]) == 0
    assert main(["cost", "export"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((tmp_path / "costs.json").read_text())
    assert (document["schema_version"], document["command"]) == (1, "cost export")
    found = {(cost["device"], cost["unit"]): cost["seconds"] for cost in document["costs"]}
    assert found == {("here", "Relu(x)"): 1.5e-6, ("here", "Exp(x)"): None, ("elsewhere", "Relu(x)"): 2.5e-6}


def test_clear_forgets_them(capsys):
    assert main(["cost", "clear"]) == 0
    assert capsys.readouterr().out.startswith("removed 3 costs from ")
    assert main(["cost", "show"]) == 0
    assert capsys.readouterr().out.endswith(": 0 costs\n")
