"""The whole of a generation: the same for any number of processes, counted, and refusing what it cannot do."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from taso_opt.errors import LostProcessError, UsageError
from taso_opt.generate import GenerateSettings, generate
from taso_opt.generate.engines.workers import processes
from taso_opt.generate.enumeration.enumerate import enumerate_terms, prefix_masks
from taso_opt.generate.enumeration.families import POOLS
from taso_opt.generate.enumeration.moves import is_broadcasting, is_map, shards
from taso_opt.generate.equations.subsume import most_general
from taso_opt.spec.text import format_rule

SMALL = GenerateSettings(operators=("Add", "Relu", "Concat"), max_ops=2, jobs=1)


def pools(*names):
    return [pool for pool in POOLS if pool.name in names]


def text(found):
    return [format_rule(rule) for rule in found.candidates]


def test_any_number_of_processes_finds_the_same_in_the_same_order(library):
    chosen = pools("joined columns", "any shape")
    alone = generate(library, SMALL, pools=chosen)
    together = generate(library, GenerateSettings(SMALL.operators, 2, jobs=3), pools=chosen)
    assert text(alone) == text(together)
    assert alone.stats == together.stats
    assert len(alone.candidates) > 5


def test_candidates_are_sorted_by_size_and_text_and_none_is_there_twice(library):
    found = generate(library, SMALL, pools=pools("joined columns", "joined rows"))
    keys = [(rule.size, format_rule(rule)) for rule in found.candidates]
    assert keys == sorted(set(keys))
    assert all(rule.size <= 2 for rule in found.candidates if len(rule.source) == 1)


def test_another_seed_finds_the_same_laws(library):
    chosen = pools("any shape")
    first, second = (generate(library, GenerateSettings(None, 2, 1, seed), pools=chosen) for seed in (0, 11))
    assert text(first) == text(second)


def test_the_counts_of_a_pool_add_up(library):
    (stats,) = generate(library, GenerateSettings(("Add", "Mul"), 2, 1), pools=pools("rows")).stats.pools
    assert stats.claims == sum(stats.dropped.values()) + stats.kept
    assert stats.levels[0] == (20, 20)  # ten pairs of four variables for each of two operators
    assert stats.dropped["implied"] > 0
    assert stats.kept > 0


def test_no_candidate_is_an_instance_of_one_of_another_stage(library):
    words = ("Add", "Div", "LayerNormalization", "Mul", "Pow", "ReduceMean", "Sqrt", "Sub")
    found = generate(library, GenerateSettings(words, 1, 1), pools=pools("rows"))
    assert found.stats.candidates == len(found.candidates) > 100
    assert found.stats.candidates < found.stats.scalars + found.stats.definitions + found.stats.passing
    assert most_general(found.candidates, library.builder()) == found.candidates


def test_progress_is_told_stage_by_stage(library):
    told = []
    generate(library, SMALL, lambda *step: told.append(step), pools("any shape"))
    assert told[0][0] == "enumerate"
    assert {stage for stage, _, _ in told} == {"enumerate", "generalise", "try"}
    assert all(1 <= done <= count for _, done, count in told)


def test_work_is_done_in_order_in_this_process_or_in_others():
    for count in (1, 2):
        with processes(count) as engine:
            assert sorted(engine.each(abs, [-3, 2, -1])) == [(0, 3), (1, 2), (2, 1)]
            assert list(engine.spread(pow, 2, [3, 0, 5])) == [8, 1, 32]


def end_by_signal(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_ended_from_outside_is_told_as_one():
    with pytest.raises(LostProcessError, match="fewer --jobs need less"), processes(2) as engine:
        list(engine.each(end_by_signal, [1, 2, 3]))


KILLED = """
import os, time
from taso_opt.generate.engines.workers import processes

def work(_):
    print(os.getpid(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    with processes(2) as engine:
        list(engine.each(work, [1, 2]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_processes_end_when_the_one_that_started_them_is_killed(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as run:
        workers = [int(run.stdout.readline()) for _ in range(2)]
        assert all(map(is_running, workers))
        run.kill()
        assert run.stdout.read() == ""  # comes to its end when the last process that could write is gone
    assert not any(map(is_running, workers))


def is_running(process):
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_ops": 0}, "expected 1 to 6 operators a side for --max-ops, found 0"),
        ({"max_ops": 7}, "expected 1 to 6 operators a side for --max-ops, found 7"),
        ({"jobs": 0}, "expected at least one process for --jobs, found 0"),
        ({"seed": -1}, "expected a number of at least 0 for --seed, found -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_one_sentence(settings, message):
    with pytest.raises(UsageError) as error:
        GenerateSettings(**settings)
    assert str(error.value) == message


def test_an_operator_that_nobody_declared_is_refused(library):
    with pytest.raises(UsageError, match=r"expected an operator, found 'Hardmax': there are Abs, Add, "):
        generate(library, GenerateSettings(operators=("Add", "Hardmax")))


def test_operators_are_told_apart_by_what_they_do(library):
    operators = library.operators
    assert {name for name in operators if is_map(operators[name])} >= {"Relu", "Sigmoid", "Tanh"}
    assert {name for name in operators if is_broadcasting(operators[name])} >= {"Add", "Sub", "Mul"}
    assert not {"MatMul", "Concat", "Conv", "Reshape"} & {
        name for name in operators if is_map(operators[name]) or is_broadcasting(operators[name])
    }


def shard(library, pool, *operators):
    (found,) = shards(pools(pool)[0], {name: library.operators[name] for name in operators})
    return found


def test_interchangeable_variables_are_used_as_prefix_sets_not_in_order_of_occurrence(library):
    allowed = prefix_masks(shard(library, "rows", "Add"))  # x y: m n; b c: n
    x, y, b, c = 1, 2, 4, 8
    assert allowed[x | b]
    assert allowed[x | y | b | c]
    assert not allowed[y]
    assert not allowed[x | c]


def test_only_one_term_of_each_class_is_kept_and_extended(library):
    found = enumerate_terms(shard(library, "chain", "Transpose", "MatMul"), library.operators, 3, seed=0)
    assert found.levels[0].classes == 5  # three transposes, x w and w u
    made = {repr(node.made) for node in found.table.nodes}
    assert len(made) == len(found.table.nodes)
    known = len(found.table.nodes)
    assert len(found.table.classes) == known
    assert max(node.size for node in found.table.nodes) == 2


def test_zero_is_not_built_on(library):
    found = enumerate_terms(shard(library, "rows and scalars", "Sub"), library.operators, 2, seed=0)
    assert found.levels[0].terms == 6  # of nine differences of x, b, s three are zero


def test_the_same_text_comes_out_of_every_interpreter(library):
    script = (
        "from taso_opt.generate import GenerateSettings, generate\n"
        "from taso_opt.generate.enumeration.families import POOLS\n"
        "from taso_opt.spec import load_specs\n"
        "from taso_opt.spec.text import format_rule\n"
        "chosen = [pool for pool in POOLS if pool.name in ('joined columns', 'joined rows')]\n"
        "settings = GenerateSettings(('Add', 'Relu', 'Concat'), 2, 1)\n"
        "for rule in generate(load_specs(), settings, pools=chosen).candidates: print(format_rule(rule))\n"
    )
    expected = "".join(
        f"{line}\n" for line in text(generate(library, SMALL, pools=pools("joined columns", "joined rows")))
    )
    for salt in ("1", "2"):
        printed = subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": salt}, capture_output=True, text=True, check=True
        )
        assert printed.stdout == expected
