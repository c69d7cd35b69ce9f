"""`tasoopt explain`: what fits a node, what does not, and why, with values."""

import json
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from taso_opt.api.explanation import _verdict
from taso_opt.cli import main
from taso_opt.core.rule import FpClass
from taso_opt.onnx_io import read_model
from taso_opt.rewrite.finding.step import Step
from taso_opt.spec import load_specs

pytestmark = pytest.mark.usefixtures("shared_costs")


@pytest.fixture
def model(tmp_path):
    """Two products with one weight, a product chain, and an operator that no specification covers."""
    weight = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["aw"], name="first"),
        helper.make_node("MatMul", ["b", "w"], ["bw"], name="second"),
        helper.make_node("Sign", ["aw"], ["e"], name="erf"),
        helper.make_node("MatMul", ["bw", "c"], ["bwc"], name="third"),
        helper.make_node("Relu", ["w"], ["rw"], name="over_weights"),
        helper.make_node("MatMul", ["bwc", "rw"], ["y"], name="last"),
    ]
    inputs = [("a", [2, 64]), ("b", [2, 64]), ("c", [64, 64])]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 64]) for name in ("e", "y")],
        [weight],
    )
    path = tmp_path / "chain.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def explained(model, capsys, node, *arguments):
    assert main(["explain", str(model), "--at", node, "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_rules_that_fit_have_a_predicted_change(model, capsys):
    document = explained(model, capsys, "first")
    assert (document["node"], document["operator"], document["values"]) == ("first", "MatMul", ["aw"])
    fitting = [one for one in document["considered"] if one["verdict"] in ("gains", "loses")]
    merge = next(one for one in fitting if one["text"].startswith("(MatMul(x, y), MatMul(z, y)) = (Split("))
    assert sorted(merge["replaces"]) == ["first", "second"]
    assert isinstance(merge["change_ms"], float)
    assert all((one["change_ms"] < 0) == (one["verdict"] == "gains") for one in fitting)


def test_a_node_is_found_by_its_value_too(model, capsys):
    assert explained(model, capsys, "bwc")["node"] == "third"


def test_refused_rules_give_a_reason_with_values(model, capsys):
    considered = explained(model, capsys, "third")["considered"]
    by_verdict = {one["verdict"]: one for one in considered}
    assert "found" in by_verdict["precondition"]["reason"]
    assert by_verdict["structure"]["reason"].startswith("expected ")
    assert all(one["reason"] for one in considered if one["verdict"] in ("alone", "precondition", "structure"))


def test_a_step_that_would_need_its_own_result_is_no_gain(model):
    """`third` needs `second`, so that nothing which needs `third` may replace that."""
    read = read_model(model, load_specs())
    third = read.graph.outputs[1].args[0]
    second = third.args[0]
    rule = SimpleNamespace(rule=SimpleNamespace(fp_class=FpClass.E0))
    change = SimpleNamespace(removed=(), added=(), kept=(), around=None)
    cost = SimpleNamespace(kernels=lambda *_: (), known=lambda _: 0.0)
    for replacement, verdict in ((read.builder.apply("Neg", [third], {}), "cyclic"), (second.args[0], "loses")):
        step = Step(rule, ((second, replacement),))
        assert _verdict(read, step, change, cost, FpClass.E3, lambda _: True) == (verdict, 0.0)


def test_a_tighter_class_rules_out_what_fits(model, capsys):
    verdicts = {
        one["text"]: one["verdict"] for one in explained(model, capsys, "last", "--fp-class", "E1")["considered"]
    }
    loose = {one["text"]: one["verdict"] for one in explained(model, capsys, "last")["considered"]}
    changed = [text for text in loose if verdicts[text] != loose[text]]
    assert changed and all(verdicts[text] == "class" for text in changed)


@pytest.mark.parametrize(
    ("node", "note"),
    [("erf", "no specification covers this Sign"), ("over_weights", "nothing is computed here at run time")],
)
def test_a_node_that_no_rule_can_touch_says_so(node, note, model, capsys):
    assert main(["explain", str(model), "--at", node]) == 0
    assert note in capsys.readouterr().out


def test_the_text_groups_rules_by_what_becomes_of_them(model, capsys):
    assert main(["explain", str(model), "--at", "first"]) == 0
    brief = capsys.readouterr().out
    assert "has the right operators, but a precondition does not hold:" in brief
    assert "not shown (--all shows them)" in brief
    assert main(["explain", str(model), "--at", "first", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > len(brief.splitlines())


def test_an_unknown_node_is_refused_with_a_suggestion(model, capsys):
    assert main(["explain", str(model), "--at", "secnd"]) == 2
    assert "found 0 nodes 'secnd' (did you mean second?)" in capsys.readouterr().err
    assert main(["explain", str(model), "--at", "?"]) == 2
    assert "found 0 nodes '?' (names are first, second" in capsys.readouterr().err


def test_a_node_in_a_body_is_said_to_be_there(tmp_path, capsys):
    def body(name):
        node = helper.make_node("Relu", ["x"], [f"{name}_out"], name=name)
        value = helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, [2])
        return helper.make_graph([node], name, [], [value])

    choice = helper.make_node("If", ["c"], ["y"], name="choice", then_branch=body("this"), else_branch=body("that"))
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
    ]
    graph = helper.make_graph([choice], "if", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    path = tmp_path / "if.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    assert main(["explain", str(path), "--at", "that"]) == 2
    assert "found 0 nodes 'that' (it is in a body of choice, and bodies are not explained)" in capsys.readouterr().err
