import random
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from taso_opt.core.dims import bind, symbol
from taso_opt.verify.index_functions.canonical import canonical
from taso_opt.verify.index_functions.elements import (
    Access,
    Amount,
    Element,
    Guard,
    Image,
    Product,
    Reciprocal,
    guard_of,
)

A, B, C = (symbol(name) for name in ("i~0", "i~1", "i~2"))
M, N = symbol("m"), symbol("n")


def x(*place):
    return Access("x", place)


def one(coefficient, bound, *factors):
    return Product(Fraction(coefficient), tuple((str(name), size) for name, size in bound), factors)


def nested(inner):
    return Image("relu", Element((one(1, [(C, N)], x(inner, C)),)))


POOL = (x(A, B), x(B, A), x(A, 0), x(0, B), Guard(B - A), Amount("m"), nested(A), nested(B))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(POOL), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_names_of_bound_indices_and_orders_do_not_matter(factors, chance: random.Random):
    first = one(2, [(A, N), (B, N)], *factors)
    swapped = {A: B, B: A}
    renamed = [rename(factor, swapped) for factor in chance.sample(factors, len(factors))]
    second = one(2, [(A, N), (B, N)], *renamed)
    other = one(1, [], x(0, 0))
    assert canonical(Element((first, other))) == canonical(Element((other, second)))


def rename(factor, names):
    match factor:
        case Access(tensor, place):
            return Access(tensor, tuple(names.get(index, index) for index in place))
        case Guard():
            return Guard(A - B)
        case Image():
            return nested(B) if factor == nested(A) else nested(A)
    return factor


def test_different_roles_of_bound_indices_stay_different():
    bound = [(A, N), (B, N)]
    chained, separate = one(1, bound, x(A, B), x(B, A)), one(1, bound, x(A, B), x(A, B))
    assert canonical(Element((chained,))) != canonical(Element((separate,)))


def test_like_products_cancel_to_nothing():
    left, right = one(1, [(A, N)], x(A, 0)), one(-1, [(B, N)], x(B, 0))
    assert canonical(Element((left, right))) == Element(())


def test_a_sum_over_what_does_not_depend_on_the_index_is_a_multiple():
    assert canonical(Element((one(1, [(A, M + 1)], x(0, 0)),))) == canonical(
        Element((one(1, [], Amount("m"), x(0, 0)), one(1, [], x(0, 0))))
    )


def test_an_average_of_a_constant_is_the_constant_only_where_something_is_averaged():
    inside = Guard(M - A)
    count = canonical(Element((one(1, [(A, N)], inside),)))
    constant = Element((one(1, [], x(0, 0)),))
    assert canonical(Element((one(1, [(B, N)], Guard(M - B), x(0, 0), Reciprocal(count, True)),))) == constant
    assert canonical(Element((one(1, [(B, N)], Guard(M - B), x(0, 0), Reciprocal(count, False)),))) != constant
    assert canonical(Element((one(1, [(B, N)], Guard(M - B), x(B, 0), Reciprocal(count, True)),))) != constant


@given(st.integers(1, 4), st.integers(-9, 9), st.integers(-5, 5), st.integers(-5, 5))
def test_a_guard_without_what_its_coefficients_share_holds_for_the_same_numbers(shared, number, m, n):
    margin = (M - N * 2) * shared + number
    guard = guard_of(margin)
    assert (bind(guard.margin, {"m": m, "n": n}) >= 0) == (bind(margin, {"m": m, "n": n}) >= 0)
    assert guard == Guard(M - N * 2 + number // shared)
