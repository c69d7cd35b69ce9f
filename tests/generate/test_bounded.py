"""Equations with conditions on constants are found, under the weakest condition, and all of them are proved."""

import pytest

from taso_opt.core.term import Apply, postorder, variables
from taso_opt.generate.scalar.bounded import discover_bounded
from taso_opt.generate.scalar.functions import discover_scalars
from taso_opt.generate.schemes.pooled import discover_pooled
from taso_opt.spec import load_specs
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.conditions.infer import holds_under_conditions, weakest

LIBRARY = load_specs()
EVERY = frozenset(LIBRARY.operators)
POOL = "dilations=(1, 1), kernel=(k_h, k_w), pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"


@pytest.fixture(scope="module")
def bounded():
    return discover_bounded(LIBRARY, 3, 0, EVERY, discover_scalars(LIBRARY, 3, 0, EVERY))


@pytest.fixture(scope="module")
def pooled():
    return discover_pooled(LIBRARY, 0, EVERY)


@pytest.mark.parametrize(
    "text",
    [
        "Relu(Mul(x, s)) = Mul(Relu(x), s) where x[*any_x], s[*any_s] and s >= 0",
        "Relu(Div(x, s)) = Div(Relu(x), s) where x[*any_x], s[*any_s] and s > 0",
        "Max(x, Mul(x, s)) = PRelu(x, s) where x[*any_x], s[*any_s] and s <= 1",
        "Min(x, Mul(x, s)) = PRelu(x, s) where x[*any_x], s[*any_s] and s >= 1",
        "Relu(PRelu(x, s)) = PRelu(x, s) where x[*any_x], s[*any_s] and s <= 0",
        "Max(Mul(x, s), Mul(y, s)) = Mul(Max(x, y), s) where x[*any_x], y[*any_y], s[*any_s] and s >= 0",
        "Max(Mul(x, s), Mul(y, s)) = Mul(Min(x, y), s) where x[*any_x], y[*any_y], s[*any_s] and s <= 0",
        "PRelu(PRelu(x, s), t) = PRelu(x, Mul(s, t)) where x[*any_x], s[*any_s], t[*any_t] and s >= 0",
        "Add(Relu(x), Mul(Min(x, 0), s)) = Max(x, Mul(x, s)) where x[*any_x], s[*any_s] and s <= 1",
        "Sub(Relu(x), Mul(Relu(Neg(x)), s)) = Min(x, Mul(x, s)) where x[*any_x], s[*any_s] and s >= 1",
        "Add(Relu(x), Mul(Relu(Neg(x)), s)) = Max(x, Mul(x, Neg(s))) where x[*any_x], s[*any_s] and s >= -1",
        "LeakyRelu(Mul(x, s), t) = Mul(LeakyRelu(x, t), s) where x[*any_x], s[*any_s], t[] and s >= 0",
        "Max(x, Mul(x, s)) = LeakyRelu(x, s) where x[*any_x], s[] and s <= 1",
    ],
)
def test_an_equation_is_found_under_its_weakest_condition(bounded, text):
    wanted = parse_rule(text, LIBRARY.builder())
    assert wanted in bounded or wanted.reversed() in bounded


@pytest.mark.parametrize(
    "text",
    [
        f"MaxPool(Mul(x, s); {POOL}) = Mul(MaxPool(x; {POOL}), s) where x[n, c, h, w], s[c, 1, 1] and s >= 0",
        f"MaxPool(Div(x, s); {POOL}) = Div(MaxPool(x; {POOL}), s) where x[n, c, h, w], s[] and s > 0",
        f"MaxPool(PRelu(x, s); {POOL}) = PRelu(MaxPool(x; {POOL}), s) where x[n, c, h, w], s[c, 1, 1] and s >= 0",
        f"MaxPool(Add(x, s); {POOL}) = Add(MaxPool(x; {POOL}), s) where x[n, c, h, w], s[c, 1, 1]",
        f"MaxPool(Relu(x); {POOL}) = Relu(MaxPool(x; {POOL})) where x[n, c, h, w]",
        "GlobalMaxPool(Relu(x)) = Relu(GlobalMaxPool(x)) where x[n, c, h, w]",
        "GlobalMaxPool(Mul(x, s)) = Mul(GlobalMaxPool(x), s) where x[n, c, h, w], s[c, 1, 1] and s >= 0",
        "ReduceMax(Sigmoid(x); axes=(-1,)) = Sigmoid(ReduceMax(x; axes=(-1,))) where x[*b, m]",
        "ReduceMax(Relu(x); axes=(-2, -1)) = Relu(ReduceMax(x; axes=(-2, -1))) where x[*b, m, k]",
    ],
)
def test_what_passes_a_pooling_is_found(pooled, text):
    assert parse_rule(text, LIBRARY.builder()) in pooled


def test_all_are_proved_and_no_condition_is_stronger_than_needed(bounded, pooled):
    builder = LIBRARY.builder()
    unproved = [rule for rule in (*bounded, *pooled) if not holds_under_conditions(builder, rule)]
    rising = {format_rule(rule).partition("(")[2].partition("(")[0] for rule in unproved}
    assert rising == {"Softplus", "Softsign"}  # of which no case distinction tells that they rise
    assert all(weakest(builder, rule) == rule for rule in (*bounded, *pooled) if rule.conditions)
    assert 20 <= len(bounded) <= 80 and 100 <= len(pooled) <= 200


def test_data_neither_divides_nor_is_a_slope(bounded):
    terms = [term for rule in bounded for term in rule.terms]
    second = [
        term.args[1] for term in terms if isinstance(term, Apply) and term.operator in ("Div", "LeakyRelu", "PRelu")
    ]
    assert len(second) > 10
    assert {variable.name for variable in variables(second)} == {"s", "t"}


def test_what_falls_or_is_undefined_somewhere_passes_no_pooling(pooled):
    operators = {term.operator for rule in pooled for term in postorder(rule.source) if isinstance(term, Apply)}
    assert not operators & {"Abs", "Neg", "Log", "Sqrt", "Reciprocal", "HardSwish", "Mish"}


def test_nothing_is_found_for_operators_that_are_not_asked_for():
    assert discover_bounded(LIBRARY, 3, 0, frozenset({"Mul", "Add"})) == ()
    assert discover_pooled(LIBRARY, 0, EVERY - {"MaxPool", "GlobalMaxPool", "ReduceMax"}) == ()
    lone = discover_pooled(LIBRARY, 0, frozenset({"ReduceMax", "Relu"}))
    assert len(lone) == 3 and {name for rule in lone for name in rule.operators} == {"ReduceMax", "Relu"}
    relu = discover_bounded(LIBRARY, 3, 0, frozenset({"Relu", "Mul"}))
    assert [format_rule(rule).partition(" and ")[2] for rule in relu] == ["s >= 0"]
