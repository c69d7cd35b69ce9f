"""Rows of several matrices pass what does the same to each of them as the rows of one."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Var, postorder
from taso_opt.generate.schemes.flattened import discover_flattened
from taso_opt.rewrite.patterns.flattened import merges_rows_before
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.text import format_rule
from terms import assert_same_values, tensor

LIBRARY = load_specs()
EVERY = frozenset(LIBRARY.operators)


def test_the_library_has_what_is_suggested():
    found = {format_rule(rule) for rule in discover_flattened(LIBRARY, 0, EVERY)}
    known = {format_rule(rule) for rule in read_rules(None, LIBRARY.builder()) if merges_rows_before(rule)}
    assert found == known and len(found) == 2


def test_operators_that_are_not_named_are_not_in_it():
    (rule,) = discover_flattened(LIBRARY, 0, EVERY - {"Add"})
    assert "MatMul" in rule.operators


@pytest.mark.parametrize("operator", ["Add", "MatMul"])
def test_such_a_rule_is_no_step_of_a_search_unless_it_asks(op, operator):
    rewriter = Rewriter(op, RuleSet(discover_flattened(LIBRARY, 0, EVERY)))
    other = tensor(Var, "y", 5) if operator == "Add" else tensor(Var, "y", 5, 4)
    whole = op.apply(operator, (tensor(Var, "x", 2, 3, 5), other), {})
    merged = op.Reshape(whole, shape=(6, op.type(whole).shape[-1]))
    assert not list(rewriter.steps(postorder((merged,))))
    step = rewriter.with_merged_rows(merged)
    assert step.image.operator == operator
    assert_same_values(op, [merged], [step.image])
    assert rewriter.with_merged_rows(whole) is None
