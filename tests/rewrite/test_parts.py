"""Rules about the parts of a split, and the order in which siblings are taken together."""

from dataclasses import replace

import pytest

from taso_opt.core.rule import Certificate, RuleSet
from taso_opt.core.term import Apply, Const, Var, postorder
from taso_opt.rewrite.derived.parts import paired
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import parse_rule
from terms import tensor

CUT = "axis=-2, sizes=(k, n)"
TYPES = "where x[*b, k+n, m], y[*b, k+n, m]"
FIRST = f"Add(Split(x; {CUT})[0], Split(y; {CUT})[0]) = Split(Add(x, y); {CUT})[0] {TYPES}"
SECOND = FIRST.replace("[0]", "[1]").replace("x", "u").replace("aui", "axi").replace("y", "v")
STACK = (
    "(MatMul(x, w), MatMul(y, w)) = (Split(MatMul(Concat(x, y; axis=-2), w); axis=-2, sizes=(m, p))[0], "
    "Split(MatMul(Concat(x, y; axis=-2), w); axis=-2, sizes=(m, p))[1]) where x[*b, m, k], y[*b, p, k], w[k, n]"
)


def test_a_rule_and_its_twin_under_other_names_are_one_rule_with_the_axioms_of_both(op):
    first, second = (
        replace(parse_rule(text, op), certificate=Certificate((axiom,), "z3", "specs"))
        for text, axiom in ((FIRST, "one"), (SECOND, "other"))
    )
    (pair,) = paired([first, second], op)
    assert pair.source[0] is first.source[0] and pair.target[0] is first.target[0]
    assert [item.index for item in postorder(pair.source[1:]) if not isinstance(item, Var | Apply)] == [1, 1]
    assert pair.certificate.axioms == ("one", "other")


@pytest.mark.parametrize(
    "twin", ["", SECOND.replace("v", "u").replace(", u[*b, k+n, m]", ""), SECOND.replace("1", "0")]
)
def test_without_a_twin_that_says_as_much_there_is_no_pair(op, twin):
    rules = [parse_rule(text, op) for text in (FIRST, twin) if text]
    assert list(paired(rules, op)) == []


def test_a_rule_that_makes_no_sense_of_the_other_part_has_no_pair(op):
    first = f"Sub(Split(x; {CUT})[0], Sub(Split(x; {CUT})[0], y)) = Sub(y, Split(Sub(x, x); {CUT})[0])"
    rules = [parse_rule(f"{first} where x[*b, k+n, m], y[*b, k, m]", op), parse_rule(SECOND, op)]
    assert list(paired(rules, op)) == []


def test_the_sums_of_all_parts_become_the_parts_of_one_sum(op):
    rules = RuleSet(tuple(parse_rule(text, op) for text in (FIRST, SECOND)))
    wholes = [tensor(Var, name, 6, 4) for name in "ab"]
    parts = [op.Split(whole, axis=-2, sizes=(1, 2, 3)) for whole in wholes]
    sums = [op.Add(*(op.item(split, at) for split in parts)) for at in range(3)]
    steps = Rewriter(op, rules).steps(postorder(sums))
    (joint,) = {step.replacements for step in steps if len(step.replacements) == 3}
    whole = op.Split(op.Add(*wholes), axis=-2, sizes=(1, 2, 3))
    assert dict(joint) == {one: op.item(whole, at) for at, one in enumerate(sums)}


@pytest.mark.parametrize("recurrent", [True, False])
def test_what_is_stacked_stands_in_the_order_of_its_steps(op, recurrent):
    weights, decay = [tensor(Const, name, 4, 4) for name in "vw"], tensor(Const, "d", 4)
    inputs = [tensor(Var, f"x{at}", 1, 4) for at in range(8)]
    states = [tensor(Var, "s", 1, 4)]
    for one in inputs:
        states.append(op.Add(op.Mul(states[-1], decay), one))
    stacked = states[1:] if recurrent else inputs
    outputs = [op.MatMul(one, weight) for weight in weights for one in stacked]
    steps = Rewriter(op, RuleSet((parse_rule(STACK, op),))).steps(postorder(outputs))
    joint = [step for step in steps if len(step.replacements) == 8]
    assert len(joint) == len(weights)
    terms = postorder([new for step in joint for _, new in step.replacements])
    assert [term.args for term in terms if getattr(term, "operator", "") == "Concat"] == [tuple(stacked)]
