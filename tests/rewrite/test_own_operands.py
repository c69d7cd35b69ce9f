"""Of all parts of a split, each with an operand of its own, one operator makes what one of each part would."""

from dataclasses import replace

import pytest

from taso_opt.core.rule import Certificate, RuleSet
from taso_opt.core.term import Apply, Var, postorder
from taso_opt.rewrite.derived.operands import with_own_operands
from taso_opt.rewrite.derived.parts import paired
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import format_rule, parse_rule
from terms import assert_same_values, tensor

CUT = "axis=-1, sizes=(m, k)"
FIRST = f"Sub(Split(x; {CUT})[0], Split(y; {CUT})[0]) = Split(Sub(x, y); {CUT})[0] where x[*b, k+m], y[*b, k+m]"
RULES = (FIRST, FIRST.replace("[0]", "[1]"))
UNDONE = tuple(
    f"Split(Concat(x, y; axis=-1); {CUT})[{at}] = {name} where x[*b, m], y[*b, k]" for at, name in enumerate("xy")
)
ROWS = tuple(text.replace("-1", "-2").replace("m], y[*b, k]", "m, n], y[*b, k, n]") for text in UNDONE)


def composed(op, *texts):
    rules = [
        replace(parse_rule(text, op), certificate=Certificate((f"law {at}",), "z3", "specs"))
        for at, text in enumerate(texts)
    ]
    return list(with_own_operands(paired(rules, op), rules, op))


def test_each_of_two_splits_may_be_operands_that_were_never_one_tensor(op):
    found = composed(op, *RULES, *UNDONE)
    left = f"(Sub(x_0, Split(y; {CUT})[0]), Sub(x_1, Split(y; {CUT})[1]))"
    right = f"(Sub(Split(x; {CUT})[0], y_0), Sub(Split(x; {CUT})[1], y_1))"
    assert [format_rule(rule).partition(" = (Split")[0] for rule in found] == [left, right]
    assert {rule.certificate.axioms for rule in found} == {("law 0", "law 1", "law 2", "law 3")}
    for rule in found:
        assert [op.type(term) for term in rule.source] == [op.type(term) for term in rule.target]


@pytest.mark.parametrize("others", [(), UNDONE[:1], UNDONE[1:], ROWS])
def test_without_the_rules_that_take_apart_what_was_joined_along_the_axis_there_is_none(op, others):
    assert composed(op, *RULES, *others) == []


@pytest.mark.parametrize(
    "types", ["x[m, m], y[m, m]", "x[2, 3, m], y[2, 3, k]", "x[*b, m], y[*b, m]", "x[*b, c, m], y[*b, c, 4]"]
)
def test_laws_about_some_sizes_only_take_nothing_apart(op, types):
    sizes = ("m", types.rpartition(", ")[2].rstrip("]"))
    laws = [
        f"Split(Concat(x, y; axis=-1); axis=-1, sizes=({', '.join(sizes)}))[{at}] = {name} where {types}"
        for at, name in enumerate("xy")
    ]
    assert composed(op, *RULES, *laws) == []


def test_a_law_about_one_tensor_joined_to_itself_takes_nothing_apart(op):
    laws = [f"Split(Concat(x, x; axis=-1); axis=-1, sizes=(m, m))[{at}] = x where x[*b, m]" for at in (0, 1)]
    assert composed(op, *RULES, *laws) == []


def test_the_same_said_of_either_operand_of_a_sum_is_said_once(op):
    first = FIRST.replace("Sub", "Add")
    assert len(composed(op, first, first.replace("[0]", "[1]"), *UNDONE)) == 1


def test_new_variables_have_names_of_their_own(op):
    first = FIRST.replace("y", "x_1")
    found = composed(op, first, first.replace("[0]", "[1]"), *UNDONE)
    assert len(found) == 2
    for rule in found:
        assert len({one.name for one in rule.variables}) == len(rule.variables) == 3


def test_operands_that_need_another_part_are_not_merged_with_it(op):
    rules = RuleSet(tuple(parse_rule(text, op) for text in (*RULES, *UNDONE)))
    split = op.Split(tensor(Var, "whole", 4, 6), axis=-1, sizes=(2, 2, 2))
    first, second = (op.Sub(op.item(split, at), op.Relu(tensor(Var, f"own_{at}", 4, 2))) for at in (0, 1))
    third = op.Sub(op.item(split, 2), op.Relu(first))
    steps = Rewriter(op, rules).steps(postorder([second, third]))
    assert not any(len(step.replacements) > 1 for step in steps)


def test_one_split_alone_is_no_split_beside_another(op):
    first = f"Relu(Split(x; {CUT})[0]) = Split(Relu(x); {CUT})[0] where x[*b, k+m]"
    assert composed(op, first, first.replace("[0]", "[1]"), *UNDONE) == []


def test_a_split_of_which_the_whole_is_used_too_stays(op):
    first = f"Sub(Split(x; {CUT})[0], Split(x; {CUT})[0]) = Split(Sub(x, x); {CUT})[0] where x[*b, k+m]"
    assert composed(op, first, first.replace("[0]", "[1]"), *UNDONE) == []


@pytest.mark.parametrize("sizes", [(2, 2), (1, 2, 3), (2, 2, 2, 2)])
def test_differences_of_any_number_of_parts_and_other_operands_become_one(op, sizes):
    rules = RuleSet(tuple(parse_rule(text, op) for text in (*RULES, *UNDONE)))
    whole = tensor(Var, "whole", 4, sum(sizes))
    split = op.Split(whole, axis=-1, sizes=sizes)
    own = [op.Relu(tensor(Var, f"own_{at}", 4, size)) for at, size in enumerate(sizes)]
    outputs = [op.Sub(op.item(split, at), operand) for at, operand in enumerate(own)]
    rewriter = Rewriter(op, rules)
    merged = [step for step in rewriter.steps(postorder(outputs)) if len(step.replacements) == len(sizes)]
    assert merged
    for step in merged:
        new = [step.mapping[output] for output in outputs]
        assert_same_values(op, outputs, new)
        assert sum(isinstance(one, Apply) and one.operator == "Sub" for one in postorder(new)) == 1


def test_some_of_the_parts_are_left_alone(op):
    rules = RuleSet(tuple(parse_rule(text, op) for text in (*RULES, *UNDONE)))
    split = op.Split(tensor(Var, "whole", 4, 6), axis=-1, sizes=(2, 2, 2))
    outputs = [op.Sub(op.item(split, at), op.Relu(tensor(Var, f"own_{at}", 4, 2))) for at in range(2)]
    steps = Rewriter(op, rules).steps(postorder([*outputs, op.item(split, 2)]))
    assert not any(len(step.replacements) > 1 for step in steps)
