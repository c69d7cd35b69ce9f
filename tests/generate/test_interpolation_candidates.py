"""Interpolation passes what is linear in the elements at one place, whichever the method, and nothing else."""

import pytest

from taso_opt.generate.schemes.means import discover_means
from taso_opt.spec.text import parse_rule
from taso_opt.verify.definitions import prove_definition

POINTWISE = "dilations=(d_h, d_w), group=g, pads=(0, 0, 0, 0), strides=(1, 1)"
MIXED = "method=t, scales=(r, s)"
LAWS = [
    f"Conv(Interpolate(x; {MIXED}), y, z; {POINTWISE}) = Interpolate(Conv(x, y, z; {POINTWISE}); {MIXED}) "
    "where x[n, g*c, h, w], y[g*m, c, 1, 1], z[g*m]",
    f"Conv(Interpolate(x; {MIXED}), y; {POINTWISE}) = Interpolate(Conv(x, y; {POINTWISE}); {MIXED}) "
    "where x[n, g*c, h, w], y[g*m, c, 1, 1]",
    f"Mul(Interpolate(x; {MIXED}), y) = Interpolate(Mul(x, y); {MIXED}) where x[n, c, h, w], y[c, 1, 1]",
    f"Add(Interpolate(x; {MIXED}), Interpolate(y; {MIXED})) = Interpolate(Add(x, y); {MIXED}) "
    "where x[n, c, h, w], y[n, c, h, w]",
    f"Concat(Interpolate(x; {MIXED}), Interpolate(y; {MIXED}); axis=-3) = Interpolate(Concat(x, y; axis=-3); {MIXED}) "
    "where x[n, c, h, w], y[n, d, h, w]",
]
FALSE = [
    f"Relu(Interpolate(x; {MIXED})) = Interpolate(Relu(x); {MIXED}) where x[n, c, h, w]",
    f"Mul(Interpolate(x; {MIXED}), Interpolate(y; {MIXED})) = Interpolate(Mul(x, y); {MIXED}) "
    "where x[n, c, h, w], y[n, c, h, w]",
    "Add(Interpolate(x; method=1, scales=(r, s)), Interpolate(y; method=2, scales=(r, s))) = "
    "Interpolate(Add(x, y); method=1, scales=(r, s)) where x[n, c, h, w], y[n, c, h, w]",
    f"Interpolate(x; {MIXED}) = Resize(x; scales=(r, s)) where x[n, c, h, w]",
]


@pytest.fixture(scope="module")
def found(library):
    return discover_means(library, 0, frozenset({"Interpolate", "Conv", "Add", "Mul", "Sub", "Concat"}))


@pytest.mark.parametrize("law", LAWS)
def test_interpolation_passes_what_is_linear(found, covers, law):
    assert covers(found, law)


@pytest.mark.parametrize("law", LAWS)
def test_it_is_proved_for_every_method_and_size(op, law):
    assert prove_definition(op, parse_rule(law, op)) is None


@pytest.mark.parametrize("law", FALSE)
def test_what_holds_for_no_method_or_for_some_is_not_proved(op, law):
    assert prove_definition(op, parse_rule(law, op)) is not None
