"""Sizes: arithmetic, exact division and text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taso_opt.core.dims import Size, bind, divide, open_symbols, parse_dim, product, symbol, total
from taso_opt.core.quotients import parse_size, quotient
from taso_opt.errors import TypeMismatch

NAMES = ("m", "n", "k")
sizes = st.recursive(
    st.integers(-5, 5) | st.sampled_from([symbol(name) for name in NAMES]),
    lambda inner: (
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1])
        | st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1])
    ),
    max_leaves=6,
)
NUMBERS = {"m": 3, "n": 5, "k": 7}


@given(sizes, sizes)
def test_arithmetic_on_symbols_agrees_with_arithmetic_on_numbers(a, b):
    assert bind(a + b, NUMBERS) == bind(a, NUMBERS) + bind(b, NUMBERS)
    assert bind(a * b, NUMBERS) == bind(a, NUMBERS) * bind(b, NUMBERS)
    assert bind(a - b, NUMBERS) == bind(a, NUMBERS) - bind(b, NUMBERS)


@given(sizes, st.integers(1, 4), st.integers(1, 4))
def test_quotients_of_quotients_agree_with_those_of_numbers(a, first, second):
    assert bind(divide(divide(a, first) + 1, second), NUMBERS) == (bind(a, NUMBERS) // first + 1) // second


def test_a_quotient_is_bound_by_its_own_name_or_when_all_its_symbols_are():
    quotient = divide(symbol("m") + symbol("n"), 2)
    assert bind(quotient, {"m": 4}) == quotient
    assert bind(quotient, {"m": 4, "n": 3}) == 3
    assert bind(quotient, {str(quotient): 8, "m": 4, "n": 3}) == 8


def test_the_symbols_that_a_binding_lacks_are_those_of_quotients_too():
    quotient = divide(symbol("m") + symbol("n"), 2)
    assert list(open_symbols(divide(quotient, 3) + symbol("k"), {"n": 1})) == ["m", "k"]
    assert not list(open_symbols(quotient + 1, {str(quotient): 4}))
    assert not list(open_symbols(7, {}))


@given(sizes)
def test_the_text_of_a_size_is_read_back(size):
    assert parse_dim(str(size)) == size


def test_a_product_divides_exactly_by_its_factor():
    assert divide(symbol("g") * symbol("m"), symbol("g")) == symbol("m")
    assert divide(symbol("n") * 4, 2) == symbol("n") * 2


@given(sizes, st.integers(1, 4), st.integers(-9, 9))
def test_a_multiple_and_a_number_divide_as_numbers_do(a, divisor, number):
    quotient = divide(a * divisor + number, divisor)
    assert bind(quotient, NUMBERS) == (bind(a, NUMBERS) * divisor + number) // divisor
    assert divide(symbol("n") * divisor + number, divisor) == symbol("n") + number // divisor


def test_what_is_one_less_than_a_multiple_of_a_symbol_holds_it_one_time_less():
    k, n = symbol("k"), symbol("n")
    assert divide(k * n - 1, k) == n - 1
    assert bind(divide(k * n - 2, k), {"k": 1, "n": 5}) == 3
    assert bind(divide(k * n + 1, k), {"k": 1, "n": 5}) == 6


def test_an_inexact_quotient_is_one_opaque_symbol():
    quotient = divide(symbol("n") + 1, 2)
    assert isinstance(quotient, Size)
    assert quotient.symbol == "floor((n+1)/(2))"


def test_a_quotient_of_sizes_with_very_many_terms_is_not_looked_for(monkeypatch):
    steps, times = [], Size.__mul__
    monkeypatch.setattr(Size, "__mul__", lambda self, other: steps.append(other) or times(self, other))
    divisor = total([symbol("a"), *(symbol(f"b{at}") for at in range(40))])
    quotient = divide(product((symbol("a"),) * 20) + symbol("w"), divisor)
    assert len(quotient.terms) == 1
    assert len(steps) < 200


def test_terms_that_cancel_leave_a_number():
    assert symbol("n") + 3 - symbol("n") == 3


@pytest.mark.parametrize("text", ["", "n+", "2n", "a b", "n**2", "-"])
def test_malformed_sizes_are_refused(text):
    with pytest.raises(ValueError, match="expected"):
        parse_dim(text)


@pytest.mark.parametrize("text", ["n", "floor((n+1)/(2))", "2*floor((h)/(w))+3", "floor((floor((n)/(2))+1)/(2))", "*b"])
def test_sizes_with_quotients_are_read_back(text):
    assert str(parse_size(text)) == text


def test_the_parts_of_a_quotient_are_those_that_it_was_made_of():
    made = divide(symbol("n") + 1, symbol("k"))
    for name in (str(made), "floor((nowhere_else+1)/(k))"):
        dividend, divisor = quotient(name)
        assert f"floor(({dividend})/({divisor}))" == name


def test_no_size_has_more_factors_than_any_tensor_has():
    assert str(parse_dim("*".join("a" * 32))).count("a") == 32
    with pytest.raises(TypeMismatch, match="at most 32 factors"):
        parse_dim("*".join("a" * 33))
