"""Shuffled channels pass convolutions into weights, and blocks of pixels have their channels in either order."""

import pytest

from taso_opt.generate.schemes.shuffled import discover_shuffled

WINDOWS = "dilations=(d, e), group={group}, pads=(p, q, r, s), strides=(t, u)"
CLOSE = "dilations=(1, 1), group=1, pads=(p, q, r, s), strides=(1, 1)"
INPUTS = "x[n, g*m, h, w], y[o, g*m, i, j]"
OUTPUTS = "x[n, o, h+i-1*p-1*r-1, w+j-1*q-1*s-1], y[c*k*k, o, i, j]"


def shuffled(term, shape, at, sizes):
    """A Reshape, a Transpose of two axes that the sizes say, and a Reshape, of a shape of which one axis is cut."""
    behind = len(shape) - at - 1
    apart = ", ".join([*shape[:at], *sizes, *shape[at + 1 :]])
    turned = ", ".join(map(str, (-behind - 1, -behind - 2, *range(-behind, 0))))
    return f"Reshape(Transpose(Reshape({term}; shape=({apart})); perm=({turned})); shape=({', '.join(shape)}))"


def in_another_order(group, sizes):
    image = shuffled("x", ("n", "g*m", "h", "w"), 1, ("g", "m"))
    kernel = shuffled("y", ("o", "g*m", "i", "j"), 1, sizes)
    windows = WINDOWS.format(group=group)
    return f"Conv({image}, y; {windows}) = Conv(x, {kernel}; {windows}) where {INPUTS}"


def with_blocks(sizes):
    apart = f"Reshape(Conv(x, y; {CLOSE}); shape=(n, c, k, k, h, w))"
    kernel = shuffled("y", ("c*k*k", "o", "i", "j"), 0, sizes)
    moved = f"Reshape(Transpose({apart}; perm=(-2, -4, -1, -3)); shape=(n, c, h*k, k*w))"
    return f"{moved} = DepthToSpace(Conv(x, {kernel}; {CLOSE}); block=k) where {OUTPUTS}"


def with_channels_last(perm):
    apart = f"Transpose(Reshape(Transpose(x; perm=(-2, -1, -3)); shape=(n, h, w, g, m)); perm=({perm}))"
    image = shuffled("x", ("n", "g*m", "h", "w"), 1, ("g", "m"))
    return f"Transpose(Reshape({apart}; shape=(n, h, w, g*m)); perm=(-1, -3, -2)) = {image} where x[n, g*m, h, w]"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_shuffled(library, 0, frozenset(library.operators))


def test_shuffles_before_and_behind_convolutions_and_blocks_are_found_with_and_without_bias(candidates, covers):
    assert covers(candidates, in_another_order(1, ("m", "g")))
    assert covers(candidates, with_blocks(("c", "k*k")))
    assert covers(candidates, with_channels_last("-1, -2"))
    assert len(candidates) == 3 * 2 + 1


def test_all_are_proved(candidates, proved):
    assert proved(candidates)


@pytest.mark.parametrize(
    "text",
    [in_another_order(1, ("g", "m")), with_blocks(("k*k", "c")), with_channels_last("-2, -1, -3")],
)
def test_weights_and_channels_in_another_order_are_refuted(refuted, text):
    assert refuted(text)


def test_only_the_named_operators_are_tried(library):
    assert len(discover_shuffled(library, 0, frozenset({"Conv", "Reshape", "Transpose"}))) == 2 * 2 + 1
    assert discover_shuffled(library, 0, frozenset({"Conv", "Reshape"})) == ()
