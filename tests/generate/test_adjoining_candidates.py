"""What is taken of blocks that have axes of their own is a pooling whose windows lie side by side."""

import pytest

from taso_opt.generate.schemes.adjoining import discover_adjoining

POOLING = "AveragePool(x; count_include_pad=0, kernel=({kernel}), pads=(0, 0, 0, 0), strides=(k, l))"
TYPES = "where x[n, c, k*h, l*w]"


def of_blocks(shape="n, c, h, k, w, l", axes="-3, -1", kernel="k, l"):
    kept = ", ".join("1" if at - 6 in map(int, axes.split(", ")) else dim for at, dim in enumerate(shape.split(", ")))
    pooled = f"Reshape({POOLING.format(kernel=kernel)}; shape=({kept}))"
    return f"ReduceMean(Reshape(x; shape=({shape})); axes=({axes})) = {pooled} {TYPES}"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_adjoining(library, 0, frozenset(library.operators))


def test_means_over_lines_and_images_and_the_greatest_over_images_are_found(candidates, covers):
    assert covers(candidates, of_blocks())
    assert len(candidates) == 3


def test_all_are_proved(candidates, proved):
    assert proved(candidates)


@pytest.mark.parametrize("text", [of_blocks(shape="n, c, k, h, l, w", axes="-4, -2"), of_blocks(kernel="1, l")])
def test_other_elements_and_other_windows_are_refuted(refuted, text):
    assert refuted(text)


def test_only_the_named_operators_are_tried(library):
    assert len(discover_adjoining(library, 0, frozenset({"MaxPool", "ReduceMax", "Reshape"}))) == 1
    assert discover_adjoining(library, 0, frozenset({"AveragePool", "ReduceMean"})) == ()
