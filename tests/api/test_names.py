"""Nodes keep their names in a report after steps have rewritten what they stand on."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from taso_opt.api.reporting.names import Names
from taso_opt.onnx_io import read_model
from taso_opt.rewrite.finding.step import Step
from taso_opt.spec import load_specs


@pytest.fixture
def model(tmp_path):
    """y = Tanh(Relu(x W) + Relu(x V)), three nodes deep but for the products."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], "left"),
        helper.make_node("MatMul", ["x", "v"], ["q"], "right"),
        helper.make_node("Relu", ["p"], ["r"], "relu_left"),
        helper.make_node("Relu", ["q"], ["s"]),
        helper.make_node("Add", ["r", "s"], ["t"], "sum"),
        helper.make_node("Tanh", ["t"], ["y"], "last"),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(np.eye(4, dtype=np.float32) * at, name) for at, name in enumerate("wv", 2)],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return read_model(path, load_specs(), {})


def terms(model):
    """The terms of the model by the value that they give."""
    return {origin.value: term for term, origin in model.origin.items()}


def twice_turned(model, term):
    turned = model.builder.apply("Transpose", (term,), {"perm": (-1, -2)})
    return model.builder.apply("Transpose", (turned,), {"perm": (-1, -2)})


def step(*pairs):
    return Step(None, pairs)


def test_a_node_keeps_its_name_when_its_operand_is_rewritten(model):
    found = terms(model)
    new = twice_turned(model, found["p"])
    names = Names(model)
    names.follow(step((found["r"], new)))
    assert names.node(found["r"]) == "relu_left"
    rebuilt = model.builder.apply("Add", (new, found["s"]), {})
    names.follow(step((rebuilt, twice_turned(model, rebuilt))))
    assert names.node(rebuilt) == "sum" and names.name(rebuilt) == "t"
    assert names.node(new) == "relu_left"


def test_steps_on_one_graph_are_taken_at_once(model):
    found = terms(model)
    left, right = (twice_turned(model, found[name]) for name in "pq")
    names = Names(model)
    for old, new in ((found["r"], left), (found["s"], right)):
        names.follow(step((old, new)))
        assert names.node(old) in ("relu_left", "s")
    rebuilt = model.builder.apply("Add", (left, right), {})
    names.follow(step((rebuilt, twice_turned(model, rebuilt))))
    assert names.node(rebuilt) == "sum"


def test_a_step_on_what_another_made_is_taken_with_it(model):
    found = terms(model)
    new = twice_turned(model, found["p"])
    inner, other = new.args[0], model.builder.apply("Transpose", (found["q"],), {"perm": (-1, -2)})
    names = Names(model)
    names.follow(step((found["r"], new)))
    names.follow(step((inner, other)))
    left = model.builder.rebuild(new, (other,))
    rebuilt = model.builder.apply("Add", (left, found["s"]), {})
    names.follow(step((rebuilt, twice_turned(model, rebuilt))))
    assert names.node(rebuilt) == "sum"


def test_what_the_search_made_is_called_that(model):
    found = terms(model)
    new = twice_turned(model, found["p"])
    names = Names(model)
    names.follow(step((found["p"], new)))
    inner = new.args[0]
    names.follow(step((inner, inner)))
    assert names.node(inner) == "Transpose of an earlier step" and names.name(inner) is None


def test_a_place_stands_as_deep_as_its_node_whatever_the_order_of_the_file(model):
    found, names = terms(model), Names(model)
    assert [names.share(found[name]) for name in "pqrsty"] == [0.25, 0.25, 0.5, 0.5, 0.75, 1.0]
    new = twice_turned(model, found["r"])
    assert names.share(new) == 0.5
    assert [names.rank(found[name]) for name in "pqrsty"] == [0, 1, 2, 3, 4, 5]
    assert names.rank(new) == 6
