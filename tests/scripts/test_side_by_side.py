"""Other tools beside this one: what becomes of what they write, right or wrong, and that they may crash or hang."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from benchmarks import peers, side_by_side
from benchmarks.standings import ERROR, FAILS, OURS, UNCHANGED, WRONG
from taso_opt.runtime import RunSettings

RUN = RunSettings("cpu", 1)
WORKER = """import sys, time
tool, model, output = sys.argv[1:]
if tool == "hangs":
    time.sleep(60)
if tool == "crashes":
    print("some talk")
    raise SystemExit("the reason\\n")
if tool == "writes":
    open(output, "wb").write(open(model, "rb").read())
"""


@pytest.fixture
def attempt(tmp_path):
    worker, model = tmp_path / "worker.py", tmp_path / "model.onnx"
    worker.write_text(WORKER)
    model.write_bytes(b"model")

    def run(tool, limit_s=30.0):
        return peers.rewrite(tool, model, tmp_path, limit_s, worker)

    return run


def test_a_tool_that_writes_a_file_is_taken_and_others_say_why_not(attempt):
    assert attempt("writes").path.read_bytes() == b"model"
    assert (attempt("crashes").path, attempt("crashes").failure) == (None, "the reason")
    assert attempt("hangs", 0.5).failure == "not done after 0 s"
    assert attempt("forgets").failure == "exit code 0"


def test_tools_are_found_by_the_packages_that_carry_them(monkeypatch):
    installed = {"onnxslim": "0.1", "onnxruntime-gpu": "1.3"}
    monkeypatch.setattr(peers, "installed_version", installed.get)
    assert peers.versions() == {"onnxslim": "0.1", "transformers": "1.3"}
    assert peers.missing() == ["onnxscript", "onnxsim"]


def save(path, operator, factor, **names):
    """A model that joins its input with a number."""
    node = helper.make_node(operator, ["x", "c"], ["y"], **names)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in "xy"]
    number = numpy_helper.from_array(np.float32(factor), "c")
    graph = helper.make_graph([node], "g", values[:1], values[1:], [number])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """Measures results beside an original that doubles; what others write is given by tool, failures as texts."""
    timed = []
    compare = side_by_side.compare_latency

    def counted(process, request):
        timed.append(len(request.candidates))
        return compare(process, request)

    def run(ours, **written):
        def rewrite(tool, *_):
            found = written.get(tool, original)
            return peers.Attempt(tool, None, found) if isinstance(found, str) else peers.Attempt(tool, found)

        monkeypatch.setattr(side_by_side, "rewrite", rewrite)
        return side_by_side.side_by_side(original, ours, RUN, {}), timed

    original = save(tmp_path / "net.onnx", "Mul", 2)
    monkeypatch.setattr(side_by_side, "compare_latency", counted)
    monkeypatch.setattr(side_by_side, "LIMIT_S", 0.5)
    return run


def test_a_wrong_result_is_called_wrong_and_not_timed(beside, tmp_path, capsys):
    wrong = save(tmp_path / "net.onnxsim.onnx", "Mul", 3)
    found, timed = beside(save(tmp_path / "net.opt.onnx", "Div", 0.5), onnxsim=wrong, onnxslim="no such operator")
    assert (found.figures["onnxsim"], found.figures["onnxslim"]) == (WRONG, FAILS)
    assert found.figures[OURS].is_usable and found.figures[OURS].word == ""
    assert timed == [1]
    told = capsys.readouterr().err
    assert "net: onnxslim: no such operator\n" in told
    assert "net.onnxsim: expected a relative error of at most" in told


def test_a_result_that_does_not_load_fails(beside, tmp_path):
    broken = save(tmp_path / "broken.onnx", "NoSuchOperator", 2)
    found, timed = beside(None, transformers=broken)
    assert found.figures == {OURS: ERROR, **dict.fromkeys(peers.PACKAGES, UNCHANGED), "transformers": FAILS}
    assert timed == [0]


def test_what_is_the_same_is_timed_once_and_the_original_itself_not_at_all(beside, tmp_path):
    renamed = save(tmp_path / "renamed.onnx", "Mul", 2, name="another", doc_string="a remark")
    halves = [save(tmp_path / f"{name}.onnx", "Div", 0.5) for name in "ab"]
    found, timed = beside(renamed, onnxsim=halves[0], onnxscript=halves[1])
    assert timed == [1]
    assert found.figures["onnxsim"] == found.figures["onnxscript"] and found.figures["onnxsim"].word == ""
    assert found.figures[OURS] == found.figures["onnxslim"] == UNCHANGED


def test_what_a_file_says_hangs_on_nodes_and_numbers_however_these_are_stored(tmp_path):
    first, other = (save(tmp_path / f"{factor}.onnx", "Mul", factor) for factor in (2, 3))
    model = onnx.load(first)
    model.graph.initializer[0].CopyFrom(helper.make_tensor("c", TensorProto.FLOAT, [], [2.0]))
    onnx.save(model, tmp_path / "spelled.onnx")
    assert (tmp_path / "spelled.onnx").read_bytes() != first.read_bytes()
    assert side_by_side.content(tmp_path / "spelled.onnx") == side_by_side.content(first)
    assert side_by_side.content(other) != side_by_side.content(first)
    assert side_by_side.content(save(tmp_path / "sum.onnx", "Add", 2)) != side_by_side.content(first)
