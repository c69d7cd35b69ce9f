"""Comparisons and what is chosen by them: read in all four spellings, rewritten, the same at ties and infinities."""

from dataclasses import replace

import numpy as np
import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Var
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.onnx_io import write_model
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.steps import Rewriter
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule

BUILDER = load_specs().builder()
X, Y = (Var(name, TensorType("float32", shape)) for name, shape in (("x", (3, 1)), ("y", (4,))))
COMPARISONS = {
    "Less": BUILDER.Less(X, Y),
    "Greater": BUILDER.Less(Y, X),
    "LessOrEqual": BUILDER.LessOrEqual(X, Y),
    "GreaterOrEqual": BUILDER.LessOrEqual(Y, X),
}
EDGES = np.array([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf], np.float32)


def choosing(comparison):
    return (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[3,1] x, float[4] y) => (float[3,4] z) '
        f"{{ c = {comparison}(x, y) z = Where(c, x, y) }}"
    )


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_every_comparison_is_read_and_written_as_it_was(read, comparison):
    found = read(choosing(comparison))
    assert found.graph.outputs == (BUILDER.Where(COMPARISONS[comparison], X, Y),)
    assert write_model(found, found.graph).SerializeToString() == found.path.read_bytes()


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_meanings_are_what_the_runtime_computes_where_numbers_are_equal_or_infinite(read, run, comparison):
    model = read(choosing(comparison).replace("3,1", "6,1").replace("[4]", "[6]").replace("3,4", "6,6"))
    feed = {"x": EDGES[:, np.newaxis], "y": EDGES}
    (mine,) = evaluate_arrays(model.builder, FloatArrays(), model.graph.outputs, _by_leaf(model.graph.outputs, feed))
    (theirs,) = run(write_model(model, model.graph), feed).values()
    np.testing.assert_array_equal(theirs, mine)


def _by_leaf(outputs, feed):
    (output,) = outputs
    return {leaf: feed[leaf.name] for leaf in output.args if isinstance(leaf, Var)}


def test_a_leaky_choice_becomes_the_operator_and_the_comparison_goes(read, run):
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2,5] x) => (float[2,5] z) '
        "<float zero = {0.0}, float slope = {0.1}> "
        "{ c = Greater(x, zero) s = Mul(slope, x) z = Where(c, x, s) }"
    )
    model = read(text)
    rule = parse_rule("Where(Less(0, x), x, Mul(x, s)) = LeakyRelu(x, s) where s[], x[*a]", model.builder)
    rewriter = Rewriter.of_model(model, RuleSet((rule,)))
    (step,) = rewriter.rewrites(model.graph.outputs[0])
    outputs = substitute_terms(model.builder, model.graph.outputs, step.mapping)
    assert outputs is not None and isinstance(outputs[0], Apply) and outputs[0].operator == "LeakyRelu"
    written = write_model(model, replace(model.graph, outputs=outputs))
    assert [node.op_type for node in written.graph.node] == ["LeakyRelu"]
    feed = {"x": np.linspace(-2, 2, 10, dtype=np.float32).reshape(2, 5)}
    np.testing.assert_allclose(run(written, feed)["z"], np.where(feed["x"] > 0, feed["x"], feed["x"] / 10), rtol=1e-6)


def test_only_what_is_true_or_false_chooses():
    assert BUILDER.type(BUILDER.Less(X, Y)) == TensorType("bool", (3, 4))
    with pytest.raises(TypeMismatch, match="expected a condition"):
        BUILDER.type(BUILDER.Where(X, X, Y))


def test_constants_that_are_chosen_are_folded_beside_numbers_and_comparisons_are_true_or_false(read, run):
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,4] y, bool[3,4] z) '
        "<bool[3,1] k = {1, 0, 1}> { v = Where(k, w1, w2) y = MatMul(x, v) z = Less(w1, w2) }"
    )
    model = read(text, {"w1": (3, 4), "w2": (3, 4)})
    (product, compared) = model.graph.outputs
    chosen = product.args[1]
    values = {name: model.constant(name) for name in ("w1", "w2")}
    truth = np.array([[True], [False], [True]])
    np.testing.assert_array_equal(model.folded(chosen), np.where(truth, values["w1"], values["w2"]))
    assert model.folded(chosen).dtype == np.float32
    assert model.folded(compared).dtype == bool
    np.testing.assert_array_equal(model.folded(compared), values["w1"] < values["w2"])
    doubled = replace(model.graph, outputs=(model.builder.MatMul(product.args[0], chosen), compared))
    feed = {"x": np.ones((2, 3), np.float32)}
    for name, value in run(model.proto, feed).items():
        np.testing.assert_array_equal(run(write_model(model, doubled), feed)[name], value)
