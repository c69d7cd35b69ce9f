"""Progress is for terminals: there it begins before anything heavy is loaded, elsewhere stderr stays empty."""

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from documentation import terminal
from taso_opt.cli.progress import Pace
from taso_opt.spec.rule_file import read_records

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")

MOST_SCREENS = 20
"""Of those that the progress fills one after the other, which are drawn anew from the beginning."""


@pytest.fixture
def model(tmp_path):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Relu", ["xw"], ["y"])],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])],
        [numpy_helper.from_array(np.ones((8, 8), np.float32), "w")],
    )
    path = tmp_path / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def dry_run(model, stderr):
    command = [sys.executable, "-m", "taso_opt", "optimize", str(model), "--dry-run"]
    environment = {**os.environ, "TASOOPT_CACHE": str(model.parent / "cache"), "TERM": "xterm"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env=environment, text=True)


def test_a_terminal_hears_of_every_stage_and_stdout_of_none(model):
    ours, theirs = pty.openpty()
    process = dry_run(model, theirs)
    os.close(theirs)
    heard = b""
    while True:
        try:
            heard += os.read(ours, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
    out, _ = process.communicate()
    os.close(ours)
    text = heard.decode()
    stages = [
        "loading",
        "reading the model",
        "looking up what the model's kernels cost",
        "measuring ",
        "searching: 1 graph expanded",
    ]
    places = [text.find(stage) for stage in stages]
    assert places == sorted(places) and places[0] >= 0
    assert process.returncode == 0
    assert "searching" not in out and "\x1b" not in out


def test_without_a_terminal_stderr_is_empty(model):
    out, err = dry_run(model, subprocess.PIPE).communicate()
    assert err == ""
    assert "dry run" in out


def test_progress_stays_on_one_line_of_a_narrow_terminal(model):
    command = [sys.executable, "-m", "taso_opt", "optimize", str(model), "--dry-run"]
    written, code = terminal.record(command, 40, {"TASOOPT_CACHE": str(model.parent / "cache")}, model.parent)
    assert code == 0
    ends = [at for at in range(len(written)) if written.startswith(b"\x1b[2K", at)]
    assert len(ends) > 3
    looked_at = ends[:: len(ends) // MOST_SCREENS + 1]
    heights = [len(terminal.screen("", written[:end], 40).lines) for end in looked_at]
    assert max(heights) == 1
    assert "0:00:0" in terminal.screen("", written[: ends[3]], 40).text


def test_what_is_too_wide_for_a_terminal_is_broken_between_words(tmp_path):
    whole = [record for record in read_records(None) if max(map(len, record.text.split())) < 50]
    longest = max(whole, key=lambda record: len(record.text))
    command = [sys.executable, "-m", "taso_opt", "rules", "explain", longest.identity]
    written, _ = terminal.record(command, 60, {}, tmp_path)
    lines = terminal.screen("", written, 60).text.splitlines()
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert max(map(len, piped.splitlines())) > 60
    assert " ".join(piped.split()) == " ".join(" ".join(lines).split())
    assert lines[1].startswith("    ") and not lines[1].startswith("     ")


def test_ctrl_c_ends_the_program_with_one_line_and_nothing_written(model):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "taso_opt", "optimize", str(model)]
    environment = {**os.environ, "TASOOPT_CACHE": str(model.parent / "cache"), "TERM": "xterm"}
    take_over = (  # a shell lets what it runs in the background ignore the key, and so would all that this starts
        "import fcntl, os, signal, sys, termios; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        "fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", take_over, *command],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    heard, pressed = b"", False
    while True:
        try:
            heard += os.read(ours, 65536)
        except OSError:
            break
        if b"reading the model" in heard and not pressed:
            os.write(ours, b"\x03")
            pressed = True
    os.close(ours)
    assert pressed and process.wait() == 130
    assert terminal.screen("", heard, 80).text.splitlines()[-1] == "tasoopt: error: interrupted"
    assert b"Traceback" not in heard and not (model.parent / "small.opt.onnx").exists()


def test_the_pace_of_a_stage_is_told_from_what_this_run_did_of_it():
    now = iter([0.0, 10.0, 12.0, 30.0, 31.0])
    pace = Pace(lambda: next(now))
    assert pace.line("enumerate", 100, 300) == "enumerate: 100 of 300"  # the first hundred may be of an earlier run
    assert pace.line("enumerate", 104, 300) == "enumerate: 104 of 300, 2 a second, 1:38 left"
    assert pace.line("generalise", 1, 8000) == "generalise: 1 of 8000"
    assert pace.line("generalise", 2, 8000) == "generalise: 2 of 8000, 1 a second, 2:13:18 left"
