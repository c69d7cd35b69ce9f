"""The numbers by which a rule multiplies go into constants that are there already, as one move."""

import pytest

from taso_opt.core.literal import literal
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.sequences.folding import folding_sequences
from taso_opt.spec.text import parse_rule
from terms import tensor

HALVES = "Mul(1/2, Add(1, Tanh(x))) = Sigmoid(Mul(2, x)) where x[*any_x]"
ASSOCIATIVE = "Mul(Mul(x, y), z) = Mul(x, Mul(y, z)) where x[*any_x], y[*any_y], z[*any_z]"


@pytest.fixture
def x():
    return tensor(Var, "x", 16, 8)


@pytest.fixture
def scale():
    return tensor(Const, "s", 8)


def images(op, within, among=(HALVES, ASSOCIATIVE)):
    """What the sequences that begin with a half of one and the tanh of something make of it."""
    whole = op.Mul(literal("1/2", "float32"), op.Add(literal(1, "float32"), op.Tanh(within)))
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in among)))
    here = Neighbourhood((whole,), is_constant=rewriter.is_constant)
    found = folding_sequences([whole], here.only_consumer, {}, rewriter)
    return [image for steps, ((root, image),) in found if root is whole and image.operator == "Sigmoid"]


def test_a_number_goes_into_the_factor_of_its_operand(op, x, scale):
    two = literal(2, "float32")
    assert images(op, op.Mul(x, scale)) == [op.Sigmoid(op.Mul(x, op.Mul(two, scale)))]


def test_the_factor_may_stand_one_product_deeper(op, x, scale):
    (found,) = images(op, op.Mul(op.Mul(x, scale), op.Exp(x)))
    assert found == op.Sigmoid(op.Mul(op.Mul(x, op.Mul(literal(2, "float32"), scale)), op.Exp(x)))


def test_without_a_constant_to_go_into_there_is_no_such_move(op, x, scale):
    assert images(op, op.Mul(x, op.Exp(x))) == []
    assert images(op, op.Add(x, scale)) == []
    assert images(op, op.Mul(x, scale), among=(HALVES,)) == []
