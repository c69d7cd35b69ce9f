"""Values at points give a convolution's outputs exactly, whatever the points, in whole numbers but for the kernel."""

from fractions import Fraction

import numpy as np
import pytest

from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec.shared.interpolation import of_inputs, of_ones, of_outputs, of_taps, taps_of, tile_of

SETS = [
    (((0, 1), (1, 1), (-1, 1), (1, 0)), 3),
    (((0, 1), (1, 2), (-3, 1), (2, 5), (1, 0)), 2),
    (((0, 1), (2, 3), (-2, 3), (3, 2), (-3, 2), (1, 0)), 3),
    (((0, 1), (2, 3), (-2, 3), (3, 2), (-3, 2), (1, 0)), 5),
    (((5, 1), (1, 7), (1, 1)), 3),
]


@pytest.mark.parametrize(("points", "taps"), SETS)
def test_outputs_are_those_of_the_convolution_in_exact_arithmetic(points, taps):
    outputs, inputs, kernels = of_outputs(points, taps), of_inputs(points), of_taps(points, taps)
    generator = np.random.default_rng(len(points))
    image, filters = (
        [Fraction(int(one), 7) for one in generator.integers(-9, 9, size)] for size in (len(points), taps)
    )
    products = [_dot(row, image) * _dot(other, filters) for row, other in zip(inputs, kernels, strict=True)]
    expected = [_dot(filters, image[at : at + taps]) for at in range(tile_of(points, taps))]
    assert [_dot(row, products) for row in outputs] == expected


@pytest.mark.parametrize(("points", "taps"), SETS)
def test_products_that_give_ones_give_only_ones(points, taps):
    assert [_dot(row, of_ones(points, taps)) for row in of_outputs(points, taps)] == [1] * tile_of(points, taps)


@pytest.mark.parametrize(("points", "taps"), SETS)
def test_images_and_outputs_are_multiplied_with_whole_numbers(points, taps):
    values = [value for row in (*of_outputs(points, taps), *of_inputs(points)) for value in row]
    assert all(value.denominator == 1 for value in values)


@pytest.mark.parametrize(
    "points", [((0, 1), (1, 0)), ((1, 2), (2, 4), (1, 0)), ((1, 0), (2, 0), (0, 1)), ((0, 0), (1, 1), (1, 0))]
)
def test_points_that_are_too_few_or_the_same_are_refused(points):
    with pytest.raises(TypeMismatch, match="expected at least 3 points that differ for 3 taps, found"):
        tile_of(points, 3)


@pytest.mark.parametrize("shape", [(2, 3, 3), (2, 3, 3, 5)])
def test_kernels_with_other_than_two_equal_axes_of_taps_are_refused(shape):
    with pytest.raises(TypeMismatch, match="expected a kernel with as many rows as columns of taps for Winograd"):
        taps_of("Winograd", TensorType("float32", shape), SETS[0][0])


def _dot(left, right):
    return sum((one * other for one, other in zip(left, right, strict=True)), Fraction(0))
