"""The same model, rules and costs give the same plans and the same files, in any process, on a busy machine too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from taso_opt.search.plan import Patience, SearchLimits

TESTS = Path(__file__).parents[1]
PROGRAM, SCRIPTS = TESTS / "support/plan_digests.py", TESTS.parent / "scripts"


def started(network, expansions, hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(SCRIPTS)}
    command = [sys.executable, str(PROGRAM), network, str(expansions)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("network", "expansions"), [("sc_rnn", 12), ("mobilenet_spellings", 4)])
def test_processes_with_other_hash_seeds_write_the_same_files_byte_for_byte(network, expansions):
    processes = [started(network, expansions, hash_seed) for hash_seed in (0, 1)]
    first, second = (process.communicate()[0] for process in processes)
    assert all(process.returncode == 0 for process in processes)
    assert first == second
    assert len(first.splitlines()) >= 3, "a search that finds nothing shows nothing"


def test_how_long_a_search_waits_for_a_gain_does_not_depend_on_the_clock(monkeypatch):
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    limits = SearchLimits(budget=60.0, patience=100, least_patience=3, patience_work=1000)
    patience = Patience(limits)
    for _ in range(3):
        patience.spend()
        patience.work(400)
    assert patience.exhausted()
    assert patience.reason == "patience"
    monkeypatch.setattr("time.monotonic", lambda: 50.0)
    patience = Patience(limits)
    patience.spend()
    patience.work(999)
    monkeypatch.setattr("time.monotonic", lambda: 105.0)
    assert not patience.exhausted()
    patience.reached(1.0)
    patience.spend()
    patience.work(999)
    assert not patience.exhausted()


def test_a_large_graph_does_not_end_a_search_before_the_least_patience():
    patience = Patience(SearchLimits(patience=5, least_patience=3, patience_work=1000))
    for _ in range(3):
        assert not patience.exhausted()
        patience.spend()
        patience.work(5000)
    assert patience.exhausted()


def test_small_gains_are_waited_for_once_more_when_they_add_up():
    patience = Patience(SearchLimits(patience=2))
    for cost in (1.0, 0.997, 0.994):
        patience.reached(cost)
        patience.spend()
    assert not patience.exhausted()
    for cost in (0.993, 0.992):
        patience.reached(cost)
        patience.spend()
    assert patience.exhausted()
