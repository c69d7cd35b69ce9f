"""Products of three are multiplied in the other order, whatever it costs to move aside what stands between."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.moves import moves_from
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.sequences.bracketing import bracketed
from taso_opt.search.trials import Trials
from taso_opt.spec.text import parse_rule
from terms import tensor

MOVED = "MatMul(Mul(x, s), y) = MatMul(x, Mul(y, s)) where x[m, k], y[k, n], s[]"
OUTSIDE = "MatMul(x, Mul(y, s)) = Mul(MatMul(x, y), s) where x[m, k], y[k, n], s[]"
BRACKETS = "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[m, k], y[k, n], z[n, p]"
ROWS, INNER = 64, 8


def rewriter_of(op, *texts):
    return Rewriter(op, RuleSet(tuple(parse_rule(text, op) for text in texts)))


def sequences(op, outputs, texts=(MOVED, OUTSIDE, BRACKETS), is_hopeless=lambda rules: False):
    rewriter = rewriter_of(op, *texts)
    here = Neighbourhood(outputs, is_constant=rewriter.is_constant)
    return list(bracketed(here.terms, rewriter, is_hopeless))


@pytest.fixture
def parts():
    return tensor(Var, "q", ROWS, INNER), tensor(Var, "k", INNER, ROWS), tensor(Var, "v", ROWS, INNER)


@pytest.fixture
def scaled(op, parts):
    """Attention without a softmax, with the scale between the products."""
    queries, keys, values = parts
    return op.MatMul(op.Mul(op.MatMul(queries, keys), tensor(Const, "s")), values)


def test_a_scale_between_two_products_is_moved_aside_until_they_change_their_order(op, scaled, parts):
    queries, keys, values = parts
    found = sequences(op, (scaled,))
    outside = op.Mul(op.MatMul(queries, op.MatMul(keys, values)), tensor(Const, "s"))
    assert [pairs for _, pairs in found if pairs[0][1] is outside] == [((scaled, outside),)]
    assert all(1 < len(steps) <= 3 and steps[-1].rule.rule == parse_rule(BRACKETS, op) for steps, _ in found)


def test_rows_that_are_divided_are_scaled_by_reciprocals_first(op, parts):
    queries, keys, values = parts
    sums = tensor(Var, "sums", ROWS, 1)
    divided = op.MatMul(op.Div(op.MatMul(queries, keys), sums), values)
    texts = (
        "Div(x, y) = Mul(Reciprocal(y), x) where x[m, k], y[m, 1]",
        "MatMul(Mul(y, x), z) = Mul(y, MatMul(x, z)) where x[m, k], y[m, 1], z[k, n]",
        BRACKETS,
    )
    found = sequences(op, (divided,), texts)
    scales, product = op.Reciprocal(sums), op.MatMul(keys, values)
    outside, inside = op.Mul(scales, op.MatMul(queries, product)), op.MatMul(op.Mul(scales, queries), product)
    assert {pairs for _, pairs in found} == {((divided, outside),), ((divided, inside),)}
    assert all(
        [step.rule.rule for step in steps][::2] == [parse_rule(texts[at], op) for at in (0, 2)] for steps, _ in found
    )


def test_what_one_step_does_is_no_sequence(op, parts):
    queries, keys, values = parts
    assert sequences(op, (op.MatMul(op.MatMul(queries, keys), values),)) == []


def test_weights_are_left_to_other_sequences(op, parts):
    queries, keys, _ = parts
    weight = tensor(Const, "w", ROWS, INNER)
    assert sequences(op, (op.MatMul(op.Mul(op.MatMul(queries, keys), tensor(Const, "s")), weight),)) == []


def test_what_is_no_scale_keeps_products_apart(op, parts):
    queries, keys, values = parts
    assert sequences(op, (op.MatMul(op.Relu(op.MatMul(queries, keys)), values),)) == []
    assert sequences(op, (op.MatMul(op.Mul(op.MatMul(queries, keys), tensor(Var, "s")), values),)) == []


def test_what_leads_to_no_gain_elsewhere_is_not_followed(op, scaled):
    assert sequences(op, (scaled,), is_hopeless=lambda rules: len(rules) == 1) == []


def test_the_other_order_is_one_move_that_is_priced_as_a_whole(op, scaled, parts):
    queries, keys, values = parts
    rewriter = rewriter_of(op, MOVED, OUTSIDE, BRACKETS)

    def price(changes, _):
        """The other order gains, and the scale costs anywhere but where it is."""
        return [-1.0 if op.MatMul(keys, values) in change.born else 1.0 for change in changes]

    here = Neighbourhood((scaled,), is_constant=rewriter.is_constant)
    single, _ = moves_from(here, rewriter, price, Trials())
    images = {move.replacements[0][1] for move in single if move.change < 0}
    assert op.Mul(op.MatMul(queries, op.MatMul(keys, values)), tensor(Const, "s")) in images
