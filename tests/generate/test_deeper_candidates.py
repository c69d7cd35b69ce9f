"""Pools whose terms have one operator more than asked: what takes three joins at once is found, and little else."""

from collections import Counter
from dataclasses import replace

import pytest

from taso_opt.core.term import Apply, Item, Term, Var
from taso_opt.generate import GenerateSettings, generate
from taso_opt.generate.enumeration.families import BIASED_GROUPS, BIASED_SUMS
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition

OPERATORS = ("Conv", "Concat", "Split")
ONE = "dilations=(d_h, d_w), group=1, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
BOTH = ONE.replace("group=1", "group=2")
TYPES = "x[n, c, h, w], f[m, c, i, j], a[m], y[n, c, h, w], g[m, c, i, j], b[m]"
GROUPED = f"Conv(Concat(x, y; axis=-3), Concat(f, g; axis=-4), Concat(a, b; axis=-1); {BOTH})"
PARTS = ", ".join(f"Split({GROUPED}; axis=-3, sizes=(m, m))[{part}]" for part in range(2))
JOINED = f"Concat(Conv(x, f, a; {ONE}), Conv(y, g, b; {ONE}); axis=-3) = {GROUPED} where {TYPES}"
MERGED = f"(Conv(x, f, a; {ONE}), Conv(y, g, b; {ONE})) = ({PARTS}) where {TYPES}"


@pytest.fixture
def found(discovered):
    return discovered(BIASED_GROUPS.name, ", ".join(OPERATORS))


@pytest.mark.parametrize("law", [JOINED, MERGED])
def test_convolutions_with_biases_side_by_side_are_found_and_proved(found, covers, op, law):
    assert covers(found, law)
    assert prove_definition(op, parse_rule(law, op)) is None


def test_they_have_more_operators_than_other_pools_may(library, covers):
    settings, shallow = GenerateSettings(OPERATORS, jobs=1), replace(BIASED_GROUPS, deeper=0)
    found = generate(library, settings, pools=[shallow]).candidates
    assert found
    assert not covers(found, JOINED)


def test_no_variable_stands_twice_in_a_term(found):
    assert found
    for rule in found:
        for term in rule.roots:
            assert set(_places(term).values()) == {1}, format_rule(rule)


def test_sums_of_convolutions_with_biases_are_found_though_they_follow_in_two_steps(discovered, covers, op):
    """By way of a bias that is taken off one of them, which loses at each operand of a longer sum."""
    found = discovered(BIASED_SUMS.name, "Conv, Add, Concat")
    law = (
        f"Add(Conv(x, f, a; {ONE}), Conv(y, g, b; {ONE})) = "
        f"Conv(Concat(x, y; axis=-3), Concat(f, g; axis=-3), Add(a, b); {ONE}) "
        "where x[n, c, h, w], f[m, c, i, j], a[m], y[n, d, h, w], g[m, d, i, j], b[m]"
    )
    apart = (
        f"Add(Conv(x, f, a; {ONE}), Conv(y, g, b; {ONE})) = Add(Conv(y, g; {ONE}), Conv(x, f, Add(a, b); {ONE})) "
        "where x[n, c, h, w], f[m, c, i, j], a[m], y[n, d, h, w], g[m, d, i, j], b[m]"
    )
    assert covers(found, law)
    assert covers(found, apart)
    assert prove_definition(op, parse_rule(law, op)) is None


def _places(term: Term) -> Counter[str]:
    """How often each variable stands in a term, in common parts each time; both parts of a split are in one place."""
    if isinstance(term, Var):
        return Counter([term.name])
    inner = term.term if isinstance(term, Item) else term
    assert isinstance(inner, Apply)
    return sum(map(_places, inner.args), Counter())
