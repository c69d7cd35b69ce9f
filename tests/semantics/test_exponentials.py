"""What is declared of functions in exponentials is what they compute, and what is known of exponentials is used."""

import numpy as np
import pytest
import z3

from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.exponentials import Exponentials
from taso_opt.spec.shared.transcendental import EXP, LOG, SIGMOID, TANH


@pytest.mark.parametrize("function", [SIGMOID, TANH], ids=lambda function: function.name)
def test_a_function_in_exponentials_has_the_values_of_the_function(function):
    points = np.linspace(-30, 30, 201)
    np.testing.assert_allclose(function.by_exponentials(FloatArrays(), points), function.real(points), atol=1e-12)


def follows(reals, claim):
    solver = z3.SimpleSolver()
    solver.add(z3.Not(claim), *reals.facts)
    return solver.check() == z3.unsat


def test_an_exponential_is_positive_and_grows():
    reals = Exponentials()
    x = reals.unknown("x")
    (power,) = reals.apply(EXP, x)
    assert follows(reals, power > 0) and follows(reals, z3.Implies(x[0] > 0, power > 1))
    assert not follows(reals, power > 1)


def test_the_exponential_of_a_sum_is_a_product_of_few():
    reals = Exponentials()
    x, y = reals.unknown("x"), reals.unknown("y")
    both, one, other = (reals.apply(EXP, value)[0] for value in (2 * x - y, x, y))
    assert follows(reals, both * other == one * one)
    assert follows(reals, reals.apply(EXP, x - x)[0] == 1)
    assert len(reals.facts) == 3 * 2


def test_nothing_false_is_known_of_parts_of_a_term_and_of_products():
    reals = Exponentials()
    x = reals.unknown("x")
    whole, *others = (reals.apply(EXP, value)[0] for value in (x, x * z3.Q(1, 2), x * x, x + 1))
    for other in others:
        assert not follows(reals, whole == other) and not follows(reals, whole == other * other)


def test_the_exponential_of_a_logarithm_is_known_of_positive_numbers_alone():
    reals = Exponentials()
    x = reals.unknown("x")
    again = reals.apply(EXP, reals.apply(LOG, x))[0]
    assert follows(reals, z3.Implies(x[0] > 0, again == x[0]))
    assert not follows(reals, again == x[0])
