"""`tasoopt optimize` from the command line: answers, exit codes, and bad input that loses nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from taso_opt.cli import main

pytestmark = pytest.mark.usefixtures("shared_costs")

FROM_MEANINGS = ("index functions", "reals")
"""How the names end of what proves rules from the meanings of their operators, without axioms."""
GENERATOR = np.random.default_rng(0)


def weight(name, *shape):
    values = GENERATOR.normal(size=shape, scale=shape[0] ** -0.5).astype(np.float32)
    return numpy_helper.from_array(values, name)


def towers(count=6, width=256, layers=2):
    """Towers that share their weights: stacking their rows saves most of the memory traffic."""
    nodes, ends = [], []
    for tower in range(count):
        value = f"x{tower}"
        for layer in range(layers):
            nodes.append(helper.make_node("MatMul", [value, f"w{layer}"], [f"m{tower}_{layer}"]))
            nodes.append(helper.make_node("Relu", [f"m{tower}_{layer}"], [f"r{tower}_{layer}"]))
            value = f"r{tower}_{layer}"
        ends.append(value)
    nodes.append(helper.make_node("Concat", ends, ["y"], axis=1))
    graph = helper.make_graph(
        nodes,
        "towers",
        [helper.make_tensor_value_info(f"x{tower}", TensorProto.FLOAT, [1, width]) for tower in range(count)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, width * count])],
        [weight(f"w{layer}", width, width) for layer in range(layers)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="test")
    helper.set_model_props(model, {"owner": "somebody"})
    return model


def nothing_to_gain():
    graph = helper.make_graph(
        [helper.make_node("Softmax", ["x"], ["y"], axis=-1)],
        "softmax",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def towers_file(tmp_path):
    path = tmp_path / "towers.onnx"
    onnx.save(towers(), path)
    return path


def outputs(path, feeds):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def test_towers_are_stacked_and_compute_the_same(towers_file, capsys):
    assert main(["optimize", str(towers_file), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    result = towers_file.with_name("towers.opt.onnx")
    assert document["schema_version"] == 1
    assert document["output"] == str(result)
    original, rewritten = onnx.load(towers_file), onnx.load(result)
    onnx.checker.check_model(rewritten, full_check=True)
    assert [value.name for value in rewritten.graph.input] == [value.name for value in original.graph.input]
    assert rewritten.metadata_props == original.metadata_props
    assert (rewritten.ir_version, rewritten.producer_name) == (8, "test")
    feeds = {f"x{tower}": GENERATOR.normal(size=(1, 256)).astype(np.float32) for tower in range(6)}
    np.testing.assert_allclose(outputs(result, feeds)[0], outputs(towers_file, feeds)[0], rtol=1e-4, atol=1e-5)
    if document["result"] == "improved":
        assert document["speedup"]["low"] > 1
        assert document["operators_after"]["MatMul"] < document["operators_before"]["MatMul"] == 12
        assert all(rule["count"] > 0 for rule in document["rules"])
        assert all(rule["axioms"] for rule in document["rules"] if not rule["engine"].endswith(FROM_MEANINGS))
    else:
        assert result.read_bytes() == towers_file.read_bytes()


def test_a_model_without_gain_comes_back_byte_for_byte(tmp_path, capsys):
    path = tmp_path / "softmax.onnx"
    onnx.save(nothing_to_gain(), path)
    assert main(["optimize", str(path), "-o", str(tmp_path / "out.onnx")]) == 0
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()
    assert "unchanged: no rewriting is predicted to be faster by more than 1%" in capsys.readouterr().out


def test_a_reader_that_goes_away_takes_no_report_along(tmp_path):
    path, report = tmp_path / "softmax.onnx", tmp_path / "report.json"
    onnx.save(nothing_to_gain(), path)
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "taso_opt", "optimize", path, "--dry-run", "--budget", "2", "--report", report]
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, "")
    assert json.loads(report.read_text())["result"] == "dry-run"


def test_a_dry_run_writes_nothing(towers_file, tmp_path, capsys):
    assert main(["optimize", str(towers_file), "--dry-run", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["result"] == "dry-run"
    assert document["output"] is None
    assert document["rules"]
    assert sum(document["operators_after"].values()) < sum(document["operators_before"].values())
    assert sorted(path.name for path in tmp_path.glob("*.onnx")) == ["towers.onnx"]


def test_a_dry_run_lists_what_would_be_done(towers_file, capsys):
    assert main(["optimize", str(towers_file), "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "rule to apply" in text and "nodes that would be replaced" in text
    assert "dry run, nothing written: predicted" in text


def test_the_report_file_is_the_json_document(towers_file, tmp_path, capsys):
    report = tmp_path / "report.json"
    assert main(["optimize", str(towers_file), "--dry-run", "--json", "--report", str(report)]) == 0
    assert json.loads(report.read_text()) == json.loads(capsys.readouterr().out)


def test_one_run_writes_a_page_and_a_json_document(towers_file, tmp_path, capsys):
    page, document = tmp_path / "report.html", tmp_path / "report.json"
    assert main(["optimize", str(towers_file), "--report", str(page), "--report", str(document)]) == 0
    record = json.loads(document.read_text())
    assert [output["name"] for output in record["outputs"]] == ["y"]
    assert record["search"]["progress"][-1]["explored"] == record["search"]["explored"]
    kernels = {cost["operator"]: cost for cost in record["costs"]}
    assert kernels["MatMul"]["count_before"] == 12
    text = page.read_text()
    assert str(towers_file) in text
    if record["result"] == "improved":
        assert len(record["places"]) == sum(rule["count"] for rule in record["rules"])
        assert all(rule["id"] in text and rule["conditions"] for rule in record["rules"])
        assert kernels["MatMul"]["count_after"] < 12
        drawn = next(place for place in record["places"] if place["before"] is not None)
        assert {"MatMul", "Relu"} & {node["label"] for node in drawn["before"]["nodes"]}


def test_a_false_rule_is_caught_reported_and_nothing_is_written(towers_file, tmp_path, capsys):
    rule = {"id": "f", "rule": "Relu(x) = x where x[*b]", "fp_class": "E0", "axioms": [], "engine": "", "specs": ""}
    (tmp_path / "false.jsonl").write_text(json.dumps(rule) + "\n")
    arguments = ["--rules", str(tmp_path / "false.jsonl"), "--report", str(tmp_path / "report.json")]
    assert main(["optimize", str(towers_file), *arguments, "--json"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("tasoopt: error: candidate 1 does not compute what the model computes")
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "towers.opt.onnx").exists()
    record = json.loads((tmp_path / "report.json").read_text())
    assert json.loads(captured.out) == record
    before, after = record["operators_before"], record["operators_after"]
    assert after.get("Relu", 0) < before["Relu"]
    assert (record["result"], record["output"]) == ("mismatch", None)
    assert [(output["name"], output["agrees"]) for output in record["outputs"]] == [("y", False)]
    assert record["rules"][0]["id"] == "f" and record["places"]


def external_without_data(path):
    model = towers()
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (path.parent / "weights.bin").unlink()


BROKEN = {
    "missing": (lambda path: None, "found no file"),
    "empty": (lambda path: path.write_bytes(b""), "found an empty file"),
    "text": (lambda path: path.write_text("hello, this is no model\n" * 20), "expected an ONNX model"),
    "truncated": (lambda path: path.write_bytes(towers().SerializeToString()[:5000]), "expected an ONNX model"),
    "folder": (lambda path: path.mkdir(), "found a folder"),
    "no data": (external_without_data, "weights.bin"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_an_input_that_is_no_model_gives_one_line_and_no_output(case, tmp_path, capsys):
    make, wording = BROKEN[case]
    path = tmp_path / "model.onnx"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    assert main(["optimize", str(path)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tasoopt: error: ")
    assert captured.err.count("\n") == 1
    assert wording in captured.err
    assert not (tmp_path / "model.opt.onnx").exists()
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "wording"),
    [
        (["-o", "{folder}/none/out.onnx"], "expected a folder to write to, found none"),
        (["-o", "{model}", "--force"], "expected an output other than the input"),
        (["-o", "{folder}/taken.onnx"], "--force replaces it"),
        (["--device", "abacus"], "'abacus' is not one of"),
        (["--threads", "many"], "'many' is not a valid integer"),
        (["--alpha", "0.5"], "0.5 is not in the range"),
        (["--budget", "0"], "0.0 is not in the range"),
        (["--fp-class", "E9"], "'E9' is not one of"),
        (["--cuda-option", "use_tf32"], "expected --cuda-option NAME=VALUE"),
        (["--device", "cpu", "--cuda-option", "use_tf32=0"], "expected device cuda where options of its provider"),
        (["--dim", "batch"], "expected --dim NAME=N"),
        (["--dim", "batch=0"], "expected --dim NAME=N"),
        (["--dim", "batch=1,"], "expected --dim NAME=N"),
        (["--dim", "batch=1,8,0"], "expected --dim NAME=N"),
        (["--dim", "nowhere=4"], "nowhere"),
        (["--dim", "n=4", "--dim", "n=5"], "expected one --dim for 'n', found two"),
        (["--budget", "nan"], "expected budget of at least 0.1, found nan"),
        (["--report", "{folder}/taken.json", "-o", "{folder}/taken.json"], "expected a report in a file of its own"),
        (["--report", "report.pdf"], "expected --report FILE.html or FILE.json"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_a_wrong_option_gives_one_line_and_loses_nothing(arguments, wording, towers_file, tmp_path, capsys):
    (tmp_path / "taken.onnx").write_bytes(b"precious")
    before = towers_file.read_bytes()
    filled = [argument.format(folder=tmp_path, model=towers_file) for argument in arguments]
    assert main(["optimize", str(towers_file), *filled]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert wording in captured.err
    assert towers_file.read_bytes() == before
    assert (tmp_path / "taken.onnx").read_bytes() == b"precious"
    assert not (tmp_path / "towers.opt.onnx").exists()


def test_no_report_takes_the_place_of_the_weights_of_the_model(tmp_path, capsys):
    path, data = tmp_path / "model.onnx", tmp_path / "weights.json"
    onnx.save(towers(), path, save_as_external_data=True, location=data.name, size_threshold=0)
    before = data.read_bytes()
    assert main(["optimize", str(path), "--report", str(data)]) == 2
    assert f"expected a report in a file of its own, found {data}" in capsys.readouterr().err
    assert data.read_bytes() == before and not (tmp_path / "model.opt.onnx").exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that even root cannot write to")
def test_a_folder_that_cannot_be_written_is_refused(towers_file, capsys):
    """At once: a search would be lost with what it found."""
    assert main(["optimize", str(towers_file), "-o", "/proc/out.onnx"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "tasoopt: error: expected a folder that can be written, found /proc\n"


def test_samples_of_the_user_are_checked_against_the_inputs(towers_file, tmp_path, capsys):
    samples = tmp_path / "samples.npz"
    np.savez(samples, x0=np.zeros((2, 256), np.float32))
    assert main(["optimize", str(towers_file), "--inputs", str(samples)]) == 3
    assert "expected float32[1, 256] for input 'x0'" in capsys.readouterr().err


def test_two_models_are_compared(towers_file, tmp_path, capsys):
    other = towers()
    other.graph.initializer[0].CopyFrom(weight("w0", 256, 256))
    onnx.save(other, tmp_path / "other.onnx")
    assert main(["compare", str(towers_file), str(towers_file), "--rounds", "6", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["agrees"] is True
    assert document["max_abs_error"] == 0
    assert main(["compare", str(towers_file), str(tmp_path / "other.onnx"), "--rounds", "6"]) == 1
    assert "the outputs differ" in capsys.readouterr().out
