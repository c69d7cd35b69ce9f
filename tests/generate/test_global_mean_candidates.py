"""The mean over all pixels passes what is linear, pointwise convolutions with a bias included, proved at all sizes."""

import pytest

from taso_opt.generate.schemes.definitions import discover_definitions
from taso_opt.generate.schemes.means import discover_means
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition

POINTWISE = "dilations=(d_h, d_w), group=g, pads=(0, 0, 0, 0), strides=(1, 1)"
LAWS = [
    f"GlobalAveragePool(Conv(x, y, z; {POINTWISE})) = Conv(GlobalAveragePool(x), y, z; {POINTWISE}) "
    "where x[n, g*c, h, w], y[g*m, c, 1, 1], z[g*m]",
    f"GlobalAveragePool(Conv(x, y; {POINTWISE})) = Conv(GlobalAveragePool(x), y; {POINTWISE}) "
    "where x[n, g*c, h, w], y[g*m, c, 1, 1]",
    "GlobalAveragePool(Mul(x, y)) = Mul(GlobalAveragePool(x), y) where x[n, c, h, w], y[c, 1, 1]",
    "GlobalAveragePool(Add(x, y)) = Add(GlobalAveragePool(x), y) where x[n, c, h, w], y[n, c, 1, 1]",
    "GlobalAveragePool(Concat(x, y; axis=-3)) = Concat(GlobalAveragePool(x), GlobalAveragePool(y); axis=-3) "
    "where x[n, c, h, w], y[n, m, h, w]",
]
FALSE = [
    "GlobalAveragePool(Mul(x, y)) = Mul(GlobalAveragePool(x), GlobalAveragePool(y)) where x[n, c, h, w], y[n, c, h, w]",
    "GlobalAveragePool(Relu(x)) = Relu(GlobalAveragePool(x)) where x[n, c, h, w]",
    f"GlobalAveragePool(Conv(x, y; {POINTWISE.replace('0, 0, 0, 0', '1, 1, 1, 1')})) = "
    f"Conv(GlobalAveragePool(x), y; {POINTWISE}) where x[n, g*c, h, w], y[g*m, c, 1, 1]",
]


@pytest.fixture(scope="module")
def found(library):
    rules = discover_means(library, 0, frozenset(library.operators))
    return [rule for rule in rules if "GlobalAveragePool" in format_rule(rule)]


@pytest.mark.parametrize("law", LAWS)
def test_the_mean_over_pixels_passes_what_is_linear(found, covers, law):
    assert covers(found, law)


def test_what_is_found_of_the_mean_over_pixels_is_proved_at_all_sizes(found, op):
    assert len(found) == 14
    for rule in found:
        assert prove_definition(op, rule) is None, format_rule(rule)


@pytest.mark.parametrize("text", FALSE)
def test_what_the_mean_over_pixels_does_not_pass_is_not_proved(op, text):
    assert prove_definition(op, parse_rule(text, op)) is not None


def test_the_mean_over_pixels_is_a_mean_over_the_last_axes_of_signals_images_and_volumes(library, op):
    rules = discover_definitions(library, frozenset({"GlobalAveragePool", "ReduceMean"}), ())
    assert list(map(format_rule, rules)) == [
        "GlobalAveragePool(x) = ReduceMean(x; axes=(-1,)) where x[n, c, h]",
        "GlobalAveragePool(x) = ReduceMean(x; axes=(-2, -1)) where x[n, c, h, w]",
        "GlobalAveragePool(x) = ReduceMean(x; axes=(-3, -2, -1)) where x[n, c, d, h, w]",
    ]
    for rule in rules:
        assert prove_definition(op, rule) is None, format_rule(rule)
