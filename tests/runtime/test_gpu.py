"""GPUs are those that the driver lists, and sessions on one take its provider's options; no GPU is needed here."""

from types import SimpleNamespace

import pytest

from taso_opt.errors import UsageError
from taso_opt.runtime import RunSettings, gpus, provider_options
from taso_opt.runtime.gpu import first_gpu
from taso_opt.runtime.questions import SESSIONS_ON_GPU, _batches
from taso_opt.runtime.requests import MeasureItem, MeasurePlan

GRAPHS = RunSettings("cuda", options=(("enable_cuda_graph", "1"), ("prefer_nhwc", "1")))


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Puts a tool in the place of nvidia-smi that prints a text."""

    def listing(text):
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\nprintf '{text}'\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    return listing


@pytest.mark.parametrize(
    ("output", "seen", "first"),
    [
        ("small, 1.0\\nlarge, 2.0\\n", None, "small, driver 1.0"),
        ("small, 1.0\\nlarge, 2.0\\n", "1,0", "large, driver 2.0"),
        ("small, 1.0\\n", "GPU-2cc6da62", "small, driver 1.0"),
        ("", None, ""),
    ],
)
def test_devices_are_those_that_the_driver_lists(driver, monkeypatch, output, seen, first):
    driver(output)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if seen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    assert len(gpus()) == output.count("\\n")
    assert first_gpu() == first


def test_without_a_driver_there_is_no_device(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus() == [] and first_gpu() == ""


def test_outputs_are_judged_with_all_digits_and_without_graphs():
    plain, exact = RunSettings("cuda"), RunSettings("cuda", options=(("use_tf32", "0"),))
    assert plain.is_short and not exact.is_short and not RunSettings().is_short
    assert plain.judge == exact.judge == exact
    assert GRAPHS.captures and not GRAPHS.uncaptured.captures and not GRAPHS.judge.captures
    assert dict(GRAPHS.judge.options) == {"enable_cuda_graph": "0", "prefer_nhwc": "1", "use_tf32": "0"}
    assert RunSettings().judge == RunSettings().uncaptured == RunSettings()


@pytest.mark.parametrize("word", ["1", "True", "true"])
def test_an_option_is_on_in_each_word_that_the_provider_takes(word):
    spelled = RunSettings("cuda", options=(("enable_cuda_graph", word), ("use_tf32", word)))
    assert spelled.captures and spelled.is_short
    assert dict(spelled.judge.options) == {"enable_cuda_graph": "0", "use_tf32": "0"}
    assert not RunSettings("cuda", options=(("use_tf32", "false"),)).is_short


def test_costs_name_the_options_of_the_provider():
    assert GRAPHS.provider == "cuda enable_cuda_graph=1 prefer_nhwc=1"
    assert RunSettings().provider == "cpu"


def test_options_are_those_of_the_cuda_provider_alone():
    assert provider_options("cuda", {"use_tf32": "0", "prefer_nhwc": "1"}) == (("prefer_nhwc", "1"), ("use_tf32", "0"))
    assert provider_options("cpu", {}) == ()
    with pytest.raises(UsageError, match="expected device cuda where options of its provider are given, found 'cpu'"):
        provider_options("cpu", {"use_tf32": "0"})
    with pytest.raises(UsageError, match=r"expected an option of the CUDA provider among .*use_tf32, found 'tf32'"):
        provider_options("cuda", {"tf32": "0"})


def test_fewer_sessions_live_at_once_on_a_gpu():
    items = [MeasureItem(str(number), b"") for number in range(2 * SESSIONS_ON_GPU + 1)]
    for settings, sizes in ((RunSettings("cuda"), [16, 16, 1]), (RunSettings(), [32, 1])):
        assert [len(batch) for batch in _batches(items, settings, MeasurePlan())] == sizes


class Recording:
    """Stands in for a session and its bindings, and remembers under which number each run is captured."""

    def __init__(self):
        self.runs, self.bound = [], []

    def run_with_iobinding(self, binding, options):
        try:
            self.runs.append(options.get_run_config_entry("gpu_graph_id"))
        except RuntimeError:  # the runtime's answer where there is none
            self.runs.append("")

    def get_inputs(self):
        return []

    def get_outputs(self):
        return [SimpleNamespace(name="y", type="tensor(float)", shape=[1])]

    def bind_ortvalue_output(self, name, value):
        self.bound.append((name, value.name))

    def synchronize_outputs(self):
        self.runs.append("waited")


@pytest.fixture
def recorded(monkeypatch):
    """Binds runs of a session that remembers them, on three feeds: the session and the runs."""
    from taso_opt.runtime.child import sessions

    def bind(settings):
        session = Recording()
        monkeypatch.setattr(sessions, "_bound", lambda *_: session)
        return session, sessions.bound_runs(session, [{}, {}, {}], settings)

    return bind


def test_what_is_captured_has_its_outputs_where_the_first_run_put_them(recorded):
    session, (run,) = recorded(GRAPHS)
    assert session.bound == [("y", "y")]
    run()
    run()
    assert session.runs == ["-1", "1", "waited", "1", "waited", "1", "waited"]


def test_capturing_is_over_before_anybody_takes_the_time(recorded):
    session, _ = recorded(GRAPHS)
    assert session.runs == ["-1", "1", "waited"], "the first run under a number is the one that captures"


def test_what_is_not_captured_runs_on_each_feed(recorded):
    session, runs = recorded(RunSettings("cuda"))
    assert session.runs == []
    for run in runs:
        run()
    assert session.runs == ["", "waited"] * 3


def test_a_gpu_is_asked_before_the_cpu():
    from taso_opt.runtime.child import sessions

    assert sessions.providers_for(GRAPHS)[0] == ("CUDAExecutionProvider", dict(GRAPHS.options))
    assert sessions.providers_for(RunSettings()) == ["CPUExecutionProvider"]
