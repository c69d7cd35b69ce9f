"""Shares along one axis pass what moves other axes, equal what the standard says, and all of that is proved."""

import numpy as np
import pytest

from taso_opt.generate.schemes.definitions import discover_definitions
from taso_opt.generate.schemes.slices import discover_slices
from taso_opt.semantics.arrays import ModularArrays
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.evaluation.refute import refute
from taso_opt.verify.verdict import Counterexample

POWERS = "Exp(Sub(x, ReduceMax(x; axes=(-1,))))"
FOUND = {
    "shares of joins": (
        "Softmax(Concat(x, y; axis=-2); axis=-1) = Concat(Softmax(x; axis=-1), Softmax(y; axis=-1); axis=-2) "
        "where x[*b, m, k], y[*b, n, k]",
        "Softmax(Transpose(x; perm=(-1, -2)); axis=-1) = Transpose(Softmax(x; axis=-2); perm=(-1, -2)) "
        "where x[*b, m, k]",
    ),
    "shares of images": (
        "Softmax(Concat(x, y; axis=-3); axis=-1) = Concat(Softmax(x; axis=-1), Softmax(y; axis=-1); axis=-3) "
        "where x[n, c, h, w], y[n, d, h, w]",
        "Softmax(Transpose(x; perm=(-2, -3, -1)); axis=-1) = Transpose(Softmax(x; axis=-1); perm=(-2, -3, -1)) "
        "where x[*b, c, h, w]",
        "Softmax(Reshape(x; shape=(n*c, h, w)); axis=-1) = Reshape(Softmax(x; axis=-1); shape=(n*c, h, w)) "
        "where x[n, c, h, w]",
    ),
    "shares of parts": (
        "Softmax(Split(x; axis=-2, sizes=(m, n))[0]; axis=-1) = Split(Softmax(x; axis=-1); axis=-2, sizes=(m, n))[0] "
        "where x[*b, m+n, k]",
    ),
}
MOVED = "Softmax, Concat, Split, Transpose, Reshape"


@pytest.mark.parametrize("pool", FOUND)
def test_shares_pass_what_moves_other_axes(discovered, covers, pool):
    for law in FOUND[pool]:
        assert covers(discovered(pool, MOVED), law), law


def test_all_that_is_found_is_proved_at_all_sizes(discovered, op):
    found = [rule for pool in FOUND for rule in discovered(pool, MOVED) if has_shares(rule)]
    assert len(found) > 25
    unproved = [format_rule(rule) for rule in found if prove_definition(op, rule) is not None]
    # That shares do not depend on the order of what they are of is true, and needs that of the greatest element.
    assert len(unproved) == 2
    assert all("Split(Softmax(Concat(y, x" in text for text in unproved)


def test_slices_pass_along_every_axis_but_that_of_the_shares(library):
    texts = list(map(format_rule, discover_slices(library, 0, frozenset({"Slice", "Softmax"}))))
    texts = [text for text in texts if "Softmax" in text]
    assert len(texts) == 9
    assert not any(f"axis={axis})" in text and f"axis={axis}," in text for text in texts for axis in (-1, -2, -3))


def test_shares_are_what_the_standard_says_in_several_words(library, op):
    names = frozenset({"Softmax", "ReduceMax", "ReduceSum", "Exp", "Sub", "Div", "Mul", "Reciprocal"})
    scalars = [parse_rule("Div(x, s) = Mul(x, Reciprocal(s)) where x[*any_x], s[*any_s]", op)]
    rules = discover_definitions(library, names, scalars)
    texts = list(map(format_rule, rules))
    said = f"Softmax(x; axis=-1) = Div({POWERS}, ReduceSum({POWERS}; axes=(-1,))) where x[*b, n]"
    assert said in texts
    assert any("Mul(" in text and "Reciprocal(" in text for text in texts)
    for rule in rules:
        assert prove_definition(op, rule) is None, format_rule(rule)


@pytest.mark.parametrize(
    "law",
    [
        "Softmax(Concat(x, y; axis=-1); axis=-1) = Concat(Softmax(x; axis=-1), Softmax(y; axis=-1); axis=-1) "
        "where x[*b, m], y[*b, n]",
        "Softmax(Transpose(x; perm=(-1, -2)); axis=-1) = Transpose(Softmax(x; axis=-1); perm=(-1, -2)) where x[n, n]",
        "Softmax(Add(x, y); axis=-1) = Softmax(x; axis=-1) where x[*b, n], y[n]",
        "Softmax(Mul(x, s); axis=-1) = Softmax(x; axis=-1) where x[*b, n], s[]",
    ],
)
def test_what_is_false_of_shares_is_refuted_and_not_proved(op, law):
    rule = parse_rule(law, op)
    assert prove_definition(op, rule) is not None
    assert isinstance(refute(op, rule), Counterexample)


def test_residues_divide_exactly_and_nothing_by_zero():
    modular, generator = ModularArrays(3), np.random.default_rng(0)
    x, y = (modular.random(generator, (1, 50)) for _ in range(2))
    np.testing.assert_array_equal(modular.multiply(modular.divide(x, y), y), x)
    np.testing.assert_array_equal(modular.divide(x, np.zeros_like(y)), np.zeros_like(x))


def has_shares(rule):
    return "Softmax" in rule.operators
