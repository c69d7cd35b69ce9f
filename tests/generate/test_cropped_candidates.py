"""Of zeros around pixels a slice leaves fewer, and strides may reach none of them."""

import pytest

from taso_opt.generate.schemes.cropped import discover_cropped

PIXELS = "dilations=(1, 1), group=1"


def shifted(left="0, 0, 1, 0", kept="1, h, 0"):
    """A row of zeros behind and a slice without the first row."""
    source = "Slice(Pad(x; pads=(0, 0, 1, 0)); axis=-2, sizes=(1, h+1, 0))"
    return f"{source} = Pad(Slice(x; axis=-2, sizes=({kept})); pads=({left})) where x[*b, 1+h, w]"


def every_second(pads="0, 0, 1, 1"):
    """Windows at every second place with a row and column of zeros, the last ones, and without."""
    with_zeros, without = (f"Conv(x, y; {PIXELS}, pads=({some}), strides=(2, 2))" for some in (pads, "0, 0, 0, 0"))
    return f"{with_zeros} = {without} where x[n, c, 2*h+1, 2*w+1], y[m, c, 1, 1]"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_cropped(library, 0, frozenset(library.operators))


def test_slices_that_begin_inside_and_strides_that_reach_no_zeros_are_found(candidates, covers):
    assert covers(candidates, shifted())
    assert covers(candidates, every_second())
    assert len(candidates) == 2 * (4 + 1) + 1 + 2


def test_all_are_proved(candidates, proved):
    assert proved(candidates)


@pytest.mark.parametrize(
    "text",
    [shifted(left="1, 0, 0, 0"), shifted(kept="0, h, 1"), every_second(pads="1, 1, 0, 0")],
)
def test_other_zeros_another_slice_and_windows_that_reach_them_are_refuted(refuted, text):
    assert refuted(text)


def test_only_the_named_operators_are_tried(library):
    assert len(discover_cropped(library, 0, frozenset({"Pad", "Slice"}))) == 2 * (4 + 1)
    assert len(discover_cropped(library, 0, frozenset({"Pad", "Conv"}))) == 2
    assert discover_cropped(library, 0, frozenset({"Slice", "Conv"})) == ()
