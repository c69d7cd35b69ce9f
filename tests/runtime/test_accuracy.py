"""Comparing outputs, the yardstick, and whether outputs react to inputs."""

import numpy as np
import pytest

from taso_opt.errors import MismatchError
from taso_opt.runtime import compare_outputs, sensitivity, yardstick

F32 = np.float32


def test_equal_outputs_agree_with_no_error():
    arrays = [np.array([1.0, np.nan, -np.inf], F32), np.array([1, 2]), np.array(["a"], object), np.array(True)]
    result = compare_outputs(arrays, [array.copy() for array in arrays])
    assert result.agrees
    assert (result.max_abs, result.max_rel, result.reasons) == (0.0, 0.0, ())


def test_the_relative_error_is_measured_at_the_scale_of_the_output():
    reference = np.array([3.0, 4.0, 0.0, 0.0])
    other = np.array([3.0, 4.0, 0.0, 0.5])
    result = compare_outputs([reference], [other], 0.1)
    assert result.max_abs == 0.5
    assert result.max_rel == pytest.approx(0.5 / 2.5)  # rms of 3, 4, 0, 0 is 2.5
    assert not result.agrees
    assert compare_outputs([reference], [other], 0.21).agrees


def test_a_large_element_is_measured_at_its_own_scale():
    reference = np.array([100.0] + [0.0] * 9999)
    result = compare_outputs([reference], [np.where(reference, 101.0, 0.0)], 0.02)
    assert result.max_rel == pytest.approx(0.01)
    assert result.agrees


def test_the_scale_of_huge_values_does_not_overflow():
    reference = np.array([1e300, -1e300])
    assert compare_outputs([reference], [reference * 1.01]).max_rel == pytest.approx(0.01)


def test_an_output_of_zeros_is_judged_at_scale_one():
    zeros = np.zeros(3, F32)
    assert compare_outputs([zeros], [zeros + F32(1e-5)]).agrees
    assert not compare_outputs([zeros], [zeros + F32(1e-3)]).agrees


@pytest.mark.parametrize(
    ("reference", "other"),
    [
        ([np.nan, 1.0], [1.0, np.nan]),
        ([1.0, 1.0], [1.0, np.nan]),
        ([np.inf, 1.0], [-np.inf, 1.0]),
        ([np.inf, 1.0], [3e38, 1.0]),
        ([np.inf, 1.0], [np.nan, 1.0]),
    ],
)
def test_nan_and_inf_must_stand_at_the_same_places(reference, other):
    result = compare_outputs([np.array(reference, F32)], [np.array(other, F32)], 1e9)
    assert result.reasons == ("expected NaN and Inf at the same places of output 0, found them elsewhere",)


@pytest.mark.parametrize(
    ("reference", "other"),
    [
        (np.array([1, 2, 3]), np.array([1, 2, 4])),
        (np.array([True, False, True]), np.array([True, True, True])),
        (np.array(["a", "b", "c"], object), np.array(["a", "b", "d"], object)),
    ],
)
def test_integers_booleans_and_strings_must_be_equal(reference, other):
    result = compare_outputs([reference], [other], 1e9)
    assert result.reasons == (f"expected equal {reference.dtype} values at output 0, found 1 that differ",)


def test_another_shape_type_or_number_of_outputs_is_a_mismatch():
    one = np.ones((2, 3), F32)
    assert compare_outputs([one], [one.T]).reasons == ("expected float32[2, 3] at output 0, found float32[3, 2]",)
    assert not compare_outputs([one], [one.astype(np.float64)]).agrees
    with pytest.raises(MismatchError, match="expected 1 outputs, found 2"):
        compare_outputs([one], [one, one])


def test_each_output_has_its_own_tolerance_and_the_default_depends_on_the_type():
    reference = [np.ones(2, F32), np.ones(2), np.ones(2, np.float16)]
    other = [array * array.dtype.type(1.005) for array in reference]
    assert [output.agrees for output in compare_outputs(reference, other).outputs] == [False, False, True]
    result = compare_outputs(reference, other, [0.01, 0.01, 0.001])
    assert [output.agrees for output in result.outputs] == [True, True, False]
    assert "output 2" in result.reasons[0]


def test_scalars_and_empty_outputs_are_compared():
    assert compare_outputs([np.array(2.0), np.empty((0, 3))], [np.array(2.0), np.empty((0, 3))]).agrees
    assert compare_outputs([np.array(2.0)], [np.array(3.0)]).max_rel == 0.5


def test_the_yardstick_is_twice_the_runtimes_own_difference():
    one = np.ones(4, F32)
    assert yardstick([one], [one]) == (1e-4,)
    assert yardstick([one], [one * F32(1.001)])[0] == pytest.approx(2e-3, rel=1e-3)


def test_the_yardstick_has_a_ceiling_and_ignores_what_is_no_number():
    one = np.ones(4, F32)
    assert yardstick([one], [one * 2])[0] == pytest.approx(0.1)
    assert yardstick([one], [one * F32(np.nan)]) == (1e-4,)
    assert yardstick([np.ones(1, np.float16)], [np.full(1, 3, np.float16)]) == (0.1,)
    assert yardstick([np.array([1])], [np.array([2])]) == (0.0,)


def test_an_output_that_does_not_react_is_told_apart():
    constant = np.array([0.0, 1.0, 0.0], F32)
    first = [constant, np.array([1.0, 2.0], F32), np.array([3, 3]), np.array([3, 4]), np.empty(0, F32)]
    second = [constant + F32(1e-7), np.array([1.0, 5.0], F32), np.array([3, 3]), np.array([3, 5]), np.empty(0, F32)]
    reactions = sensitivity(first, second)
    assert [reaction.reacts for reaction in reactions] == [False, True, False, True, True]
    assert reactions[1].changed == 0.5
    assert reactions[1].max_rel == 1.5  # 3 relative to |2|, since the rms of 1 and 2 is smaller
    assert reactions[3].changed == 0.5


def test_an_output_whose_size_or_nan_depends_on_the_inputs_reacts():
    assert sensitivity([np.ones(2)], [np.ones(3)])[0].reacts
    (reaction,) = sensitivity([np.array([1.0, np.nan])], [np.array([np.nan, np.nan])])
    assert reaction.reacts
    assert reaction.changed == 0.5
