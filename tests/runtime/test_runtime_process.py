"""The child process: answers, refusals, crashes, time-outs, restarts and its own end."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from taso_opt.errors import RuntimeFailure, UnsupportedError
from taso_opt.runtime import (
    RunSettings,
    RuntimeProcess,
    describe,
    probe,
    run_feeds,
    run_outputs,
)
from taso_opt.runtime.installed import CUDA_PROVIDER, installed_runtime
from taso_opt.runtime.requests import Describe

ROOT = Path(__file__).resolve().parents[2]
SCALAR = {"x": np.array(0.5, np.float32)}


def gone(pid: int, limit_s: float = 10.0) -> bool:
    """Whether the process ends within the limit (a zombie that nobody collects counts as ended)."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@contextmanager
def after(seconds: float, action: Callable[[], None]) -> Iterator[None]:
    timer = threading.Timer(seconds, action)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def kill_child(process: RuntimeProcess, number: int) -> None:
    assert process.pid is not None
    os.kill(process.pid, number)


def test_the_probe_names_the_newest_versions_that_really_load(shared_process, unary):
    info = probe(shared_process)
    assert info.version == version(installed_runtime().kind)
    assert "CPUExecutionProvider" in info.providers
    assert set(info.providers) <= set(info.listed)
    for newest, variant in ((info.max_ir, "ir_version"), (info.max_opset, "opset")):
        assert newest is not None
        describe(shared_process, unary("Relu", **{variant: newest}))
        with pytest.raises(RuntimeFailure):
            describe(shared_process, unary("Relu", **{variant: newest + 1}))


def test_a_model_is_described_by_its_inputs_and_outputs(shared_process, strings_and_sequence):
    description = describe(shared_process, strings_and_sequence)
    found = {spec.name: (spec.dtype, spec.shape) for spec in description.inputs + description.outputs}
    assert found == {
        "s": ("object", (2,)),
        "a": ("float32", ("N", None)),
        "t": ("object", (2,)),
        "q": ("seq(tensor(float))", ()),
    }


@pytest.mark.parametrize("optimization", ["all", "extended", "basic", "none"])
def test_outputs_are_computed_at_every_optimization_level(shared_process, unary, optimization):
    x = np.linspace(-2, 2, 16, dtype=np.float32).reshape(4, 4)
    (y,) = run_outputs(shared_process, unary("Tanh"), {"x": x}, optimization=optimization)
    np.testing.assert_allclose(y, np.tanh(x), rtol=1e-5, atol=1e-6)


def test_a_model_is_read_from_a_path_and_run_on_several_feeds(shared_process, unary, tmp_path):
    path = tmp_path / "relu.onnx"
    path.write_bytes(unary("Relu", ("N", 2)))
    feeds = [{"x": np.full((rows, 2), sign, np.float32)} for rows, sign in ((3, -1), (0, 1), (2, 1))]
    outputs = run_feeds(shared_process, path, feeds)
    assert [array.tolist() for (array,) in outputs] == [[[0, 0]] * 3, [], [[1, 1]] * 2]
    assert outputs[1][0].shape == (0, 2)


def test_strings_pass_and_a_sequence_is_flattened(shared_process, strings_and_sequence):
    a = np.ones((1, 3), np.float32)
    outputs = run_outputs(shared_process, strings_and_sequence, {"s": np.array(["u", "v"], object), "a": a})
    assert outputs[0].tolist() == ["u", "v"]
    assert [array.tolist() for array in outputs[1:]] == [a.tolist(), a.tolist()]


def test_malformed_bytes_are_refused_in_one_sentence_and_the_child_goes_on(shared_process, unary):
    describe(shared_process, unary("Relu"))
    pid = shared_process.pid
    with pytest.raises(RuntimeFailure) as caught:
        describe(shared_process, b"not a model")
    assert str(caught.value) == (
        "expected ONNX Runtime to load a model of 11 bytes, found: "
        "INVALID_PROTOBUF : Failed to load model because protobuf parsing failed."
    )
    describe(shared_process, unary("Relu"))
    assert shared_process.pid == pid


def test_a_missing_file_and_a_missing_input_are_named(shared_process, unary, tmp_path):
    with pytest.raises(RuntimeFailure, match=r"load .*nothing\.onnx, found: NO_SUCHFILE"):
        describe(shared_process, tmp_path / "nothing.onnx")
    with pytest.raises(RuntimeFailure, match=r"run a model of \d+ bytes, found: Required inputs \(\['x'\]\)"):
        run_outputs(shared_process, unary("Relu"), {})


def test_what_the_runtime_prints_does_not_reach_the_terminal(shared_process, unary, capfd):
    wrong = {"x": np.ones((3, 3), np.float32)}
    with pytest.raises(RuntimeFailure, match="invalid dimensions"):
        run_outputs(shared_process, unary("Relu"), wrong)
    assert capfd.readouterr() == ("", "")


def test_cuda_without_a_device_is_unsupported(shared_process, unary):
    if CUDA_PROVIDER in probe(shared_process).providers:
        pytest.skip("a CUDA device answers here")
    with pytest.raises(UnsupportedError, match="expected a session on device 'cuda'"):
        run_outputs(shared_process, unary("Relu"), {"x": np.ones((4, 4), np.float32)}, RunSettings("cuda"))


def test_a_crash_names_the_signal_and_the_next_request_has_a_new_child(unary, endless):
    with RuntimeProcess() as process:
        describe(process, endless)
        first = process.pid
        with (
            after(0.3, lambda: kill_child(process, signal.SIGSEGV)),
            pytest.raises(RuntimeFailure, match="found it killed by SIGSEGV"),
        ):
            run_outputs(process, endless, SCALAR)
        assert process.pid is None
        describe(process, unary("Relu"))
        assert process.pid not in (None, first)


def test_a_child_starts_before_anything_is_asked(unary):
    with RuntimeProcess() as process:
        first = process.pid
        assert first is not None
        describe(process, unary("Relu"))
        assert process.pid == first


@pytest.mark.parametrize("is_asked", [False, True], ids=["before it is ready", "between requests"])
def test_a_child_that_died_unnoticed_is_replaced(unary, is_asked):
    with RuntimeProcess() as process:
        if is_asked:
            describe(process, unary("Relu"))
        first = process.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
        describe(process, unary("Relu"))
        assert process.pid != first


def test_a_crash_quotes_the_last_line_that_the_child_wrote(endless):
    with RuntimeProcess() as process:
        describe(process, endless)
        chatter = Path(f"/proc/{process.pid}/fd/2")

        def speak_and_die() -> None:
            with chatter.open("ab") as stream:
                stream.write(b"first\nterminate called: boom\n\n")
            kill_child(process, signal.SIGABRT)

        with (
            after(0.3, speak_and_die),
            pytest.raises(RuntimeFailure, match=r"SIGABRT; it said: terminate called: boom$"),
        ):
            run_outputs(process, endless, SCALAR)


def test_a_hang_is_ended_at_the_time_limit(unary, endless):
    with RuntimeProcess() as process:
        describe(process, endless)
        first = process.pid
        with pytest.raises(RuntimeFailure, match=r"within 0\.3 s, found it still busy"):
            run_outputs(process, endless, SCALAR, timeout_s=0.3)
        assert first is not None
        assert gone(first)
        describe(process, unary("Relu"))


def test_an_interrupted_request_leaves_no_answer_for_the_next(unary, endless):
    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        with RuntimeProcess() as process:
            describe(process, endless)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                run_outputs(process, endless, SCALAR)
            assert process.pid is None
            assert describe(process, unary("Relu", (2, 5))).inputs[0].shape == (2, 5)
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_the_child_ignores_ctrl_c(unary):
    with RuntimeProcess() as process:
        describe(process, unary("Relu"))
        pid = process.pid
        kill_child(process, signal.SIGINT)
        describe(process, unary("Relu"))
        assert process.pid == pid


def test_a_child_outlives_the_thread_that_started_it(unary):
    with RuntimeProcess() as process:
        thread = threading.Thread(target=describe, args=(process, unary("Relu")))
        thread.start()
        thread.join()
        pid = process.pid
        time.sleep(0.1)
        describe(process, unary("Relu"))
        assert process.pid == pid


def run_script(text: str, *arguments: str) -> "subprocess.Popen[str]":
    code = textwrap.dedent(text)
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_busy_child_dies_when_its_parent_is_killed(endless, tmp_path):
    path = tmp_path / "endless.onnx"
    path.write_bytes(endless)
    script = """
        import sys, threading
        import numpy as np
        from taso_opt.runtime import RuntimeProcess, describe, run_outputs
        process = RuntimeProcess()
        {start}
        print(process.pid, flush=True)
        run_outputs(process, sys.argv[1], {{"x": np.zeros((), np.float32)}})
    """
    in_main = "describe(process, sys.argv[1])"
    in_thread = "t = threading.Thread(target=describe, args=(process, sys.argv[1])); t.start(); t.join()"
    for start in (in_main, in_thread):
        with run_script(script.format(start=start), str(path)) as parent:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            time.sleep(0.2)
            parent.kill()
        assert gone(pid)


def test_the_parent_never_imports_the_runtime_and_needs_no_main_guard(unary, tmp_path):
    path = tmp_path / "relu.onnx"
    path.write_bytes(unary("Relu"))
    file = tmp_path / "script.py"
    file.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from taso_opt.runtime import RuntimeProcess, describe\n"
        "with RuntimeProcess() as process:\n"
        f"    print(describe(process, {str(path)!r}).inputs[0].name, 'onnxruntime' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("x False\n", "", 0)


def test_a_child_that_cannot_import_the_runtime_says_so(tmp_path, monkeypatch, unary):
    broken = tmp_path / "onnxruntime"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('libmissing.so: cannot open\\nshared object')")
    monkeypatch.syspath_prepend(tmp_path)
    expected = r'found: libmissing\.so: cannot open shared object; run: pip install "tasoopt\[cpu\]"'
    with RuntimeProcess() as process, pytest.raises(UnsupportedError, match=expected):
        describe(process, unary("Relu"))


def test_a_child_that_stops_reading_is_ended_in_time():
    with RuntimeProcess() as process:
        probe(process)
        pid = process.pid
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(RuntimeFailure):
            process.request(Describe(bytes(64 << 20)), 2.0)  # more than fits into the pipe
        assert gone(pid)
        assert probe(process).version
