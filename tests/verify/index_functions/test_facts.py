from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taso_opt.core.dims import divide, parse_dim, symbol
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.indices import replaced
from taso_opt.verify.index_functions.reshaping import quotient_and_rest

LEAST = {"p": 0}
SPAN = parse_dim("h+p-k")


def known():
    """Sizes h, k, s of at least 1, a pad p below k, an index o over windows and an index t inside one."""
    facts = Facts(LEAST)
    facts.suppose(SPAN, "a window fits")
    facts.suppose(parse_dim("k-p-1"), "pads are small")
    return facts, facts.fresh(divide(SPAN, symbol("s")) + 1), facts.fresh(symbol("k"))


def worlds(first, tap):
    """All small numbers that agree with what is known."""
    for h, k, s, p in product(range(1, 5), range(1, 4), range(1, 4), range(3)):
        if h + p - k < 0 or k - p - 1 < 0:
            continue
        for o, t in product(range((h + p - k) // s + 1), range(k)):
            yield {"h": h, "k": k, "s": s, "p": p, str(first): o, str(tap): t}


COEFFICIENTS = st.integers(-2, 2)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(COEFFICIENTS, st.lists(COEFFICIENTS, min_size=8, max_size=8))
def test_what_is_proved_not_negative_never_is(constant, weights):
    facts, first, tap = known()
    h, k, s, p = map(symbol, "hksp")
    summands = (h, k, s, p, first, tap, first * s, first * k)
    margin = sum((part * weight for part, weight in zip(summands, weights, strict=True) if weight), constant)
    if facts.proves(margin):
        assert all(replaced(margin, world) >= 0 for world in worlds(first, tap))


@pytest.mark.parametrize(
    ("margin", "holds"),
    [
        ("h+p-k-o*s", True),  # a window starts inside the padded image
        ("h-1-o*s+p", True),  # and meets the image, as pads are below the kernel size
        ("k-1-p+o*s", True),
        ("h-1-o*s", True),
        ("h-2-o*s", False),
        ("h-1-t", False),
        ("o*s-p", False),
        ("s*o-o", True),
        ("h*k-1", True),
        ("k-p-2", False),
    ],
)
def test_what_windows_need_is_proved_and_nothing_more(margin, holds):
    facts, first, tap = known()
    assert facts.proves(replaced(parse_dim(margin), {"o": first, "t": tap})) == holds


def test_a_quotient_is_worked_out_only_where_the_rest_fits():
    facts = Facts({})
    row, column, far = facts.fresh(symbol("n")), facts.fresh(symbol("m")), facts.fresh(symbol("m") + 1)
    assert quotient_and_rest(facts, row * symbol("m") + column, symbol("m")) == (row, column)
    quotient, rest = quotient_and_rest(facts, row * symbol("m") + far, symbol("m"))
    assert quotient == divide(row * symbol("m") + far, symbol("m"))
    for n, m in product(range(1, 3), repeat=2):
        for i, k in product(range(n), range(m + 1)):
            world = {"n": n, "m": m, str(row): i, str(far): k}
            assert (replaced(quotient, world), replaced(rest, world)) == divmod(i * m + k, m)
