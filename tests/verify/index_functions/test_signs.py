"""The positive part of a difference, whichever of two numbers is taken off the other."""

from fractions import Fraction

import pytest

from taso_opt.core.dims import symbol
from taso_opt.spec.shared.piecewise import RELU
from taso_opt.spec.shared.transcendental import SIGMOID, TANH
from taso_opt.spec.text import parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.index_functions.canonical import canonical
from taso_opt.verify.index_functions.elements import Access, Element, Image, Product, Sign
from taso_opt.verify.index_functions.signs import FACTS, NEVER_NEGATIVE, with_one_sign
from taso_opt.verify.index_functions.squares import is_never_negative

PLACE = symbol("i~0")
SIZE = symbol("n")
X, Y, Z = (Access(name, (PLACE,)) for name in "xyz")


def one(coefficient, *factors, bound=()):
    return Product(Fraction(coefficient), bound, factors)


def positive_part(*products):
    return Image(RELU.name, canonical(Element(products)), monotone=True)


def maximum(first, second):
    return Element((one(1, second), one(1, positive_part(one(1, first), one(-1, second)))))


def test_a_maximum_is_the_same_in_either_order():
    assert canonical(maximum(X, Y)) != canonical(maximum(Y, X))
    assert with_one_sign(maximum(X, Y)) == with_one_sign(maximum(Y, X))


def test_it_is_none_of_other_numbers():
    assert with_one_sign(maximum(X, Y)) != with_one_sign(maximum(X, Z))
    least = Element((one(1, X), one(-1, positive_part(one(1, X), one(-1, Y)))))
    assert with_one_sign(least) != with_one_sign(maximum(X, Y))
    assert with_one_sign(Element((one(1, positive_part(one(1, X))),))) != with_one_sign(
        Element((one(1, positive_part(one(-1, X))),))
    )


def test_a_positive_part_and_that_of_the_opposite_differ_by_the_number():
    both = one(1, positive_part(one(1, X))), one(-1, positive_part(one(-1, X)))
    assert with_one_sign(Element(both)) == Element((one(1, X),))


def test_products_of_positive_parts_are_multiplied_out():
    square = Element((one(1, positive_part(one(1, X)), positive_part(one(-1, X))),))
    again = Element((one(1, positive_part(one(-1, X)), positive_part(one(1, X))),))
    assert with_one_sign(square) == with_one_sign(again)


INSIDE = ((str(PLACE), SIZE),)


def test_the_positive_part_of_a_sum_of_squares_is_all_of_it():
    square = (one(1, X, X, bound=INSIDE), one(-2, X, Y, bound=INSIDE), one(1, Y, Y, bound=INSIDE), one(3, Z, Z))
    other, used = Access("w", (symbol("j"),)), {}
    wanted = Element(tuple(one(part.coefficient, *part.factors, other, bound=part.bound) for part in square))
    assert with_one_sign(Element((one(1, positive_part(*square), other),)), used) == canonical(wanted)
    assert list(used) == [NEVER_NEGATIVE]


def test_a_sum_that_comes_out_keeps_its_indices_apart_from_those_of_other_factors():
    square, gate = positive_part(one(1, X, X, bound=INSIDE)), Element((one(1, Y, bound=INSIDE),))
    beside = Image(TANH.name, canonical(gate), monotone=True)
    (found,) = with_one_sign(canonical(Element((one(1, square, beside),)))).products
    assert beside in found.factors, "the sum within the other function is still a sum"
    twice = with_one_sign(Element((one(1, square, positive_part(one(1, Y, Y, bound=INSIDE))),)))
    ((_, one_size), (_, other_size)) = twice.products[0].bound
    assert one_size == other_size == SIZE


def test_a_false_equation_about_a_sum_beside_a_function_of_another_is_not_proved(op):
    sides = "Mul(Relu(ReduceSum(Mul(x, x); axes=(-1,))), Tanh(ReduceSum(y; axes=(-1,)))) = "
    sides += "ReduceSum(Mul(Mul(x, x), {}); axes=(-1,))"
    types = "where x[m, k], y[m, k]"
    times_k = "ReduceSum(Expand(Reshape(y; shape=(m, k, 1)); shape=(m, k, k)); axes=(-1,))"
    assert prove_definition(op, parse_rule(f"{sides.format('Tanh(ReduceSum(y; axes=(-1,)))')} {types}", op)) is None
    false = sides.format(f"Tanh(Reshape({times_k}; shape=(m, k)))")
    assert prove_definition(op, parse_rule(f"{false} {types}", op)) is not None


@pytest.mark.parametrize(
    "products",
    [
        (one(1, X, Y, bound=INSIDE),),
        (one(1, X, X, bound=INSIDE), one(-3, X, Y, bound=INSIDE), one(1, Y, Y, bound=INSIDE)),
        (one(1, X, X, bound=INSIDE), one(-2, X, Y, bound=INSIDE), one(1, Y, Y)),  # summed over other indices
        (one(1, X, X), one(-1)),
        (one(1, X, X, X),),
    ],
)
def test_what_may_be_negative_is_not(products):
    assert not is_never_negative(canonical(Element(products)))


def test_what_has_a_sign_counts_as_it_is():
    positive, least = Access("x", (PLACE,), Sign.POSITIVE), Access("y", (PLACE,), Sign.NOT_NEGATIVE)
    assert is_never_negative(Element((one(1, positive, least, bound=INSIDE), one(1, least))))
    assert not is_never_negative(Element((one(1, positive, least), one(-1, least))))


def test_what_is_summed_up_inside_is_left_as_it_is():
    def image(scale):
        return Element((one(1, Image(RELU.name, Element((one(scale, X, bound=((str(PLACE), SIZE),)),)))),))

    for scale in (1, -1):
        assert with_one_sign(image(scale)) == canonical(image(scale))


def gate(scale, function=SIGMOID.name):
    """A function of a sum and a number: what goes into a gate, or its opposite."""
    inside = one(scale, X, bound=((str(PLACE), SIZE),)), one(scale, Y)
    return Image(function, Element(inside), monotone=True)


def test_one_less_a_gate_is_the_gate_of_the_opposite():
    less = Element((one(1, Z), one(-1, gate(1), Z)))
    turned = Element((one(1, gate(-1), Z),))
    assert canonical(less) != canonical(turned)
    assert with_one_sign(less) == with_one_sign(turned)
    assert with_one_sign(less) != with_one_sign(Element((one(1, gate(1), Z),)))


def test_no_other_function_is_one_less_that_of_the_opposite():
    less = Element((one(1, Z), one(-1, gate(1, TANH.name), Z)))
    assert with_one_sign(less) != with_one_sign(Element((one(1, gate(-1, TANH.name), Z),)))


def test_only_facts_that_something_rests_on_are_named():
    for element, facts in ((Element((one(1, gate(1)),)), {FACTS[SIGMOID.name]}), (Element((one(1, X),)), set())):
        used = {}
        with_one_sign(element, used)
        assert set(used) == facts
