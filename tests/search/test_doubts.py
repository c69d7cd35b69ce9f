"""Outputs that would hide an error are named."""

import numpy as np
import pytest

from taso_opt.search.judging.doubts import doubts
from taso_opt.search.judging.feeds import nudged

A = np.linspace(-1, 1, 10).astype(np.float32)


def warnings(first, second, moved):
    return doubts([[np.asarray(first)], [np.asarray(second)]], None if moved is None else [np.asarray(moved)])


def test_an_output_that_follows_its_inputs_needs_no_warning():
    assert warnings(A, A[::-1].copy(), A * np.float32(1.05)) == ()


def test_a_constant_output_is_named():
    assert warnings(A, A, A) == ("output 0 does not react to the inputs: its agreement is weak evidence",)


def test_a_saturated_output_is_named_although_it_jumps_between_inputs():
    one, other = np.eye(4, dtype=np.float32)[0], np.eye(4, dtype=np.float32)[2]
    (said,) = warnings(one, other, one)
    assert said == (
        "output 0 does not follow small changes of the inputs, as saturated outputs do: its agreement is weak evidence"
    )


def test_a_whole_number_that_stays_under_small_changes_is_no_cause_for_concern():
    assert warnings([1, 2], [2, 1], [1, 2]) == ()


def test_outputs_with_nan_or_infinity_are_named_with_their_share():
    special = A.copy()
    special[:5] = np.nan
    (said,) = warnings(special, -special, special * np.float32(1.05))
    assert said == "output 0 is NaN or infinite in 50% of its elements: only their places are compared"


def test_without_a_second_set_of_inputs_nothing_is_known_of_reactions():
    assert doubts([[A]], [A * np.float32(1.05)]) == ()
    assert doubts([[np.array([1])]], None) == (
        "there is one set of inputs: whether the outputs react to others is not known",
    )


def test_a_sequence_may_be_shorter_in_another_run():
    nothing = np.full(10, np.nan, np.float32)
    assert doubts([[A, nothing], [A[::-1].copy()]], None) == (
        "output 1 is NaN or infinite in 100% of its elements: only their places are compared",
    )


def test_sequences_of_different_lengths_have_reacted():
    assert doubts([[A], [A, A]], None) == ()


def test_every_float_moves_by_five_per_cent_and_nothing_else_does():
    feed = {"x": A, "n": np.arange(3), "h": np.array([60000.0], np.float16)}
    moved = nudged(feed, 0)
    assert moved is not None
    np.testing.assert_allclose(np.abs(moved["x"] - A), np.abs(A) * 0.05, rtol=1e-4)
    assert moved["x"].dtype == np.float32 and moved["h"].dtype == np.float16
    assert moved["n"] is feed["n"]


@pytest.mark.parametrize("feed", [{}, {"n": np.arange(3)}, {"x": np.zeros((0, 2), np.float32)}])
def test_where_there_are_no_floats_nothing_moves(feed):
    assert nudged(feed, 0) is None
