"""Sums of convolutions with kernels of two sizes become one, where pads and zeros fit, and nowhere else."""

import pytest

from taso_opt.core.term import Apply, postorder
from taso_opt.generate.schemes.kernels import discover_kernels

SMALL = "dilations=(1, 1), group=g, pads=(p, q, r, s), strides=(u, v)"
LARGE = "dilations=(1, 1), group=g, pads=(p+a, q+b, r+c, s+d), strides=(u, v)"
TYPES = "x[n, g*k, h, w], y[g*m, k, i, j], z[g*m, k, i+a+c, j+b+d]"


def merged(zeros, pads=LARGE):
    added = f"Add(Conv(x, y; {SMALL}), Conv(x, z; {LARGE}))"
    return f"{added} = Conv(x, Add(Enlarge(y; pads=({zeros})), z); {pads}) where {TYPES}"


WINDOWS = "dilations=(1, 1), group={group}, pads=(a, b, c, d), strides=(1, 1)"


SQUARE = "IdentityKernel(Expand(1; shape=(k, k, 1, 1)))"
REPEATED = f"Expand({SQUARE}; shape=(g, k, k, 1, 1))"
EACH_REPEATED = f"Expand(Reshape({SQUARE}; shape=(k, 1, k, 1, 1)); shape=(k, g, k, 1, 1))"


def of_groups(repeated=REPEATED):
    """An image and a convolution of its groups of channels."""
    windows = WINDOWS.format(group="g")
    kernel = f"Add(Enlarge(Reshape({repeated}; shape=(g*k, k, 1, 1)); pads=(a, b, c, d)), y)"
    types = "x[n, g*k, h, w], y[g*k, k, a+c+1, b+d+1]"
    return f"Add(Conv(x, y; {windows}), x) = Conv(x, {kernel}; {windows}) where {types}"


def of_image(zeros="a, b, c, d"):
    """A scaled image and a convolution of each of its channels."""
    windows = WINDOWS.format(group="g")
    kernel = f"Add(Enlarge(Reshape(z; shape=(g, 1, 1, 1)); pads=({zeros})), y)"
    types = "x[n, g, h, w], y[g, 1, a+c+1, b+d+1], z[g, 1, 1]"
    return f"Add(Conv(x, y; {windows}), Mul(x, z)) = Conv(x, {kernel}; {windows}) where {types}"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_kernels(library, 0, frozenset(library.operators))


def test_they_are_found_with_any_biases_for_any_pads_strides_and_groups(library, candidates, covers):
    pairs = [rule for rule in candidates if sum(map(is_conv, postorder(rule.source + rule.target))) == 3]
    assert len(pairs) == 4
    assert covers(pairs, merged("a, b, c, d"))
    biases = [sum(len(one.args) == 3 for one in postorder(rule.source + rule.target) if is_conv(one)) for rule in pairs]
    assert sorted(biases) == [0, 2, 2, 3]


def test_images_beside_a_convolution_are_found_scaled_or_not_in_groups_of_all_channels_some_or_one(candidates, covers):
    assert len(candidates) == 4 + 3 * 2 * 2
    assert covers(candidates, of_image())
    assert covers(candidates, of_groups())
    windows = WINDOWS.format(group=1)
    kernel = f"Add(y, Enlarge({SQUARE}; pads=(a, b, c, d)))"
    types = "x[n, k, h, w], y[k, k, a+c+1, b+d+1]"
    assert covers(candidates, f"Add(Conv(x, y; {windows}), x) = Conv(x, {kernel}; {windows}) where {types}")


def is_conv(term):
    return isinstance(term, Apply) and term.operator == "Conv"


def test_all_are_proved(candidates, proved):
    assert proved(candidates)


@pytest.mark.parametrize(
    "text",
    [
        merged("c, b, a, d"),
        merged("a, b, c, d", SMALL.replace("p, q", "p+a+c, q+b+d")),
        of_image("c, b, a, d"),
        of_groups(EACH_REPEATED),
    ],
)
def test_zeros_at_the_wrong_side_are_refuted(refuted, text):
    assert refuted(text)


def test_only_the_named_operators_are_tried(library):
    assert discover_kernels(library, 0, frozenset({"Add", "Conv"})) == ()
