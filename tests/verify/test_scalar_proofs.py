"""Proofs over the real numbers: true for all of them, whatever the shapes, or not proved."""

from functools import reduce

import pytest

from taso_opt.errors import RuleError
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.scalar_rules import is_scalar
from taso_opt.verify.scalars import prove_scalars, prove_scalars_commute
from taso_opt.verify.verdict import Proved, Refuted, Unknown

LIBRARY = load_specs()
BOTH = "s[*any_s], x[*any_x]"


@pytest.fixture(scope="module")
def prover():
    return Prover(LIBRARY)


def rule(text):
    return parse_rule(text, LIBRARY.builder())


@pytest.mark.parametrize(
    "text",
    [
        f"PRelu(x, s) = Sub(Relu(x), Mul(s, Relu(Neg(x)))) where {BOTH}",
        f"Max(x, s) = Neg(Min(Neg(x), Neg(s))) where {BOTH}",
        f"Abs(Mul(x, s)) = Mul(Abs(x), Abs(s)) where {BOTH}",
        "Clip(Relu(x); high=(6, 1), low=(0, 1)) = Clip(x; high=(6, 1), low=(0, 1)) where x[*a]",
        "Relu(Mul(x, 3)) = Mul(Relu(x), 3) where x[*a]",
        "Div(x, 4) = Mul(x, 1/4) where x[*a, m, n]",
        "LeakyRelu(x, 1/5) = Sub(x, Mul(Min(x, 0), 4/5)) where x[n, c, h, w]",
        "Where(Less(x, 0), Neg(x), x) = Abs(x) where x[*a]",
        f"Where(Less(x, s), s, x) = Max(x, s) where {BOTH}",
        f"Where(LessOrEqual(s, x), x, s) = Where(Less(x, s), s, x) where {BOTH}",
    ],
)
def test_true_equations_are_proved_for_all_shapes(prover, text):
    verdict = examine(LIBRARY, prover, rule(text))
    assert isinstance(verdict, Proved), verdict
    assert verdict.fp_class == "E3" and verdict.instances > 0


@pytest.mark.parametrize(
    "text",
    [
        f"PRelu(x, s) = Max(x, Mul(s, x)) where {BOTH}",
        f"Max(x, s) = Min(x, s) where {BOTH}",
        f"Abs(Add(x, s)) = Add(Abs(x), Abs(s)) where {BOTH}",
        "Relu(Mul(x, -3)) = Mul(Relu(x), -3) where x[*a]",
        "Clip(x; high=(6, 1), low=(0, 1)) = Relu(x) where x[*a]",
        "Div(Clip(Add(x, 3); high=(6, 1), low=(0, 1)), 6) = HardSigmoid(x; alpha=(1, 5), beta=(1, 2)) where x[*a]",
        "HardSwish(x) = HardSigmoid(x; alpha=(1, 6), beta=(1, 2)) where x[*a]",
        "Pow(x; exponent=(3, 1)) = Mul(x, x) where x[*a]",
        "Softplus(x) = Relu(x) where x[*a]",
        "Elu(x; alpha=(1, 1)) = Elu(x; alpha=(1, 2)) where x[*a]",
        "Sqrt(Mul(x, x)) = x where x[*a]",
        "Where(Less(x, 0), Neg(x), x) = Relu(x) where x[*a]",
        f"Where(Less(x, s), x, s) = Max(x, s) where {BOTH}",
    ],
)
def test_false_equations_are_refuted_and_not_proved(prover, text):
    assert prove_scalars(LIBRARY.builder(), rule(text)) is not None
    assert isinstance(examine(LIBRARY, prover, rule(text)), Refuted)


SIXTEENTH_POWER = reduce(lambda power, _: f"Mul({power}, {power})", range(4), "x")
"""Of numbers far out it is more than float32 holds, yet not more than float64."""

MISH_TANH = "Tanh(Softplus(x)) = Div(Sigmoid(x), Sub(Div(2, Sub(2, Sigmoid(x))), Sigmoid(x))) where x[*a]"


@pytest.mark.parametrize(
    "text",
    [
        MISH_TANH,
        "Sigmoid(x) = Reciprocal(Add(1, Exp(Neg(x)))) where x[*a]",
        "Sigmoid(Neg(x)) = Sub(1, Sigmoid(x)) where x[*a]",
        "Tanh(x) = Sub(Mul(2, Sigmoid(Mul(2, x))), 1) where x[*a]",
        "Sub(Softplus(x), Softplus(Neg(x))) = x where x[*a]",
        "Exp(Softplus(x)) = Add(1, Exp(x)) where x[*a]",
        "Exp(Mul(3, x)) = Mul(Exp(x), Mul(Exp(x), Exp(x))) where x[*a]",
    ],
)
def test_exponentials_of_sums_are_products_and_those_of_logarithms_what_these_are_of(prover, text):
    verdict = examine(LIBRARY, prover, rule(text))
    assert isinstance(verdict, Proved) and verdict.fp_class == "E3", verdict


@pytest.mark.parametrize(
    "text",
    [
        f"Exp(Add(x, s)) = Mul(Exp(x), Exp(s)) where {BOTH}",
        "Softplus(x) = Log(Add(1, Exp(x))) where x[*a]",
        "Log(Sigmoid(x)) = Neg(Softplus(Neg(x))) where x[*a]",
        "Log(Exp(x)) = x where x[*a]",
        "Tanh(x) = Div(Sub(Exp(x), Exp(Neg(x))), Add(Exp(x), Exp(Neg(x)))) where x[*a]",
        "Mul(x, 0) = Div(0, x) where x[*a]",  # NaN where x is 0
        "Sub(Add(x, Div(1, y)), Div(1, y)) = x where x[*a], y[*a]",
        "ReduceSum(Sub(Add(x, Log(y)), Log(y)); axes=(-1,)) = ReduceSum(x; axes=(-1,)) where x[*b, m], y[*b, m]",
        "GlobalMaxPool(Log(x)) = Log(GlobalMaxPool(x)) where x[n, c, h, w]",  # NaN of a number below 0 beside others
        f"Sub({SIXTEENTH_POWER}, {SIXTEENTH_POWER}) = Mul(0, x) where x[*a]",
    ],
)
def test_what_overflows_or_is_not_defined_on_one_side_alone_is_of_the_loosest_class(prover, text):
    verdict = examine(LIBRARY, prover, rule(text))
    assert isinstance(verdict, Proved) and verdict.fp_class == "E4", verdict


@pytest.mark.parametrize(
    "text",
    [
        MISH_TANH.replace("Div(2,", "Div(1,"),
        "Sigmoid(x) = Div(1, Add(1, Exp(x))) where x[*a]",
        "Tanh(x) = Sub(Mul(2, Sigmoid(x)), 1) where x[*a]",
        "Softplus(x) = Log(Add(2, Exp(x))) where x[*a]",
        "Exp(Mul(x, x)) = Mul(Exp(x), Exp(x)) where x[*a]",
        "Exp(Mul(1/2, x)) = Exp(x) where x[*a]",
        "Exp(Add(x, 1)) = Exp(x) where x[*a]",
        f"Exp(Add(x, s)) = Add(Exp(x), Exp(s)) where {BOTH}",
    ],
)
def test_false_equations_about_exponentials_are_refuted_and_not_proved(prover, text):
    assert prove_scalars(LIBRARY.builder(), rule(text)) is not None
    assert isinstance(examine(LIBRARY, prover, rule(text)), Refuted)


@pytest.mark.parametrize(
    "text",
    [
        "Exp(Log(x)) = x where x[*a]",
        "Log(Mul(x, x)) = Mul(2, Log(x)) where x[*a]",
        "Sqrt(Exp(Mul(2, x))) = Exp(x) where x[*a]",
    ],
)
def test_logarithms_of_what_may_be_negative_and_other_functions_stay_unknown(prover, text):
    verdict = examine(LIBRARY, prover, rule(text))
    assert isinstance(verdict, Unknown) and "as far as their functions are known" in verdict.reason


def test_equations_with_other_operators_are_left_to_the_axioms():
    builder = LIBRARY.builder()
    assert is_scalar(builder, rule("Max(x, 0) = Relu(x) where x[*a]"))
    assert not is_scalar(builder, rule("Add(x, y) = Add(y, x) where x[*a], y[*a]"))
    assert not is_scalar(builder, rule("Abs(MatMul(x, y)) = Abs(MatMul(x, y)) where x[m, k], y[k, n]"))


def test_operands_change_places_where_that_is_declared_and_only_there():
    assert prove_scalars_commute(LIBRARY.operators["Max"]) is None
    assert prove_scalars_commute(LIBRARY.operators["Min"]) is None
    assert prove_scalars_commute(LIBRARY.operators["PRelu"]) is not None
    assert prove_scalars_commute(LIBRARY.operators["Div"]) is not None


def test_an_axis_of_size_one_does_not_meet_a_star_that_may_stand_for_no_axis(prover):
    text = "Min(x, Max(x, y)) = x where x[*b, n], y[{}n]"
    assert prove_scalars(LIBRARY.builder(), rule(text.format(""))) is None
    assert "one too many" in prove_scalars(LIBRARY.builder(), rule(text.format("1, ")))
    assert isinstance(examine(LIBRARY, prover, rule(text.format("1, "))), Refuted)


@pytest.mark.parametrize(
    "text",
    [
        "Min(Clip(x; high=(a, 1), low=(0, 1)), 3) = Clip(x; high=(a, 1), low=(0, 1)) where x[*any_x]",  # false for 4
        "Elu(x; alpha=(a, 1)) = x where x[*any_x]",
        "Celu(x; alpha=(a, 1)) = Elu(x; alpha=(a, 1)) where x[*b]",
        "Mul(x, x) = Pow(x; exponent=(a, 1)) where x[*any_x]",
        "Clip(x; high=(n, 1), low=(0, 1)) = Clip(x; high=(1, 1), low=(0, 1)) where x[n]",
    ],
)
def test_nothing_is_proved_for_numbers_that_an_attribute_leaves_open(prover, text):
    assert prove_scalars(LIBRARY.builder(), rule(text)) is not None
    assert not isinstance(examine(LIBRARY, prover, rule(text)), Proved)


@pytest.mark.parametrize(
    "text",
    [
        "AveragePool(x; count_include_pad=a, kernel=(3, 3), pads=(1, 1, 1, 1), strides=(1, 1)) = x where x[n, c, h, w]",
        "GRU(x, w, r, b, h; linear_before_reset=a)[1] = h where x[t, n, i], w[1, 3*m, i], r[1, 3*m, m], b[1, 6*m],"
        " h[1, n, m]",
    ],
)
def test_what_says_yes_or_no_is_no_size(text):
    with pytest.raises(RuleError, match=r"expected 0 or 1 as \w+, found a"):
        rule(text)
