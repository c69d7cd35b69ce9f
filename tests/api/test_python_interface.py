"""The Python functions: values come back, nothing is printed, nothing is left behind, bad input is one sentence."""

import inspect
import io
import logging
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from rich.console import Console

import taso_opt
from documentation.sample_reports import SAMPLES
from taso_opt.api.settings import usual_budget
from taso_opt.errors import InvalidInputError, MismatchError, RuleError, UsageError
from taso_opt.report.page import render_html
from taso_opt.verify.verdict import Proved, Refuted

HEAVY = ("cupy", "jinja2", "numpy", "onnx", "onnxruntime", "rich", "z3")


@pytest.fixture(scope="module")
def chain():
    """(x A) B with a thin B: folding the weights saves most of the work."""
    generator = np.random.default_rng(0)
    a, b = (generator.normal(size=shape, scale=0.05).astype(np.float32) for shape in ((512, 512), (512, 16)))
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "a"], ["xa"], "first"),
            helper.make_node("MatMul", ["xa", "b"], ["y"], "last"),
        ],
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 512])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 16])],
        [numpy_helper.from_array(a, "a"), numpy_helper.from_array(b, "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def optimized(chain, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TASOOPT_CACHE", str(tmp_path_factory.mktemp("cache")))
        return taso_opt.optimize(chain, budget=5)


def test_importing_the_package_imports_nothing_heavy():
    program = (
        f"import sys, taso_opt; assert 'optimize' in dir(taso_opt);"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


def test_every_name_that_is_promised_is_there():
    for name in taso_opt.__all__:
        assert getattr(taso_opt, name)
    with pytest.raises(AttributeError, match="has no attribute 'optimise'"):
        taso_opt.optimise  # noqa: B018


def test_the_package_says_that_it_is_typed():
    assert Path(taso_opt.__file__).with_name("py.typed").is_file()


def test_a_model_in_memory_comes_back_faster_and_the_same(chain, optimized):
    assert optimized.report.input == "model in memory"
    assert optimized.report.output is None
    assert [node.op_type for node in chain.graph.node] == ["MatMul", "MatMul"]
    if optimized.improved:
        assert optimized.speedup > 1
        assert [node.op_type for node in optimized.model.graph.node] == ["MatMul"]
        assert optimized.report.places[0].before is not None
    else:
        assert optimized.model == chain
        assert optimized.speedup == 1.0
    comparison = taso_opt.compare(chain, optimized.model, rounds=3)
    assert comparison.agrees
    assert (comparison.first, comparison.second) == ("model in memory", "model in memory")


def test_nothing_is_printed_and_progress_is_logged(chain, capfd, caplog):
    with caplog.at_level(logging.INFO, "taso_opt"):
        result = taso_opt.optimize(chain, budget=2, dry_run=True)
    assert result.report.result == "dry-run"
    assert result.model == chain
    assert capfd.readouterr() == ("", "")
    assert "reading the model" in caplog.messages


@pytest.mark.parametrize(("operators", "seconds"), [(1, 40), (1000, 40), (2000, 55), (3000, 70), (10**6, 120)])
def test_larger_models_are_searched_for_longer(operators, seconds):
    assert usual_budget(operators) == seconds


def test_a_report_says_how_long_the_search_could_take(chain):
    assert taso_opt.optimize(chain, budget=2, dry_run=True).report.settings["budget"] == 2
    assert taso_opt.optimize(chain, dry_run=True).report.settings["budget"] == usual_budget(1) == 40.0


def test_only_what_is_computed_when_the_model_runs_makes_the_search_longer(chain):
    """Files state constants by nodes, and compute sizes by nodes that the runtime folds."""
    for number in range(1500):
        stated = helper.make_tensor(f"stated_{number}", TensorProto.FLOAT, [1], [number])
        chain.graph.node.append(helper.make_node("Constant", [], [f"stated_{number}"], value=stated))
    assert taso_opt.optimize(chain, dry_run=True).report.settings["budget"] == usual_budget(1)


def test_progress_goes_to_the_function_that_is_given(chain):
    heard = []
    taso_opt.optimize(chain, budget=2, dry_run=True, progress=heard.append)
    assert heard[0] == "reading the model"
    assert any(message.startswith("searching: ") for message in heard)


def interrupting(start):
    def progress(message):
        if message.startswith(start):
            raise KeyboardInterrupt

    return progress


def test_an_interrupt_during_the_search_gives_the_best_so_far_checked_and_measured(chain):
    report = taso_opt.optimize(chain, progress=interrupting("searching: 2 ")).report
    assert report.search.stopped_by == "interrupt"
    assert report.search.predicted_after_ms < report.search.predicted_before_ms
    assert report.speedup is not None and report.outputs[0].agrees


def test_an_interrupt_before_anything_is_found_writes_nothing(chain, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        taso_opt.optimize(chain, output=tmp_path / "out.onnx", progress=interrupting("searching: 1 "))
    assert not (tmp_path / "out.onnx").exists()


def test_a_second_interrupt_gives_up(chain, tmp_path):
    def progress(message):
        if message.startswith(("searching: 2 ", "interrupted: ")):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        taso_opt.optimize(chain, output=tmp_path / "out.onnx", progress=progress)
    assert not (tmp_path / "out.onnx").exists()


def test_a_file_is_written_where_one_is_named(chain, tmp_path):
    onnx.save(chain, tmp_path / "chain.onnx")
    result = taso_opt.optimize(tmp_path / "chain.onnx", output=tmp_path / "out.onnx", budget=2)
    assert result.report.input == str(tmp_path / "chain.onnx")
    assert result.report.output == str(tmp_path / "out.onnx")
    assert onnx.load(tmp_path / "out.onnx") == result.model
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "chain.onnx", "out.onnx"}


def test_external_data_comes_back_in_the_model(chain, tmp_path):
    copy = onnx.ModelProto.FromString(chain.SerializeToString())
    options = {"save_as_external_data": True, "location": "weights.bin", "size_threshold": 0}
    onnx.save(copy, tmp_path / "chain.onnx", **options)
    result = taso_opt.optimize(tmp_path / "chain.onnx", budget=1, dry_run=True)
    weight = numpy_helper.to_array(result.model.graph.initializer[0])
    assert np.array_equal(weight, numpy_helper.to_array(onnx.load(tmp_path / "chain.onnx").graph.initializer[0]))


def test_samples_may_be_arrays(chain):
    ones = {"x": np.ones((64, 512), np.float32)}
    assert taso_opt.compare(chain, chain, inputs=ones, rounds=3).max_abs_error == 0
    with pytest.raises(InvalidInputError, match=r"expected float32\[64, 512\] for input 'x'"):
        taso_opt.compare(chain, chain, inputs={"x": np.ones((2, 2), np.float32)}, rounds=3)


def test_samples_of_inputs_with_names_that_numpy_uses_itself_are_taken(chain):
    named = onnx.ModelProto()
    named.CopyFrom(chain)
    named.graph.input[0].name = "file"
    for node in named.graph.node:
        node.input[:] = ["file" if name == "x" else name for name in node.input]
    assert taso_opt.compare(named, named, inputs={"file": np.ones((64, 512), np.float32)}, rounds=3).agrees


def test_samples_may_be_text_as_runtimes_take_it(tmp_path):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (string[2] s) => (string[2] y) { y = Identity(s) }'
    model = parser.parse_model(text)
    assert taso_opt.compare(model, model, inputs={"s": np.array(["a", "bü"], object)}, rounds=3).agrees
    with pytest.raises(UsageError, match="expected numbers or text for input 's', found other objects"):
        taso_opt.compare(model, model, inputs={"s": np.array(["a", None], object)}, rounds=3)


def test_models_are_compared_at_one_size_of_each_dim(chain):
    with pytest.raises(UsageError, match=r"expected positive whole numbers for dim 'n', found \[1, 2\]"):
        taso_opt.compare(chain, chain, dims={"n": [1, 2]})


def test_a_node_is_explained(chain):
    found = taso_opt.explain(chain, "last")
    assert (found.model, found.operator) == ("model in memory", "MatMul")
    with pytest.raises(UsageError, match="expected the name of a node or of a value that one gives, found None"):
        taso_opt.explain(chain, None)
    fitting = [one for one in found.considered if one.verdict in ("gains", "loses")]
    assert any(one.text.startswith("MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z))") for one in fitting)


@pytest.mark.parametrize(
    ("options", "wording"),
    [
        ({"device": "abacus"}, "expected a device among auto, cpu, cuda, found 'abacus'"),
        ({"device": "cpu", "cuda_options": {"use_tf32": "0"}}, "expected device cuda where options of its provider"),
        ({"threads": -1}, "expected threads from 0 to 1024, found -1"),
        ({"budget": 0}, "expected budget of at least 0.1, found 0"),
        ({"budget": math.nan}, "expected budget of at least 0.1, found nan"),
        ({"budget": "5"}, "expected budget of at least 0.1, found '5'"),
        ({"alpha": 0.5}, "expected alpha from 1.0 to 10.0, found 0.5"),
        ({"alpha": 11.0}, "expected alpha from 1.0 to 10.0, found 11.0"),
        ({"threads": 1.5}, "expected threads from 0 to 1024, a whole number, found 1.5"),
        ({"threads": True}, "expected threads from 0 to 1024, a whole number, found True"),
        ({"threads": None}, "expected threads from 0 to 1024, a whole number, found None"),
        ({"seed": 0.5}, "expected seed of at least 0, a whole number, found 0.5"),
        ({"memory_limit": 1e9}, "expected memory_limit of at least 1, a whole number, found 1000000000.0"),
        ({"objective": None}, "expected text for objective, found None"),
        ({"force": "no"}, "expected True or False for force, found 'no'"),
        ({"rules": 5}, "expected a path for rules, found 5"),
        ({"output": 5}, "expected a path for output, found 5"),
        ({"inputs": [np.zeros(3)]}, "expected a path, or arrays by the names of inputs, found list"),
        ({"cuda_options": {"use_tf32": 0}}, "expected text for option 'use_tf32' of the provider, found 0"),
        ({"dims": [8]}, "expected sizes by the names of dims for dims, found [8]"),
        ({"dims": {"n": True}}, "expected positive whole numbers for dim 'n', found True"),
        ({"dims": {"n": []}}, "expected positive whole numbers for dim 'n', found []"),
        ({"dims": {"n": 2.5}}, "expected positive whole numbers for dim 'n', found 2.5"),
        ({"fp_class": "E9"}, "expected an fp_class among E0, E1, E2, E3, E4, found 'E9'"),
        ({"dims": {"nowhere": 2}}, "expected the name of a dim of an input"),
        ({"output": "/nowhere/at/all.onnx"}, "expected a folder to write to"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(options, wording, chain):
    with pytest.raises(UsageError) as caught:
        taso_opt.optimize(chain, **options)
    assert str(caught.value).startswith(wording)


@pytest.mark.parametrize("options", [{"rounds": 3.5}, {"dims": {"n": [4]}}, {"threads": "2"}])
def test_wrong_options_of_a_comparison_are_refused(options, chain):
    with pytest.raises(UsageError, match=f"{next(iter(options)).rstrip('s')}.*found"):
        taso_opt.compare(chain, chain, **options)


def test_a_report_of_arrays_in_memory_says_so_and_gives_no_command(chain):
    rows = np.random.default_rng(1).normal(size=(64, 512)).astype(np.float32)
    report = taso_opt.optimize(chain, inputs={"x": rows}, budget=2, dry_run=True).report
    assert (report.input, report.settings["inputs"]) == ("model in memory", "arrays in memory")
    assert "tasoopt optimize" not in render_html(report) and "called from Python" in render_html(report)
    assert "tasoopt-scratch" not in render_html(report)


def test_the_evidence_of_a_mismatch_names_no_temporary_file(chain, monkeypatch):
    wrong = onnx.ModelProto()
    wrong.CopyFrom(chain)
    wrong.graph.node[0].input[0] = "doubled"
    wrong.graph.node.insert(0, helper.make_node("Add", ["x", "x"], ["doubled"]))
    monkeypatch.setattr("taso_opt.api.finals.contest.rewritten", lambda *_: wrong)
    with pytest.raises(MismatchError) as caught:
        taso_opt.optimize(chain, inputs={"x": np.ones((64, 512), np.float32)}, budget=2)
    record = caught.value.evidence
    assert (record.result, record.input, record.output) == ("mismatch", "model in memory", None)
    assert (record.settings["output"], record.settings["inputs"]) == (None, "arrays in memory")


def test_what_is_no_model_is_refused(chain):
    with pytest.raises(UsageError, match=r"expected the path of a model or an onnx\.ModelProto, found int"):
        taso_opt.optimize(3)
    with pytest.raises(InvalidInputError, match="found no file"):
        taso_opt.optimize("/nowhere.onnx")
    outside = onnx.ModelProto()
    outside.CopyFrom(chain)
    outside.graph.initializer[0].data_location = TensorProto.EXTERNAL
    with pytest.raises(InvalidInputError, match="external data: give the path"):
        taso_opt.optimize(outside)


def test_equations_are_proved_and_refuted():
    first, second = taso_opt.verify_rules(["Relu(Relu(x)) = Relu(x) where x[*b]", "Relu(x) = x where x[*b]"])
    assert first[0] == "Relu(Relu(x)) = Relu(x) where x[*b]"
    assert isinstance(first[1], Proved)
    assert isinstance(second[1], Refuted)
    with pytest.raises(RuleError, match="expected ' where '"):
        taso_opt.verify_rules("Relu(x) = x")


def test_rules_of_a_file_are_read_and_a_library_is_checked(tmp_path):
    (tmp_path / "own.rules").write_text("# mine\nRelu(Relu(x)) = Relu(x) where x[*b]\n")
    ((_, verdict),) = taso_opt.verify_rules(tmp_path / "own.rules")
    assert isinstance(verdict, Proved)
    (tmp_path / "empty.jsonl").write_text("")
    assert taso_opt.verify_library(tmp_path / "empty.jsonl").rules == 0


def test_candidates_are_equations_that_verify_takes():
    candidates = taso_opt.generate_rules(operators=["Relu"], max_ops=2)
    assert candidates == ["Relu(x) = Relu(Relu(x)) where x[*b]"]
    assert all(isinstance(verdict, Proved) for _, verdict in taso_opt.verify_rules(candidates))


def test_a_result_shows_itself_in_notebooks_and_on_terminals(chain):
    result = taso_opt.Result(chain, SAMPLES["crowded"]())
    html = result._repr_html_()
    assert "1.47 times as fast" in html
    assert "<script" not in html and "&lt;script&gt;" in html
    console = Console(file=io.StringIO(), width=100)
    console.print(taso_opt.Result(chain, SAMPLES["improved"]()))
    assert "1.47x faster: wrote model.opt.onnx" in console.file.getvalue()
    assert repr(result) == "Result(improved, speedup=1.470, rules=50)"


@pytest.mark.parametrize("name", SAMPLES)
def test_every_result_has_a_short_form(name, chain):
    html = taso_opt.Result(chain, SAMPLES[name]())._repr_html_()
    assert html.count("<table>") == html.count("</table>") >= 1


def test_the_report_is_saved_by_its_suffix(chain, tmp_path):
    result = taso_opt.Result(chain, SAMPLES["improved"]())
    result.save_report(tmp_path / "report.html")
    result.save_report(str(tmp_path / "report.json"))
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    with pytest.raises(UsageError, match=r"expected --report FILE\.html or FILE\.json, found 'report\.txt'"):
        result.save_report(tmp_path / "report.txt")


@pytest.mark.parametrize("name", [name for name in taso_opt.__all__ if callable(getattr(taso_opt, name))])
def test_every_parameter_and_every_public_attribute_is_explained(name):
    """A docstring names each parameter; each public method and property has one."""
    thing = getattr(taso_opt, name)
    assert thing.__doc__.strip().splitlines()[0].endswith((".", ":"))
    if inspect.isclass(thing):
        members = [one for attribute, one in vars(thing).items() if not attribute.startswith("_") and callable(one)]
        members += [one for one in vars(thing).values() if isinstance(one, property)]
        assert members and all(one.__doc__ and one.__doc__.strip().endswith(".") for one in members)
        return
    signature = inspect.signature(thing)
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty
        assert re.search(rf"\b{parameter.name}\b", thing.__doc__), parameter.name


def test_an_interrupted_search_ends_with_the_best_found_checked_and_measured(chain):
    heard = []

    def progress(message):
        heard.append(message)
        if sum(line.startswith("searching") for line in heard) == 2 and message.startswith("searching"):
            raise KeyboardInterrupt

    result = taso_opt.optimize(chain, progress=progress)
    assert result.report.search.stopped_by == "interrupt"
    assert result.report.speedup is not None and all(output.agrees for output in result.report.outputs)
    at = heard.index("interrupted: checking the best plan found so far; a second interrupt gives up")
    assert any(line.startswith("timing this candidate") for line in heard[at:])
