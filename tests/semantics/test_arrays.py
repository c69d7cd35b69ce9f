"""Residues stay exact, whatever they are combined with; places are looked up in any interpretation."""

from fractions import Fraction

import numpy as np
import pytest

from taso_opt.semantics.arrays import FloatArrays, ModularArrays
from taso_opt.semantics.free import FreeArrays


def test_a_constant_is_a_residue_and_dividing_it_undoes_multiplying_with_it():
    xp = ModularArrays()
    residues = xp.random(np.random.default_rng(0), (50,))
    third = xp.constant(Fraction(1, 3))
    assert third.dtype == np.int64
    assert (xp.multiply(xp.multiply(residues, third), xp.constant(Fraction(3))) == residues).all()
    inverse = xp.divide(xp.constant(Fraction(1)), residues)
    assert (xp.multiply(inverse, residues) == 1).all()


@pytest.mark.parametrize("axis", [-3, -2, -1])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_a_lookup_takes_what_numpy_takes_whatever_the_samples(axis, shape):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((3, 4, 5, 6))
    at = generator.integers(-x.shape[axis], x.shape[axis], (3, *shape))
    found = FloatArrays().gather(x, at, axis)
    for sample in range(3):
        np.testing.assert_array_equal(found[sample], np.take(x[sample], at[sample], axis))
    alone = FloatArrays().gather(x[:1], at[:1], axis)
    np.testing.assert_array_equal(alone[0], found[0])


def test_any_number_names_a_place():
    """Residues, hashes and random floats are no whole numbers below a size."""
    x = np.arange(4.0).reshape(1, 4)
    np.testing.assert_array_equal(FloatArrays().gather(x, np.array([[1.7, -0.3, 9.0]]), -1), [[1, 3, 1]])
    hashes = np.array([[2**64 - 1, 6]], np.uint64)
    np.testing.assert_array_equal(FreeArrays().gather(x, hashes, -1), [[3, 2]])
