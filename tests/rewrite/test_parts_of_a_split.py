"""What is done to all parts of a split is done to the whole: merges that share no other term than the split."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import parse_rule

ROWS = (
    "(Relu(x), Relu(y)) = (Split(Relu(Concat(x, y; axis=-2)); axis=-2, sizes=(m, n))[0], "
    "Split(Relu(Concat(x, y; axis=-2)); axis=-2, sizes=(m, n))[1]) where x[*b, m, k], y[*b, n, k]"
)
COLUMNS = (
    "(Relu(x), Relu(y)) = (Split(Relu(Concat(x, y; axis=-1)); axis=-1, sizes=(m, k))[0], "
    "Split(Relu(Concat(x, y; axis=-1)); axis=-1, sizes=(m, k))[1]) where x[*b, m], y[*b, k]"
)


@pytest.fixture
def rewriter(op):
    return Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (ROWS, COLUMNS))))


def parts(op, sizes, name="x"):
    whole = Var(name, TensorType("float32", (sum(sizes), 4)))
    split = op.Split(whole, axis=-2, sizes=sizes)
    return [op.item(split, at) for at in range(len(sizes))]


@pytest.mark.parametrize("sizes", [(1, 2), (2, 1, 3)])
def test_all_parts_become_one_operator_on_their_join_whatever_their_order_in_the_graph(op, rewriter, sizes):
    items = parts(op, sizes)
    activated = [op.Relu(item) for item in items]
    (step,) = rewriter.steps(postorder(activated[::-1]))
    merged = op.Split(op.Relu(op.Concat(*items, axis=-2)), axis=-2, sizes=sizes)
    assert step.replacements == tuple((old, op.item(merged, at)) for at, old in enumerate(activated))


def test_some_of_the_parts_or_parts_of_several_splits_are_left_alone(op, rewriter):
    one, two, _ = parts(op, (2, 1, 3))
    assert not list(rewriter.steps(postorder([op.Relu(one), op.Relu(two)])))
    others = parts(op, (2, 2)), parts(op, (2, 2), "y")
    assert not list(rewriter.steps(postorder([op.Relu(others[0][0]), op.Relu(others[1][1])])))
    assert not list(rewriter.steps(postorder([op.Relu(Var(name, one.term.args[0].type)) for name in "xy"])))
