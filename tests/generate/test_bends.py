"""A line and a function with a bend add up to the larger or smaller of two lines; all of it is proved."""

import pytest

from taso_opt.generate.scalar.bends import OPERATORS, discover_bends
from taso_opt.spec import load_specs
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.conditions.infer import holds_under_conditions, weakest

LIBRARY = load_specs()


@pytest.fixture(scope="module")
def bends():
    return discover_bends(LIBRARY, 0, OPERATORS)


@pytest.mark.parametrize(
    "text",
    [
        "Add(Mul(x, t), Mul(Abs(x), s)) = Max(Mul(x, Add(s, t)), Mul(x, Sub(t, s))) where {} and s >= 0",
        "Add(Mul(x, t), Mul(Relu(x), s)) = Max(Mul(x, t), Mul(x, Add(s, t))) where {} and s >= 0",
        "Add(Mul(x, t), Mul(Relu(x), s)) = Min(Mul(x, t), Mul(x, Add(s, t))) where {} and s <= 0",
        "Sub(Mul(x, t), Mul(Relu(x), s)) = Min(Mul(x, t), Mul(x, Sub(t, s))) where {} and s >= 0",
        "Sub(Mul(Relu(x), s), Mul(x, t)) = Max(Mul(x, Neg(t)), Mul(x, Sub(s, t))) where {} and s >= 0",
    ],
)
def test_a_sum_is_found_as_two_lines(bends, text):
    assert parse_rule(text.format("x[*any_x], s[*any_s], t[*any_t]"), LIBRARY.builder()) in bends


def test_all_are_proved_under_the_weakest_condition_and_on_both_sides_of_zero(bends):
    builder = LIBRARY.builder()
    assert all(holds_under_conditions(builder, rule) and weakest(builder, rule) == rule for rule in bends)
    conditions = [format_rule(rule).rpartition(" and ")[2] for rule in bends]
    assert set(conditions) == {"s >= 0", "s <= 0"} and conditions.count("s >= 0") == conditions.count("s <= 0") > 5


def test_the_same_seed_gives_the_same_and_another_seed_the_same_set(bends):
    assert discover_bends(LIBRARY, 0, OPERATORS) == bends
    assert set(discover_bends(LIBRARY, 7, OPERATORS)) == set(bends)


@pytest.mark.parametrize("missing", sorted(OPERATORS))
def test_nothing_is_found_for_operators_that_are_not_asked_for(missing):
    assert discover_bends(LIBRARY, 0, OPERATORS - {missing}) == ()
