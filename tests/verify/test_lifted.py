"""A rule that is true of two operands and false of three, for which it would be taken too, is not proved."""

from types import SimpleNamespace

import pytest

from taso_opt.spec.text import parse_rule
from taso_opt.verify.examine import OF_TWO_ALONE, examine, holds
from taso_opt.verify.lifted import misleads
from taso_opt.verify.verdict import Proved, Unknown

JOINED = "ReduceMean(Concat(x, y; axis=-1); axes=(-1,)) = ReduceMean(Pad(Add(x, y); pads=(0, {})); axes=(-1,)) where "


@pytest.mark.parametrize("text", [JOINED.format(1) + "x[*b, 1], y[*b, 1]", JOINED.format("n") + "x[*b, n], y[*b, n]"])
def test_numbers_and_sizes_in_attributes_may_stand_for_the_number_of_operands(library, prover, text):
    rule = parse_rule(text, library.builder())
    assert misleads(library.builder(), rule)
    assert examine(library, prover, rule) == Unknown(OF_TWO_ALONE)


POOLED = "AveragePool(Concat(x, y; axis=-1); count_include_pad={}, kernel=({}, 2), pads=(0, 0, 0, 1), strides=(1, {}))"


@pytest.mark.parametrize(("height", "stride"), [(1, 2), (5, 2), (1, 3)])
def test_nor_is_one_that_a_larger_window_hides_or_that_four_operands_refute(library, prover, height, stride):
    sides = " = ".join(POOLED.format(counted, height, stride) for counted in (0, 1))
    rule = parse_rule(f"{sides} where x[n, c, h, 1], y[n, c, h, 1]", library.builder())
    assert examine(library, prover, rule) == Unknown(OF_TWO_ALONE)


def test_nor_does_such_a_form_hold_that_a_rule_is_widened_to(library):
    proved = SimpleNamespace(prove=lambda rule: None)
    assert not holds(library, proved, parse_rule(JOINED.format("n") + "x[*b, n], y[*b, n]", library.builder()))
    assert holds(library, proved, parse_rule("Relu(Relu(x)) = Relu(x) where x[*b]", library.builder()))


def test_nor_is_one_that_is_zero_of_positive_numbers(library, prover):
    sides, where = JOINED.format(1).removesuffix(" where ").split(" = "), "where x[*b, 1], y[*b, 1]"
    rule = parse_rule(f"Relu(Neg({sides[0]})) = Relu(Neg({sides[1]})) {where}", library.builder())
    assert examine(library, prover, rule) == Unknown(OF_TWO_ALONE)


@pytest.mark.parametrize("stride", [5, 8, 40])
def test_nor_is_one_that_is_false_of_many_operands_alone(library, prover, stride):
    sides = " = ".join(POOLED.format(counted, 1, stride) for counted in (0, 1))
    rule = parse_rule(f"{sides} where x[n, c, h, 1], y[n, c, h, 1]", library.builder())
    assert examine(library, prover, rule) == Unknown(OF_TWO_ALONE)


def _around(outer, equation):
    """Both sides of an equation within one more operator."""
    return " = ".join(map(outer.format, equation.removesuffix(" where ").split(" = "))) + " where "


def test_nor_is_one_that_large_or_small_numbers_hide(library, prover):
    for hiding in ("Relu(Sub({}, 100))", "Mul(1/1000000000000, {})"):
        text = _around(hiding, JOINED.format(1)) + "x[*b, 1], y[*b, 1]"
        assert misleads(library.builder(), parse_rule(text, library.builder()))
    text = _around("Gather(Pad({}; pads=(1, 0, 1, 0)), p; axis=-2)", JOINED.format(1))
    text += "p[*b]: int64, x[m, 1], y[m, 1]"
    assert misleads(library.builder(), parse_rule(text, library.builder()))


@pytest.mark.parametrize(
    "text",
    [
        "Add(Relu(Clip(x; low=(), high=(6, 1))), Relu(Clip(y; low=(), high=(6, 1)))) = Clip(Add(Clip(x; low=(0, 1),"
        " high=(6, 1)), Clip(y; low=(0, 1), high=(6, 1))); low=(), high=(12, 1)) where x[*a], y[*a]",
        "Add(HardSwish(x), HardSwish(y)) = Neg(Clip(Add(Neg(HardSwish(x)), Neg(HardSwish(y))); low=(), high=(1, 1)))"
        " where x[*a], y[*a]",
        _around("Clip({}; low=(100, 1), high=())", JOINED.format(1)) + "x[*b, 1], y[*b, 1]",
        _around("Selu({}; alpha=(1, 1), gamma=(1, 1000000000000))", JOINED.format(1)) + "x[*b, 1], y[*b, 1]",
    ],
)
def test_nor_is_one_that_numbers_in_attributes_and_meanings_hide(library, text):
    assert misleads(library.builder(), parse_rule(text, library.builder()))


def test_numbers_that_are_tried_keep_to_the_conditions_of_a_rule(library):
    text = "Relu(Mul(Concat(x, y; axis=-1), s)) = Concat(Mul(Relu(x), s), Mul(Relu(y), s); axis=-1)"
    where = "where x[*b, n], y[*b, m], s[]"
    assert misleads(library.builder(), parse_rule(f"{text} {where}", library.builder()))
    assert not misleads(library.builder(), parse_rule(f"{text} {where} and s >= 0", library.builder()))


@pytest.mark.parametrize(
    "text",
    [
        "Concat(MatMul(x, y), MatMul(x, z); axis=-1) = MatMul(x, Concat(y, z; axis=-1))"
        " where x[m, k], y[k, n], z[k, p]",
        "Relu(Relu(x)) = Relu(x) where x[*b]",
    ],
)
def test_what_holds_for_any_number_or_is_about_one_operand_is_proved(library, prover, text):
    rule = parse_rule(text, library.builder())
    assert not misleads(library.builder(), rule)
    assert isinstance(examine(library, prover, rule), Proved)
