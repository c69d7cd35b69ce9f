"""What merges join stands in the order of the file, whatever the order of the terms of a graph."""

from functools import reduce

import onnx
import pytest
from onnx import parser

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var, opened, postorder
from taso_opt.onnx_io import read_model
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule
from terms import tensor

SHARED_INPUT = (
    "(MatMul(x, y), MatMul(x, z)) = (Split(MatMul(x, Concat(y, z; axis=-1)); axis=-1, sizes=(n, p))[0], "
    "Split(MatMul(x, Concat(y, z; axis=-1)); axis=-1, sizes=(n, p))[1]) where x[*b, m, k], y[k, n], z[k, p]"
)
SHARED_WEIGHTS = (
    "(MatMul(x, w), MatMul(y, w)) = (Split(MatMul(Concat(x, y; axis=-2), w); axis=-2, sizes=(m, p))[0], "
    "Split(MatMul(Concat(x, y; axis=-2), w); axis=-2, sizes=(m, p))[1]) where x[*b, m, k], y[*b, p, k], w[k, n]"
)
SUMMED = (
    "Add(MatMul(x, y), MatMul(z, w)) = MatMul(Concat(x, z; axis=-1), Concat(y, w; axis=-2)) "
    "where x[n, k], y[k, m], z[n, l], w[l, m]"
)
CELL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 4] late, float[1, 4] early) => (float[1, 4] y)
<float[4, 4] u2 = {1}, float[4, 4] u1 = {2}, float[4, 4] w2 = {3}, float[4, 4] w1 = {4}> {
  a1 = MatMul(early, w1)
  b1 = MatMul(late, u1)
  g1 = Add(a1, b1)
  a2 = MatMul(early, w2)
  b2 = MatMul(late, u2)
  g2 = Add(a2, b2)
  y = Sub(g2, g1)
}"""


@pytest.fixture
def model(tmp_path):
    text = CELL
    for number in range(1, 5):
        text = text.replace(f"{{{number}}}", "{" + ", ".join([f"{number}.5"] * 16) + "}")
    onnx.save(parser.parse_model(text), tmp_path / "m.onnx")
    return read_model(tmp_path / "m.onnx", load_specs())


def joined(model, rule, leaves):
    """The names of what each merge of a graph joins."""
    rewriter = Rewriter(model.builder, RuleSet((parse_rule(rule, model.builder),)), leaves=leaves)
    steps = rewriter.steps(postorder(model.graph.outputs))
    found = (term for step in steps for term in postorder([step.image]))
    return sorted(tuple(one.name for one in term.args) for term in found if getattr(term, "operator", "") == "Concat")


def test_leaves_are_the_inputs_and_the_constants_as_the_nodes_use_them(model):
    assert [leaf.name for leaf in model.leaves] == ["late", "early", "w1", "u1", "w2", "u2"]
    assert sum(isinstance(leaf, Const) for leaf in model.leaves) == 4


def test_weights_of_two_inputs_are_joined_in_one_order(model):
    assert joined(model, SHARED_INPUT, model.leaves) == [("u1", "u2"), ("w1", "w2")]
    swapped = {"w1": 3, "w2": 2, "u1": 1, "u2": 0}
    assert joined(model, SHARED_INPUT, sorted(model.leaves[2:], key=lambda leaf: swapped[leaf.name])) == [
        ("u2", "u1"),
        ("w2", "w1"),
    ]


def test_inputs_are_joined_in_the_order_of_the_file(model):
    op, (late, early, weights, *_) = model.builder, model.leaves
    rewriter = Rewriter(op, RuleSet((parse_rule(SHARED_WEIGHTS, op),)), leaves=model.leaves)
    (step, *_) = rewriter.steps(postorder([op.MatMul(early, weights), op.MatMul(late, weights)]))
    assert [old.args[0] for old, _ in step.replacements] == [late, early]


def test_branches_that_are_summed_up_are_joined_in_the_order_of_what_begins_them(op):
    x = tensor(Var, "x", 2, 3)
    leaves = [tensor(Const, f"{kind}{at}", *size) for at in range(8) for kind, size in (("w", (3, 4)), ("v", (4, 5)))]
    hidden = [op.Relu(op.MatMul(x, begins)) for begins in leaves[::2]]
    whole = reduce(op.Add, map(op.MatMul, hidden, leaves[1::2]))
    rules = RuleSet(tuple(parse_rule(rule, op) for rule in (SHARED_INPUT, SUMMED)))
    steps = list(Rewriter(op, rules, leaves=(x, *leaves)).steps(postorder([whole])))
    (begun,) = {step.image.term.args[0].args[1] for step in steps if len(step.replacements) == 8}
    (summed,) = {step.image for step in steps if step.root is whole and len(step.image.args[0].args) == 8}
    assert list(begun.args) == leaves[::2]
    assert list(summed.args[0].args) == hidden
    assert list(summed.args[1].args) == leaves[1::2]


def test_branches_are_joined_without_what_else_is_added(op):
    x, aside = tensor(Var, "x", 2, 3), tensor(Var, "a", 2, 6)
    branches = [
        op.MatMul(op.Relu(op.MatMul(x, tensor(Const, f"w{at}", 3, 4))), tensor(Const, f"v{at}", 4, 5))
        for at in range(3)
    ]
    whole = reduce(op.Add, [op.MatMul(aside, tensor(Const, "u", 6, 5)), *branches])
    rewriter = Rewriter(op, RuleSet((parse_rule(SUMMED, op),)))
    joins = {step.image for step in rewriter.steps(postorder([whole])) if step.root is whole}
    sizes = {
        tuple(op.type(one.args[0]).shape[-1] for one in opened(image, lambda term: term.operator == "Add"))
        for image in joins
    }
    assert (18,) in sizes
    assert {(12, 6), (6, 12)} & sizes


def test_constants_that_branches_share_leave_them_in_order(op):
    x, shared = tensor(Var, "x", 2, 4), tensor(Const, "a", 4)
    weights = [tensor(Const, f"w{at}", 4, 4) for at in range(12)]
    rewriter = Rewriter(op, RuleSet(()), leaves=(x, shared, *weights))
    scaled = [op.Mul(one, shared) for one in weights]
    branches = [op.Add(op.MatMul(x, one), shared) for one in weights]
    assert sorted([*scaled[6:], *scaled[:6]], key=rewriter.place) == scaled
    assert sorted([*branches[6:], *branches[:6]], key=rewriter.place) == branches


def test_slices_stand_in_the_order_in_which_they_are_cut(op):
    x = tensor(Var, "x", 12, 4)
    slices = [op.Relu(op.Slice(x, axis=-2, sizes=(at, 1, 11 - at))) for at in range(12)]
    rewriter = Rewriter(op, RuleSet(()), leaves=(x,))
    assert sorted([*slices[6:], *slices[:6]], key=rewriter.place) == slices


def test_what_is_computed_ahead_of_time_from_the_same_constants_stands_by_its_depth(op):
    number = tensor(Const, "a", 4, 4)
    powers = [number]
    for _ in range(11):
        powers.append(op.MatMul(powers[-1], number))
    rewriter = Rewriter(op, RuleSet(()), leaves=(number,))
    assert sorted([*powers[6:], *powers[:6]], key=rewriter.place) == powers
