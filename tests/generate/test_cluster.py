"""On a Dask cluster of two worker processes a generation finds the same, byte for byte, also when a worker dies."""

import os
import re
import signal

import pytest

from taso_opt.errors import UnsupportedError
from taso_opt.generate import GenerateSettings, generate
from taso_opt.generate.engines.cluster import cluster
from taso_opt.generate.enumeration.explore import Exploration
from taso_opt.generate.enumeration.families import POOLS
from taso_opt.generate.enumeration.moves import shards
from taso_opt.spec.text import format_rule

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own, on machines with many things going on
TASK = GenerateSettings(operators=("Add", "Relu", "Concat", "Split"), max_ops=2, jobs=1)
NAMES = ("joined columns", "joined rows", "split columns", "any shape")


@pytest.fixture(scope="module")
def local():
    """A scheduler with two worker processes of this machine."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as started:
        yield started


def text(library, settings, progress=lambda *_: None):
    chosen = [pool for pool in POOLS if pool.name in NAMES]
    return "".join(f"{format_rule(rule)}\n" for rule in generate(library, settings, progress, chosen).candidates)


def on(local, **changes):
    values = {"operators": TASK.operators, "max_ops": TASK.max_ops, "cluster": local.scheduler_address, **changes}
    return GenerateSettings(**values)


def worker_processes(local):
    with distributed.Client(local.scheduler_address, set_as_default=False) as client:
        return set(client.run(os.getpid).values())


def test_a_cluster_finds_the_same_and_a_killed_worker_costs_only_its_pieces(library, local):
    alone = text(library, TASK)
    assert alone.count("\n") > 20
    assert text(library, on(local)) == alone
    # One of the two workers dies as soon as the first piece is done; the scheduler gives its pieces to others.
    victim = min(worker_processes(local))
    told = []

    def kill(*step):
        if not told:
            os.kill(victim, signal.SIGKILL)
        told.append(step)

    assert text(library, on(local), kill) == alone
    assert victim not in worker_processes(local)
    pieces = [step for step in told if step[0] == "enumerate"]
    assert [done for _, done, _ in pieces] == list(range(1, pieces[0][2] + 1))  # each piece was counted once


def test_the_ranges_of_a_level_are_evaluated_on_the_workers(library, local, monkeypatch):
    monkeypatch.setattr("taso_opt.generate.enumeration.enumerate.RANGE_ROWS", 500)
    (pool,) = (one for one in POOLS if one.name == "joined columns")
    operators = {name: library.operators[name] for name in TASK.operators}
    shard = shards(pool, operators)[0]
    small = Exploration(None, tuple(operators), 3, 0, 256 * 1000, "numpy")
    large = Exploration(None, tuple(operators), 3, 0, 1 << 30, "numpy")
    assert small.alone(shard) is None  # the last level has more than a thousand tuples
    with cluster(local.scheduler_address) as engine:
        spread = small.together(shard, engine)
    assert spread == large.alone(shard)
    assert spread.stats.levels[-1][0] > 1000


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere"])
def test_an_address_where_nobody_answers_is_told_in_one_line(monkeypatch, address):
    monkeypatch.setattr("taso_opt.generate.engines.cluster.WAIT", "1s")
    told = f"expected a Dask scheduler at {address}, found none that answers"
    with pytest.raises(UnsupportedError, match=re.escape(told)), cluster(address):
        pass


def test_a_worker_with_other_specs_is_refused(local, monkeypatch):
    monkeypatch.setattr("taso_opt.generate.engines.cluster.VERSION", "0.0.0")
    told = "expected tasoopt 0.0.0 with the same specs on every worker"
    with pytest.raises(UnsupportedError, match=re.escape(told)), cluster(local.scheduler_address):
        pass
