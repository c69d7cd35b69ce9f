"""What a sequence leaves behind is put right: rules that save operators are applied wherever terms are new."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var, postorder
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.shortening import shortened
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.text import parse_rule
from terms import assert_same_values, tensor

MOVING = {"Slice", "Reshape", "Concat"}
STATES = 9
ROWS_OF_A_PRODUCT = (
    "MatMul(Slice(x; axis=-2, sizes=(n, p, q)), y) = Slice(MatMul(x, y); axis=-2, sizes=(n, p, q)) "
    "where x[n+p+q, m], y[m, k]"
)


@pytest.fixture(scope="module")
def rewriter(op):
    rules = read_rules(None, op)
    return Rewriter(op, RuleSet(tuple(rule for rule in rules if rule.operators <= MOVING)))


def row(op, x, at):
    (rows, _) = op.type(x).shape
    return op.Slice(x, axis=-2, sizes=(at, 1, rows - at - 1))


def nested_states(op, x):
    """The rows of a tensor, each a slice of what a further slice left, as operators joined one by one leave them."""
    found, rest = [], x
    for _ in range(STATES - 1):
        (rows, _) = op.type(rest).shape
        found.append(row(op, rest, rows - 1))
        rest = op.Slice(rest, axis=-2, sizes=(0, rows - 1, 1))
    return [rest, *reversed(found)]


def short(op, rewriter, outputs, present=(), expired=lambda: False):
    steps, new = shortened(outputs, present, rewriter, expired)
    assert_same_values(op, outputs, new)
    assert all(op.types(old) == op.types(image) for step in steps for old, image in step.replacements)
    return new


def test_slices_of_slices_are_slices(op, rewriter):
    x = tensor(Var, "x", STATES, 4)
    outputs = [op.Tanh(one) for one in nested_states(op, x)]
    assert short(op, rewriter, outputs) == tuple(op.Tanh(row(op, x, at)) for at in range(STATES))


def test_reshaped_rows_that_are_joined_again_are_the_whole_reshaped(op, rewriter):
    x = tensor(Var, "x", STATES, 4)
    rows = [op.Reshape(one, shape=(1, 1, 4)) for one in nested_states(op, x)]
    assert short(op, rewriter, [op.Concat(*rows, axis=-3)]) == (op.Reshape(x, shape=(STATES, 1, 4)),)


def test_terms_that_were_there_before_stay(op, rewriter):
    outputs = nested_states(op, tensor(Var, "x", STATES, 4))
    assert short(op, rewriter, outputs, postorder(outputs)) == tuple(outputs)


def test_it_ends_when_there_is_no_time_left(op, rewriter):
    outputs = nested_states(op, tensor(Var, "x", STATES, 4))
    assert short(op, rewriter, outputs, expired=lambda: True) == tuple(outputs)


def test_products_of_slices_are_left_to_the_search(op):
    x, w = tensor(Var, "x", STATES, 4), tensor(Const, "w", 4, 3)
    outputs = [op.MatMul(row(op, x, at), w) for at in range(STATES)]
    rewriter = Rewriter(op, RuleSet((parse_rule(ROWS_OF_A_PRODUCT, op),)))
    assert all(any(True for _ in rewriter.rewrites(output)) for output in outputs)
    assert short(op, rewriter, outputs) == tuple(outputs)
