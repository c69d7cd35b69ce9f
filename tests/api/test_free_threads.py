"""What was measured at one thread is timed with the runtime's own number too, and said where it loses there."""

from dataclasses import replace
from types import SimpleNamespace

import onnx
import pytest

from documentation.sample_reports import improved
from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.api.finals.contest import Contest
from taso_opt.api.reporting import free_threads
from taso_opt.errors import InvalidInputError
from taso_opt.runtime import RunSettings


@pytest.fixture(autouse=True)
def _two_processors(first_wins, monkeypatch):
    """However many processors the machine has."""
    monkeypatch.setattr(free_threads, "cores", lambda: 2)


@pytest.fixture
def asked(monkeypatch):
    """The comparisons of results with the runtime's own number of threads."""
    found, compare = [], free_threads.compare_latency

    def noted(process, request):
        found.append(request)
        return compare(process, request)

    monkeypatch.setattr(free_threads, "compare_latency", noted)
    return found


@pytest.fixture
def model(stackable, tmp_path):
    """A file whose first candidate is another model."""
    onnx.save(stackable, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def optimized(model, process, **settings):
    return optimize_file(model, OptimizeSettings(budget=60.0, **settings), process=process)


def test_the_files_themselves_are_timed_with_as_many_threads_as_the_runtime_chooses(model, process, asked):
    record = optimized(model, process)
    (request,) = asked
    assert request.settings.threads == 0
    assert [str(request.original), *map(str, request.candidates)] == [record.input, record.output]
    found = record.speedup_free_threads
    assert found.low <= found.ratio <= found.high
    assert record.document()["speedup_free_threads"]["ratio"] == found.ratio


def test_a_run_that_follows_an_earlier_decision_says_what_was_timed_then(model, process, asked):
    first, second = (optimized(model, process, force=True) for _ in range(2))
    assert len(asked) == 1
    then = second.speedup_free_threads
    assert not first.speedup_free_threads.measured_at
    assert replace(then, measured_at="") == first.speedup_free_threads
    assert second.speedup != first.speedup


@pytest.mark.parametrize("ended_by", [KeyboardInterrupt(), InvalidInputError("the table is locked")])
def test_what_ends_this_timing_ends_nothing_else(ended_by, monkeypatch):
    def end(job, contest):
        raise ended_by

    monkeypatch.setattr(free_threads, "_remembered", end)
    assert free_threads.with_free_threads(None, improved(), None) == improved()


def test_new_finals_have_a_timing_of_their_own(model, process, asked):
    for seed in (0, 1):
        assert not optimized(model, process, seed=seed, force=True).speedup_free_threads.measured_at
    assert len(asked) == 2


def test_what_was_measured_at_more_threads_is_not_timed_again(model, process, asked):
    assert optimized(model, process, threads=2).speedup_free_threads is None
    assert not asked


def test_one_processor_has_nothing_to_time(model, process, asked, monkeypatch):
    monkeypatch.setattr(free_threads, "cores", lambda: 1)
    assert optimized(model, process).speedup_free_threads is None
    assert not asked


@pytest.mark.parametrize(("high", "is_told"), [(0.9, True), (1.05, False)])
def test_a_warning_says_where_the_result_is_slower(high, is_told, monkeypatch):
    slower = replace(improved().speedup, ratio=0.7, low=0.6, high=high)
    monkeypatch.setattr(free_threads, "_measured", lambda job: slower)
    record = free_threads.with_free_threads(None, improved(), Contest("here", "the question", None))
    assert record.speedup_free_threads == slower
    assert any("--threads 0 optimizes for them" in warning for warning in record.warnings) == is_told


@pytest.mark.parametrize(
    "change", [{"run": RunSettings("cuda")}, {"run": RunSettings(threads=2)}, {"deadline": 5.0}, {"obstacle": "a loop"}]
)
def test_what_runs_elsewhere_or_has_no_time_left_is_not_timed_again(change, monkeypatch):
    monkeypatch.setattr(free_threads, "compare_latency", lambda *_: pytest.fail("it was timed"))
    monkeypatch.setattr(free_threads.time, "monotonic", lambda: 0.0)
    job = SimpleNamespace(**{"run": RunSettings(), "deadline": 60.0, "obstacle": "", **change})
    assert free_threads.with_free_threads(job, improved(), Contest("here", "the question", None)) == improved()
