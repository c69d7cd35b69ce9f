"""Two convolutions, one of them pointwise, are found to be one, by enumeration, and that is proved at all sizes."""

import pytest

from taso_opt.core.term import Apply, postorder
from taso_opt.generate.schemes.definitions import discover_definitions
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition

OPERATORS = "Conv, ComposedKernel, ComposedBias"
ANY = "dilations=(d_h, d_w), group=1, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
PLAIN = "dilations=(d_h, d_w), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"
LAST = "dilations=(d_h2, d_w2), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"
STRIDED = "dilations=(d_h2, d_w2), group=1, pads=(0, 0, 0, 0), strides=(s_h2, s_w2)"
TYPES = "x[n, c, h, w], y[d, c, i, j], k[m, d, 1, 1]"
AFTER = "x[n, c, h, w], y[d, c, 1, 1], k[m, d, i, j]"
WIDE = "x[n, c, h, w], y[d, c, i, j], k[m, d, p, q]"
COMPOSED = [
    f"Conv(Conv(x, y; {ANY}), k; {LAST}) = Conv(x, ComposedKernel(y, k); {ANY}) where {TYPES}",
    f"Conv(Conv(x, y; {ANY}), k, b; {LAST}) = Conv(x, ComposedKernel(y, k), b; {ANY}) where {TYPES}, b[m]",
    f"Conv(Conv(x, y, a; {ANY}), k; {LAST}) = Conv(x, ComposedKernel(y, k), ComposedBias(a, k); {ANY}) "
    f"where {TYPES}, a[d]",
    f"Conv(Conv(x, y, a; {ANY}), k, b; {LAST}) = Conv(x, ComposedKernel(y, k), ComposedBias(a, k, b); {ANY}) "
    f"where {TYPES}, a[d], b[m]",
]
COMPOSED_AFTER = [
    f"Conv(Conv(x, y; {LAST}), k; {ANY}) = Conv(x, ComposedKernel(y, k); {ANY}) where {AFTER}",
    f"Conv(Conv(x, y; {LAST}), k, b; {ANY}) = Conv(x, ComposedKernel(y, k), b; {ANY}) where {AFTER}, b[m]",
    f"Conv(Conv(x, y, a; {LAST}), k; {PLAIN}) = Conv(x, ComposedKernel(y, k), ComposedBias(a, k); {PLAIN}) "
    f"where {AFTER}, a[d]",
    f"Conv(Conv(x, y, a; {LAST}), k, b; {PLAIN}) = Conv(x, ComposedKernel(y, k), ComposedBias(a, k, b); {PLAIN}) "
    f"where {AFTER}, a[d], b[m]",
]
MOVED = [
    f"Conv(Conv(x, y, a; {ANY}), k; {STRIDED}) = Conv(Conv(x, y; {ANY}), k, ComposedBias(a, k); {STRIDED}) "
    f"where {WIDE}, a[d]",
    f"Conv(Conv(x, y, a; {ANY}), k, b; {STRIDED}) = Conv(Conv(x, y; {ANY}), k, ComposedBias(a, k, b); {STRIDED}) "
    f"where {WIDE}, a[d], b[m]",
]
AT_THE_BORDER = PLAIN.replace("0, 0, 0, 0", "1, 1, 1, 1")
FALSE = [
    f"Conv(Conv(x, y, a; {ANY}), k; {LAST}) = Conv(x, ComposedKernel(y, k), a; {ANY}) "
    "where x[n, c, h, w], y[d, c, i, j], k[d, d, 1, 1], a[d]",
    f"Conv(Conv(x, y; {ANY}), k; {LAST}) = Conv(x, ComposedKernel(y, Transpose(k; perm=(-3, -4, -2, -1))); {ANY}) "
    "where x[n, c, h, w], y[d, c, i, j], k[d, d, 1, 1]",
    f"Conv(Conv(x, y; {PLAIN}), k; {AT_THE_BORDER}) = Conv(x, ComposedKernel(y, k); {AT_THE_BORDER}) where {TYPES}",
    f"Conv(Conv(x, y, a; {LAST}), k; {AT_THE_BORDER}) = "
    f"Conv(x, ComposedKernel(y, k), ComposedBias(a, k); {AT_THE_BORDER}) where {AFTER}, a[d]",
    f"Conv(Conv(x, y, a; {PLAIN}), k; {AT_THE_BORDER}) = Conv(Conv(x, y; {PLAIN}), k, ComposedBias(a, k); "
    f"{AT_THE_BORDER}) where {WIDE}, a[d]",
    f"Conv(Conv(x, y; {LAST}), k; {ANY}) = Conv(x, ComposedKernel(Transpose(y; perm=(-3, -4, -2, -1)), k); {ANY}) "
    "where x[n, d, h, w], y[d, d, 1, 1], k[m, d, i, j]",
]
BEHIND, BEFORE = "composed kernels", "kernels after pointwise ones"


@pytest.fixture
def found(discovered):
    return [rule for pool in (BEHIND, BEFORE) for rule in discovered(pool, OPERATORS)]


@pytest.mark.parametrize(
    ("pool", "law"),
    [*((BEHIND, law) for law in COMPOSED), *((BEFORE, law) for law in (*COMPOSED_AFTER, *MOVED))],
)
def test_pointwise_convolutions_are_composed_with_what_is_before_or_after(discovered, covers, pool, law):
    assert covers(discovered(pool, OPERATORS), law)


def test_all_that_is_found_of_composed_kernels_is_proved_at_all_sizes(found, op):
    assert len(found) == len(COMPOSED) + len(COMPOSED_AFTER) + len(MOVED)
    for rule in found:
        assert prove_definition(op, rule) is None, format_rule(rule)


@pytest.mark.parametrize("text", FALSE)
def test_what_does_not_compose_is_not_proved(op, text):
    assert prove_definition(op, parse_rule(text, op)) is not None


def test_weights_alone_go_through_what_prepares_them(found):
    terms = postorder([side for rule in found for side in rule.roots])
    prepared = [term for term in terms if isinstance(term, Apply) and term.operator.startswith("Composed")]
    assert prepared
    assert all(arg.name != "x" for term in prepared for arg in term.args)


def test_prepared_weights_are_defined_by_what_they_stand_for(library, op):
    names = frozenset({"Conv", "Expand", "Reshape", "Transpose", "ComposedKernel", "ComposedBias"})
    said = discover_definitions(library, names, ())
    defined = sorted(str(rule.source[0]).partition("(")[0] for rule in said)
    assert defined == ["ComposedBias"] * 2 + ["ComposedKernel"] * 2
    for rule in said:
        assert prove_definition(op, rule) is None, format_rule(rule)
