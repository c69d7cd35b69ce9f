"""Every so many pixels of what windows at every pixel give is what windows at every so many pixels give."""

import pytest

from taso_opt.generate.schemes.means import discover_means
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition

CONV = "dilations=(d_h, d_w), group=g, pads=(p_t, p_l, p_b, p_r), strides=({})"
POOL = "dilations=(d_h, d_w), kernel=(k_h, k_w), pads=(p_t, p_l, p_b, p_r), strides=({})"
MEAN = "count_include_pad={}, kernel=(k_h, k_w), pads=(p_t, p_l, p_b, p_r), strides=({})"
IMAGES = "x[n, g*c, h, w], y[g*m, c, i, j]"
LAWS = [
    f"Subsample(Conv(x, y; {CONV.format('1, 1')}); strides=(s, t)) = Conv(x, y; {CONV.format('s, t')}) where {IMAGES}",
    f"Subsample(Conv(x, y, z; {CONV.format('1, 1')}); strides=(s, t)) = Conv(x, y, z; {CONV.format('s, t')}) "
    f"where {IMAGES}, z[g*m]",
    f"Subsample(MaxPool(x; {POOL.format('1, 1')}); strides=(s, t)) = MaxPool(x; {POOL.format('s, t')}) "
    "where x[n, c, h, w]",
    *(
        f"Subsample(AveragePool(x; {MEAN.format(count, '1, 1')}); strides=(s, t)) = "
        f"AveragePool(x; {MEAN.format(count, 's, t')}) where x[n, c, h, w]"
        for count in (0, 1)
    ),
]


@pytest.fixture(scope="module")
def found(library):
    return discover_means(library, 0, frozenset({"Subsample", "Conv", "MaxPool", "AveragePool", "Relu"}))


@pytest.mark.parametrize("law", LAWS)
def test_windows_take_over_the_steps_behind_them(found, covers, law):
    assert covers(found, law)


def test_what_is_found_of_steps_is_proved_at_all_sizes(found, op):
    assert len(found) == len(LAWS)
    for rule in found:
        assert prove_definition(op, rule) is None, format_rule(rule)


def test_pixels_from_another_place_on_are_not_those_of_strided_windows(op):
    first, second = (
        "dilations=(1, 1), group=1, pads=({}), strides=({})".format(*one)
        for one in (("0, 0, 1, 1", "1, 1"), ("1, 1, 0, 0", "2, 2"))
    )
    wrong = f"Subsample(Conv(x, y; {first}); strides=(2, 2)) = Conv(x, y; {second}) where x[n, c, h, w], y[m, c, i, j]"
    assert prove_definition(op, parse_rule(wrong, op)) is not None
