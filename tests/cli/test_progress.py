"""Progress is for terminals: there it begins before anything heavy is loaded, elsewhere stderr stays empty."""

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from taso_opt.cli.progress import Pace

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")


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
    stages = ["loading", "reading the model", "measuring what the model's kernels cost", "searching: 1 graphs expanded"]
    places = [text.find(stage) for stage in stages]
    assert places == sorted(places) and places[0] >= 0
    assert process.returncode == 0
    assert "searching" not in out and "\x1b" not in out


def test_without_a_terminal_stderr_is_empty(model):
    out, err = dry_run(model, subprocess.PIPE).communicate()
    assert err == ""
    assert "dry run" in out


def test_the_pace_of_a_stage_is_told_from_what_this_run_did_of_it():
    now = iter([0.0, 10.0, 12.0, 30.0, 31.0])
    pace = Pace(lambda: next(now))
    assert pace.line("enumerate", 100, 300) == "enumerate: 100 of 300"  # the first hundred may be of an earlier run
    assert pace.line("enumerate", 104, 300) == "enumerate: 104 of 300, 2 a second, 1:38 left"
    assert pace.line("generalise", 1, 8000) == "generalise: 1 of 8000"
    assert pace.line("generalise", 2, 8000) == "generalise: 2 of 8000, 1 a second, 2:13:18 left"
