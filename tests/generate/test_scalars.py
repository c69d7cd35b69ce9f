"""Equations between scalar functions: what is found, that it holds, and that what overflows is not."""

import pytest

from taso_opt.generate.scalar.functions import discover_scalars
from taso_opt.spec import load_specs
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.evaluation.refute import refute
from taso_opt.verify.scalars import prove_scalars

LIBRARY = load_specs()


def found(*operators, max_ops=3, seed=0):
    names = frozenset(operators) if operators else frozenset(LIBRARY.operators)
    return discover_scalars(LIBRARY, max_ops, seed, names)


@pytest.fixture(scope="module")
def everything():
    return found()


@pytest.mark.parametrize(
    "text",
    [
        "Div(Mul(x, Clip(Add(x, 3); high=(6, 1), low=(0, 1))), 6) = Mul(x, HardSigmoid(x; alpha=(1, 6), beta=(1, 2)))",
        "Mul(x, HardSigmoid(x; alpha=(1, 6), beta=(1, 2))) = HardSwish(x)",
        "Add(Relu(x), Log(Add(Exp(Neg(Abs(x))), 1))) = Softplus(x)",
        "Mul(x, Tanh(Softplus(x))) = Mish(x)",
        "Div(Sigmoid(x), Sub(Div(2, Sub(2, Sigmoid(x))), Sigmoid(x))) = Tanh(Softplus(x))",
        "Add(Relu(x), Sub(Exp(Min(x, 0)), 1)) = Elu(x; alpha=(1, 1))",
        "Sqrt(x) = Pow(x; exponent=(1, 2))",
        "Mul(Mul(x, x), Mul(x, x)) = Pow(x; exponent=(4, 1))",
        "Mul(Mul(Mul(x, x), Mul(x, x)), Mul(Mul(x, x), Mul(x, x))) = Pow(x; exponent=(8, 1))",
        "Mul(x, Sqrt(x)) = Pow(x; exponent=(3, 2))",
        "Mul(Mul(x, x), Sqrt(x)) = Pow(x; exponent=(5, 2))",
        "Reciprocal(Mul(x, x)) = Pow(x; exponent=(-2, 1))",
        "Sub(Mul(2, Sigmoid(Mul(2, x))), 1) = Tanh(x)",
        "Relu(Min(x, 6)) = Clip(x; high=(6, 1), low=(0, 1))",
        "Div(x, 8119/5741) = Mul(5741/8119, x)",
        "Sub(Relu(x), Relu(Sub(x, 6))) = Clip(x; high=(6, 1), low=(0, 1))",
        "Clamp(x, 0, 6) = Clip(x; high=(6, 1), low=(0, 1))",
        "Mul(1/2, Add(1, Tanh(x))) = Sigmoid(Mul(2, x))",
        "Sub(1, Sigmoid(x)) = Sigmoid(Neg(x))",
        "Neg(Min(0, Neg(x))) = Relu(x)",
        "Add(x, Abs(x)) = Mul(2, Relu(x))",
        "Sub(x, Abs(x)) = Mul(2, Min(x, 0))",
        "Add(Relu(x), Relu(Neg(x))) = Abs(x)",
        "Sub(Relu(Mul(2, x)), x) = Abs(x)",
    ],
)
def test_what_a_kernel_computes_is_found_in_other_words(everything, text):
    assert parse_rule(f"{text} where x[*any_x]", LIBRARY.builder()) in everything


@pytest.mark.parametrize(
    "text",
    [
        "Add(Relu(x), Mul(s, Min(x, 0))) = PRelu(x, s)",
        "Sub(Relu(x), Mul(s, Relu(Neg(x)))) = PRelu(x, s)",
        "Add(Relu(x), Mul(s, Relu(Neg(x)))) = PRelu(x, Neg(s))",
        "Add(Relu(x), Mul(s, Min(x, 0))) = LeakyRelu(x, s)",
        "PRelu(x, s) = LeakyRelu(x, s)",
        "Sub(x, Mul(Min(x, 0), s)) = LeakyRelu(x, Sub(1, s))",
        "Add(x, Mul(Relu(Neg(x)), s)) = PRelu(x, Sub(1, s))",
    ],
)
def test_a_slope_of_its_own_for_each_channel_is_found_for_all_shapes_that_broadcast(everything, text):
    number = "" if "Leaky" in text else "*any_s"
    assert parse_rule(f"{text} where s[{number}], x[*any_x]", LIBRARY.builder()) in everything


def test_what_is_below_zero_is_found_with_a_negation_on_either_side(everything):
    texts = [format_rule(rule) for rule in everything]
    assert "Neg(Relu(Neg(x))) = Min(0, x) where x[*any_x]" in texts
    assert "Mul(-1, x) = Neg(x) where x[*any_x]" in texts


@pytest.mark.parametrize(
    "text",
    [
        "Min(Max(x, t), s) = Clamp(x, t, s) where x[*any_x], s[], t[]",
        "Max(Min(x, s), t) = Clamp(x, t, Max(s, t)) where x[*any_x], s[], t[]",
        "Min(Relu(x), s) = Clamp(x, 0, s) where x[*any_x], s[]",
        "Relu(Min(x, s)) = Clamp(x, 0, Relu(s)) where x[*any_x], s[]",
    ],
)
def test_an_interval_is_found_with_any_numbers_as_its_ends(everything, text):
    assert parse_rule(text, LIBRARY.builder()) in everything
    ends = [rule for rule in everything if "Clamp" in format_rule(rule) and len(rule.variables) > 1]
    assert len(ends) == 4


@pytest.mark.parametrize("text", ["Add(0, x)", "Sub(x, 0)", "Mul(1, x)", "Div(x, 1)"])
def test_what_a_number_leaves_as_it_is_is_found(everything, text):
    assert parse_rule(f"{text} = x where x[*any_x]", LIBRARY.builder()) in everything
    assert not any(format_rule(rule).startswith(("Sub(0, x) = x", "Div(1, x) = x")) for rule in everything)


@pytest.mark.parametrize(
    "text",
    [
        "Mul(Add(1, Tanh(s)), Mul(1/2, x)) = Mul(x, Sigmoid(Mul(2, s)))",
        "Mul(s, Add(1/2, Mul(1/2, Tanh(x)))) = Mul(s, Sigmoid(Mul(2, x)))",
        "Add(Mul(Tanh(s), Mul(1/2, x)), Mul(1/2, x)) = Mul(x, Sigmoid(Mul(2, s)))",
    ],
)
def test_operators_in_turn_are_found_with_a_variable_as_second_operand(everything, text):
    assert parse_rule(f"{text} where x[*any_x], s[*any_s]", LIBRARY.builder()) in everything


def test_an_elu_is_found_in_pieces_with_any_number_as_its_factor_where_nothing_cancels_above_zero(everything):
    text = "Add(Relu(x), Mul(s, Add(Exp(Min(x, 0)), -1))) = ScaledElu(x, s) where x[*any_x], s[]"
    found = [rule for rule in everything if "ScaledElu" in format_rule(rule)]
    assert found == [parse_rule(text, LIBRARY.builder())]


def test_ends_in_the_wrong_order_are_told_apart(everything):
    crossed = parse_rule("Max(Min(x, s), t) = Clamp(x, t, s) where x[*any_x], s[], t[]", LIBRARY.builder())
    assert crossed not in everything
    assert prove_scalars(LIBRARY.builder(), crossed) is not None


def test_every_equation_is_proved_and_survives_evaluation(everything):
    assert len(everything) > 40
    for rule in everything:
        # Of the square root the proof knows no law, such as that a product's root is the product of the roots.
        text = format_rule(rule)
        assert prove_scalars(LIBRARY.builder(), rule) is None or text.startswith("Sqrt("), text
        assert isinstance(refute(LIBRARY.builder(), rule), int), text


def test_functions_of_a_bounded_operator_are_found_where_it_and_they_are_asked_for():
    arithmetic = ("Add", "Sub", "Mul", "Div")
    texts = {format_rule(rule) for rule in found("Softplus", "Tanh", "Sigmoid", *arithmetic)}
    assert any("Tanh(Softplus(x))" in text and "Sigmoid(x)" in text for text in texts)
    for less in (("Softplus", "Tanh"), ("Softplus", "Sigmoid"), ("Tanh", "Sigmoid")):
        texts = {format_rule(rule) for rule in found(*less, *arithmetic)}
        assert not any("Softplus" in text for text in texts)
        assert any("Tanh(x)" in text and "Sigmoid" in text for text in texts) == ("Softplus" not in less)


def test_a_form_that_overflows_is_not_equal_in_floating_point(everything):
    texts = [format_rule(rule) for rule in everything]
    assert not any("Log(Add(1, Exp(x)))" in text or "Log(Add(Exp(x), 1))" in text for text in texts)


def test_only_the_operators_asked_for_take_part():
    rules = found("Clamp", "Min", "Max")
    assert len(rules) == 2
    assert all({"Clamp", "Min", "Max"} >= operators(rule) for rule in rules)
    assert found("MatMul", "Concat") == ()


def operators(rule):
    return {term.operator for side in (rule.source, rule.target) for term in applications(side[0])}


def applications(term):
    if hasattr(term, "operator"):
        yield term
        for argument in term.args:
            yield from applications(argument)


def test_the_same_seed_gives_the_same_equations_and_another_seed_the_same_set():
    names = ("HardSigmoid", "HardSwish", "Add", "Mul", "Div", "Clip")
    assert list(map(format_rule, found(*names))) == list(map(format_rule, found(*names)))
    assert set(map(format_rule, found(*names))) == set(map(format_rule, found(*names, seed=7)))


def test_fewer_operators_a_side_find_less():
    assert {format_rule(rule) for rule in found(max_ops=1)} < {format_rule(rule) for rule in found(max_ops=2)}
