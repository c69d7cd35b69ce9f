"""A rule about three operands, two of them in brackets, fits them in any brackets, and in a product of four."""

from itertools import permutations

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var, postorder
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import parse_rule
from terms import tensor

RULE = "Mul(Mul(s, x), Tanh(x)) = Mish(x) where x[*b], s[]"
"""No truth."""

X, Y, Z = (tensor(Var, name, 16, 8) for name in "xyz")
S = tensor(Const, "s")


@pytest.fixture
def rewriter(op):
    return Rewriter(op, RuleSet((parse_rule(RULE, op),)))


def images(rewriter, whole):
    return {step.image for step in rewriter.steps(postorder([whole])) if step.root is whole}


def test_three_operands_fit_in_any_brackets(op, rewriter):
    for one, two, three in permutations((S, X, op.Tanh(X))):
        assert images(rewriter, op.Mul(one, op.Mul(two, three))) == {op.Mish(X)}


def test_a_fourth_operand_stays(op, rewriter):
    whole = op.Mul(op.Mul(op.Mul(op.Tanh(X), Y), X), S)
    assert images(rewriter, whole) == {op.Mul(op.Mish(X), Y)}


def test_longer_products_are_left_alone(op, rewriter):
    assert images(rewriter, op.Mul(op.Mul(op.Mul(op.Mul(op.Tanh(X), Y), X), Z), S)) == set()


def test_what_is_another_product_is_no_match(op, rewriter):
    assert images(rewriter, op.Mul(op.Mul(S, Y), op.Tanh(X))) == set()
