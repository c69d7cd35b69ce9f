"""Memory and processors of a machine, and of the control groups, of both versions, that a process may be in."""

from types import SimpleNamespace

import pytest

from taso_opt.core.machine import control_groups, memory
from taso_opt.core.machine.processors import cores

GB = 1 << 30
FIRST = {"memory.limit_in_bytes": 4 * GB, "memory.usage_in_bytes": 3 * GB}
SECOND = {"memory.max": 4 * GB, "memory.current": 3 * GB}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Writes control groups, of the given places, for a machine of 8 free GB; `own` is what the process is told."""

    def write(own, groups):
        (tmp_path / "own").write_text(own)
        monkeypatch.setattr(control_groups, "OWN_GROUPS", tmp_path / "own")
        monkeypatch.setattr(control_groups, "CONTROL_GROUPS", tmp_path / "groups")
        monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=8 * GB, total=10 * GB))
        for place, files in groups.items():
            folder = tmp_path / "groups" / place
            folder.mkdir(parents=True)
            for name, content in files.items():
                (folder / name).write_text(f"{content}\n")

    return write


def test_without_control_groups_it_is_what_the_machine_has(machine, tmp_path, monkeypatch):
    machine("", {})
    assert (memory.free_memory(), memory.all_memory()) == (8 * GB, 10 * GB)
    monkeypatch.setattr(control_groups, "OWN_GROUPS", tmp_path / "none")
    assert memory.free_memory() == 8 * GB


@pytest.mark.parametrize(
    ("own", "place", "files"),
    [
        ("0::/\n", ".", SECOND),
        ("0::/user/shell\n", "user", SECOND),
        ("3:cpu:/\n2:memory:/docker/1a\n", "memory", FIRST),
        ("2:memory:/jobs/7\n0::/\n", "memory/jobs/7", FIRST),
    ],
)
def test_a_limit_of_the_own_group_or_of_one_around_it_counts(machine, own, place, files):
    machine(own, {place: {**files, "memory.stat": "anon 5"}})
    assert (memory.free_memory(), memory.all_memory()) == (GB, 4 * GB)


@pytest.mark.parametrize(("files", "prefix", "own"), [(FIRST, "total_", "1:memory:/\n"), (SECOND, "", "0::/\n")])
def test_what_is_kept_of_files_is_free(machine, files, prefix, own):
    stat = f"{prefix}active_file {GB}\n{prefix}inactive_file {GB // 2}"
    machine(own, {"memory" if prefix else ".": {**files, "memory.stat": stat}})
    assert (memory.free_memory(), memory.all_memory()) == (2.5 * GB, 4 * GB)


@pytest.mark.parametrize(
    "files", [{**SECOND, "memory.max": "max"}, {**SECOND, "memory.max": 20 * GB}, {"memory.max": GB}, {}]
)
def test_no_limit_or_a_high_one_or_an_unreadable_one_takes_nothing(machine, files):
    machine("0::/\n", {".": {"memory.stat": "anon 5", **files}})
    assert memory.free_memory() == 8 * GB


def test_what_passes_its_limit_has_nothing_left(machine):
    machine("0::/\n", {".": {**SECOND, "memory.current": 5 * GB, "memory.stat": "anon 5"}})
    assert memory.free_memory() == 0


@pytest.mark.parametrize(
    ("own", "place", "files", "count"),
    [
        ("", ".", {}, 8),
        ("0::/\n", ".", {"cpu.max": "250000 100000"}, 3),
        ("0::/a/b\n", "a", {"cpu.max": "50000 100000"}, 1),
        ("0::/\n", ".", {"cpu.max": "max 100000"}, 8),
        ("0::/\n", ".", {"cpu.max": "900000 100000"}, 8),
        ("5:cpu,cpuacct:/docker/1a\n", "cpu,cpuacct", {"cpu.cfs_quota_us": 200000, "cpu.cfs_period_us": 100000}, 2),
        ("5:cpu:/\n", "cpu", {"cpu.cfs_quota_us": -1, "cpu.cfs_period_us": 100000}, 8),
    ],
)
def test_processors_are_those_of_the_container(machine, monkeypatch, own, place, files, count):
    machine(own, {place: files})
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(8)), raising=False)
    assert cores() == count
