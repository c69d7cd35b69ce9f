"""Conditions on constants in the text form: read back as written, refused with a reason."""

import pytest

from taso_opt.core.condition import AT_LEAST_0, FROM_0_TO_1, Condition
from taso_opt.errors import RuleError
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import rule_id
from taso_opt.spec.text import format_rule, parse_rule

EQUATION = "Relu(Mul(x, s)) = Mul(Relu(x), s) where s[*any_s], x[*any_x]"
BUILDER = load_specs().builder()


def test_conditions_are_read_and_written_in_the_order_of_their_variables():
    rule = parse_rule(f"{EQUATION} and x >= 0 and 0 <= s <= 1", BUILDER)
    assert rule.conditions == (Condition("s", FROM_0_TO_1), Condition("x", AT_LEAST_0))
    assert format_rule(rule).endswith("where s[*any_s], x[*any_x] and 0 <= s <= 1 and x >= 0")
    assert parse_rule(format_rule(rule), BUILDER) == rule


def test_a_condition_is_part_of_a_rule_and_of_its_id():
    plain, scaled, strict = (parse_rule(f"{EQUATION}{more}", BUILDER) for more in ("", " and s >= 0", " and s > 0"))
    assert len({plain, scaled, strict}) == 3
    assert len({rule_id(format_rule(rule)) for rule in (plain, scaled, strict)}) == 3
    assert scaled.reversed().conditions == scaled.conditions
    assert scaled.bounds("s") == AT_LEAST_0 and scaled.bounds("x") is None


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("s = 0", "expected a condition of the form s >= -1"),
        ("s >= 2", "expected a condition of the form s >= -1"),
        ("", "expected a condition of the form s >= -1"),
        ("t >= 0", "expected conditions on variables of the equation"),
        ("s >= 0 and s <= 1", "expected one condition on s"),
        ("s >= 0; import os", "expected a condition of the form s >= -1"),
        ("s " * 4000, "expected a condition of the form s >= -1"),
    ],
)
def test_anything_else_behind_the_types_is_refused(said, problem):
    with pytest.raises(RuleError, match=problem):
        parse_rule(f"{EQUATION} and {said}", BUILDER)
