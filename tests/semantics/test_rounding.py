"""Values are compared up to rounding, and infinities by nothing."""

import numpy as np
import pytest

from taso_opt.semantics.rounding import far_apart


@pytest.mark.filterwarnings("error")
def test_what_is_not_finite_on_either_side_is_not_compared():
    left = np.array([np.inf, -np.inf, np.nan, 1.0, np.inf, 1.0])
    right = np.array([np.inf, np.inf, 1.0, np.inf, 1.0, 2.0])
    assert far_apart(left, right).tolist() == [False] * 5 + [True]


def test_small_differences_are_those_beside_the_value_or_the_largest_of_its_output():
    assert not far_apart(np.array([1.0, 500.0]), np.array([1.0 + 1e-7, 500.0])).any()
    assert far_apart(np.array([1.0, 1.0]), np.array([1.0 + 1e-7, 1.0])).tolist() == [True, False]
