"""Rules that ask for constants within bounds: applied where all values of a weight lie there, and nowhere else."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from taso_opt.core.condition import AT_LEAST_0, AT_MOST_1
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const
from taso_opt.core.types import TensorType
from taso_opt.onnx_io import read_model
from taso_opt.onnx_io.reading.ranges import MOST_COMPUTED
from taso_opt.rewrite.patterns.match import Matcher
from taso_opt.rewrite.patterns.refusal import refusal
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule

LIBRARY = load_specs()
SCALE = "Relu(Mul(x, s)) = Mul(Relu(x), s) where s[*any_s], x[*any_x] and s >= 0"
SLOPE = "Max(x, Mul(x, s)) = PRelu(x, s) where s[*any_s], x[*any_x] and s <= 1"
SHAPE = [1, 4, 2, 3]


def read(folder, nodes, constants, inputs=("x",)):
    made = [helper.make_node(kind, list(given), [name]) for name, kind, *given in nodes]
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in (*inputs, nodes[-1][0])]
    graph = helper.make_graph(made, "g", values[:-1], values[-1:], tensors)
    path = Path(folder, "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return read_model(path, LIBRARY, {})


def targets(model, text):
    rules = RuleSet((parse_rule(text, LIBRARY.builder()),))
    rewriter = Rewriter.of_model(model, rules)
    return [step.image for step in rewriter.steps(model.graph.terms())]


def channels(*values, dtype=np.float32):
    return np.array(values, dtype).reshape(-1, 1, 1)


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ((0.5, 2, 0, 1), True),
        ((0.5, 2, -1e-30, 1), False),
        ((0.5, 2, float("nan"), 1), False),
        ((0.5, 2, float("inf"), 1), False),
        ((3,), True),
        ((-3,), False),
    ],
)
def test_a_scale_moves_past_a_rectifier_only_if_no_value_of_it_is_negative(tmp_path, values, fits):
    nodes = [("a", "Mul", "x", "s"), ("y", "Relu", "a")]
    model = read(tmp_path, nodes, {"s": channels(*values)})
    assert [target.operator for target in targets(model, SCALE)] == (["Mul"] if fits else [])


@pytest.mark.parametrize(("values", "fits"), [((1, 0.25, -3, 0), True), ((1, 0.25, 1.0000001, 0), False)])
def test_a_maximum_is_a_prelu_only_for_slopes_up_to_one(tmp_path, values, fits):
    nodes = [("a", "Mul", "s", "x"), ("y", "Max", "a", "x")]
    model = read(tmp_path, nodes, {"s": channels(*values)})
    assert [target.operator for target in targets(model, SLOPE)] == (["PRelu"] if fits else [])


def test_a_value_that_is_no_constant_never_meets_a_condition(tmp_path):
    nodes = [("b", "Relu", "z"), ("a", "Mul", "x", "b"), ("y", "Relu", "a")]
    model = read(tmp_path, nodes, {}, inputs=("x", "z"))
    assert targets(model, SCALE) == []


def test_a_weight_that_a_caller_may_override_never_meets_a_condition(tmp_path):
    nodes = [("a", "Mul", "x", "s"), ("y", "Relu", "a")]
    weights = {"s": np.ones(SHAPE, np.float32)}
    assert len(targets(read(tmp_path, nodes, weights), SCALE)) == 1
    assert targets(read(tmp_path, nodes, weights, inputs=("x", "s")), SCALE) == []


def test_what_is_computed_from_constants_counts_with_its_value(tmp_path):
    constants = {"s": channels(-1, 2, -3, 4), "t": channels(-1, 2, -3, 4), "u": channels(-1, 2, 3, 4)}
    nodes = [("b", "Mul", "s", "t"), ("a", "Mul", "x", "b"), ("y", "Relu", "a")]
    assert len(targets(read(tmp_path, nodes, constants), SCALE)) == 1
    nodes[0] = ("b", "Mul", "s", "u")
    assert targets(read(tmp_path, nodes, constants), SCALE) == []


def test_large_computations_on_constants_are_not_made_for_a_condition(tmp_path):
    large = np.ones((4, MOST_COMPUTED // 4 + 1), np.float32)
    model = read(tmp_path, [("y", "Relu", "x")], {"s": large, "t": large[:, :8]})
    whole, part = (Const(name, TensorType("float32", model.constant(name).shape)) for name in "st")
    assert model.within(whole, AT_LEAST_0) and model.within(whole, AT_MOST_1)
    assert model.within(model.builder.apply("Neg", [part], {}), AT_MOST_1)
    assert not model.within(model.builder.apply("Neg", [whole], {}), AT_MOST_1)


def test_the_reason_why_a_constant_does_not_fit_names_the_condition(tmp_path):
    model = read(tmp_path, [("a", "Mul", "x", "s"), ("y", "Relu", "a")], {"s": channels(1, 2, -3, 4)})
    (rule, *_) = [
        one
        for one in CompiledRules(RuleSet((parse_rule(SCALE, LIBRARY.builder()),)), model.builder)
        if one.source.operator == "Relu"
    ]
    matcher = Matcher(model.builder, rule.private_sizes, model.literal, model.within)
    found = refusal(rule, matcher, model.builder, model.graph.outputs[0])
    assert found.kind == "precondition"
    assert found.sentence == "expected a constant with s >= 0, found one with other values"
