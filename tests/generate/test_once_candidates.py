"""What computes repeated rows, matrices or pixels one by one computes each of them once, before they are repeated."""

import pytest

from taso_opt.generate.equations.canonical import canonical
from taso_opt.generate.schemes.expansions import discover_expansions
from taso_opt.generate.schemes.repeats import discover_repeats
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition

LINE = "dilations=(1,), group=g, pads=(0, 0), strides=(1,)"
IMAGE = "dilations=(d_h, d_w), group=g, pads=(0, 0, 0, 0), strides=(1, 1)"
PADDED = "dilations=(1, 1), group=g, pads=(1, 1, 1, 1), strides=(1, 1)"
ONCE = [
    "MatMul(Expand(x; shape=(*b, n, m)), y) = Expand(MatMul(x, y); shape=(*b, n, k)) where x[*b, 1, m], y[m, k]",
    "MatMul(Expand(x; shape=(*b, p, n, m)), y) = Expand(MatMul(x, y); shape=(*b, p, n, k)) "
    "where x[*b, 1, n, m], y[m, k]",
    f"Conv(Expand(x; shape=(m, g*n, k)), y; {LINE}) = Expand(Conv(x, y; {LINE}); shape=(m, g*p, k)) "
    "where x[m, g*n, 1], y[g*p, n, 1]",
    f"Conv(Expand(x; shape=(n, g*c, h, w)), y, z; {IMAGE}) = "
    f"Expand(Conv(x, y, z; {IMAGE}); shape=(n, g*m, h, w)) where x[n, g*c, 1, 1], y[g*m, c, 1, 1], z[g*m]",
    "Relu(Expand(x; shape=(*b, m, n))) = Expand(Relu(x); shape=(*b, m, n)) where x[*b, 1, n]",
    "Mul(Expand(x; shape=(*b, m, n)), y) = Expand(Mul(x, y); shape=(*b, m, n)) where x[*b, 1, n], y[n]",
    "LayerNormalization(Expand(x; shape=(*b, m, n)), y) = Expand(LayerNormalization(x, y); shape=(*b, m, n)) "
    "where x[*b, 1, n], y[]",
]
PAIRS = [
    f"{name}(Expand(x; shape=(*b, m, n, k)), Expand(y; shape=(*b, m, n, k))) = {name}(x, y) "
    "where x[*b, m, 1, k], y[*b, 1, n, k]"
    for name in ("Add", "Sub")
]
FALSE = [
    f"Conv(Expand(x; shape=(n, g*c, h, w)), y; {PADDED}) = "
    f"Expand(Conv(x, y; {PADDED}); shape=(n, g*m, h, w)) where x[n, g*c, 1, 1], y[g*m, c, 3, 3]",
    "ReduceSum(Expand(x; shape=(*b, m, n)); axes=(-2)) = ReduceSum(x; axes=(-2)) where x[*b, 1, n]",
]


def forms(rules):
    return {format_rule(rule) for rule in rules}


@pytest.mark.parametrize(
    ("discover", "text"),
    [*((discover_repeats, text) for text in ONCE), *((discover_expansions, text) for text in PAIRS)],
)
def test_it_is_found_and_proved(discover, text, library, op):
    """What is repeated once before, and two operands that broadcast since each is repeated along an axis."""
    found = forms(discover(library, 0, frozenset(library.operators)))
    rule = parse_rule(text, op)
    assert format_rule(canonical(rule, op)) in found
    assert prove_definition(op, rule) is None


@pytest.mark.parametrize("text", FALSE)
def test_what_sees_how_often_or_where_is_not_proved(text, op):
    assert prove_definition(op, parse_rule(text, op)) is not None


def test_nothing_is_found_without_the_operator(library):
    assert discover_repeats(library, 0, frozenset(library.operators) - {"Expand"}) == ()
