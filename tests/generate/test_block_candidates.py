"""Convolutions of blocks of pixels become convolutions of the image, in every way to take the pixels."""

import pytest

from taso_opt.generate.schemes.blocks import discover_blocks

TYPES = "where x[n, c, 2*h, 2*w], y[m, 4*c, i, j]"
BLOCKS = "dilations=(1, 1), group=1, pads=(p, q, r, s), strides=(1, 1)"
PIXELS = "dilations=(1, 1), group=1, pads=({pads}), strides=(2, 2)"


def pixels(kernel, pads="2*p, 2*q, 2*r, 2*s"):
    return f"Conv(x, {kernel}; {PIXELS.format(pads=pads)}) {TYPES}"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_blocks(library, 0, frozenset(library.operators))


BY_COLUMNS = "Transpose(DepthToSpace(Transpose(y; perm=(-1, -2)); block=2); perm=(-1, -2))"


def moved(perm):
    apart = f"Transpose(Reshape(x; shape=(n, c, h, 2, w, 2)); perm=({perm}))"
    return f"Conv(Reshape({apart}; shape=(n, 4*c, h, w)), y; {BLOCKS}) = {pixels(BY_COLUMNS)}"


def test_they_are_found_with_and_without_bias_for_three_ways_to_take_pixels_and_two_orders(candidates, covers):
    assert covers(candidates, f"Conv(SpaceToDepth(x; block=2), y; {BLOCKS}) = {pixels('DepthToSpace(y; block=2)')}")
    assert covers(candidates, moved("-1, -3, -5, -4, -2"))
    assert len(candidates) == 2 * 2 + 3 * (1 + 2 * 2)


def test_all_are_proved(candidates, proved):
    assert proved(candidates)


@pytest.mark.parametrize(
    "text",
    [
        f"Conv(SpaceToDepth(x; block=2), y; {BLOCKS}) = {pixels(BY_COLUMNS)}",
        f"Conv(SpaceToDepth(x; block=2), y; {BLOCKS}) = {pixels('DepthToSpace(y; block=2)', '2*p+1, 2*q, 2*r-1, 2*s')}",
        moved("-3, -1, -5, -4, -2"),
    ],
)
def test_pixels_of_a_block_in_another_order_and_windows_at_other_places_are_refuted(refuted, text):
    assert refuted(text)


def test_only_the_named_operators_are_tried(library):
    assert len(discover_blocks(library, 0, frozenset({"Conv", "DepthToSpace", "SpaceToDepth"}))) == 2
    assert discover_blocks(library, 0, frozenset({"Conv"})) == ()
