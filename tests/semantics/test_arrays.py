"""Residues stay exact, whatever they are combined with."""

from fractions import Fraction

import numpy as np

from taso_opt.semantics.arrays import ModularArrays


def test_a_constant_is_a_residue_and_dividing_it_undoes_multiplying_with_it():
    xp = ModularArrays()
    residues = xp.random(np.random.default_rng(0), (50,))
    third = xp.constant(Fraction(1, 3))
    assert third.dtype == np.int64
    assert (xp.multiply(xp.multiply(residues, third), xp.constant(Fraction(3))) == residues).all()
    inverse = xp.divide(xp.constant(Fraction(1)), residues)
    assert (xp.multiply(inverse, residues) == 1).all()
