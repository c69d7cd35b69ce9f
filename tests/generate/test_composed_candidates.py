"""A convolution and a pointwise one after it are found to be one, by enumeration, and that is proved at all sizes."""

import pytest

from taso_opt.core.term import Apply, postorder
from taso_opt.generate.definitions import discover_definitions
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition

OPERATORS = "Conv, ComposedKernel, ComposedBias"
ANY = "dilations=(d_h, d_w), group=1, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
PLAIN = "dilations=(d_h, d_w), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"
LAST = "dilations=(d_h2, d_w2), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"
TYPES = "x[n, c, h, w], y[d, c, i, j], k[m, d, 1, 1]"
LAWS = [
    f"Conv(Conv(x, y; {ANY}), k; {LAST}) = Conv(x, ComposedKernel(y, k); {ANY}) where {TYPES}",
    f"Conv(Conv(x, y; {ANY}), k, b; {LAST}) = Conv(x, ComposedKernel(y, k), b; {ANY}) where {TYPES}, b[m]",
    f"Conv(Conv(x, y, a; {ANY}), k; {LAST}) = Conv(x, ComposedKernel(y, k), ComposedBias(a, k); {ANY}) "
    f"where {TYPES}, a[d]",
    f"Conv(Conv(x, y, a; {ANY}), k, b; {LAST}) = Conv(x, ComposedKernel(y, k), ComposedBias(a, k, b); {ANY}) "
    f"where {TYPES}, a[d], b[m]",
]
FALSE = [
    f"Conv(Conv(x, y, a; {ANY}), k; {LAST}) = Conv(x, ComposedKernel(y, k), a; {ANY}) "
    "where x[n, c, h, w], y[d, c, i, j], k[d, d, 1, 1], a[d]",
    f"Conv(Conv(x, y; {ANY}), k; {LAST}) = Conv(x, ComposedKernel(y, Transpose(k; perm=(-3, -4, -2, -1))); {ANY}) "
    "where x[n, c, h, w], y[d, c, i, j], k[d, d, 1, 1]",
    f"Conv(Conv(x, y; {PLAIN}), k; {LAST.replace('0, 0, 0, 0', '1, 1, 1, 1')}) = "
    f"Conv(x, ComposedKernel(y, k); {PLAIN.replace('0, 0, 0, 0', '1, 1, 1, 1')}) where {TYPES}",
]


@pytest.fixture
def found(discovered):
    return discovered("composed kernels", OPERATORS)


@pytest.mark.parametrize("law", LAWS)
def test_pointwise_convolutions_are_composed_with_what_is_before(found, covers, law):
    assert covers(found, law)


def test_all_that_is_found_of_composed_kernels_is_proved_at_all_sizes(found, op):
    assert len(found) == len(LAWS)
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
    names = frozenset({"Conv", "Reshape", "Transpose", "ComposedKernel", "ComposedBias"})
    said = discover_definitions(library, names, ())
    assert [str(rule.source[0]).partition("(")[0] for rule in said] == ["ComposedBias"] * 2 + ["ComposedKernel"]
    for rule in said:
        assert prove_definition(op, rule) is None, format_rule(rule)
