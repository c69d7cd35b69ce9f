"""Repeated rows, columns and operands: what computes element by element, or pixel by pixel, does so before as well."""

import pytest

from taso_opt.generate.schemes.definitions import discover_definitions
from taso_opt.generate.schemes.expansions import discover_expansions
from taso_opt.generate.schemes.means import discover_means
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition

POINTWISE = "dilations=(d_h, d_w), group=g, pads=(0, 0, 0, 0), strides=(1, 1)"
ENLARGED = [
    f"Conv(Resize(x; scales=(s, t)), y, z; {POINTWISE}) = Resize(Conv(x, y, z; {POINTWISE}); scales=(s, t)) "
    "where x[n, g*c, h, w], y[g*m, c, 1, 1], z[g*m]",
    f"Conv(Resize(x; scales=(s, t)), y; {POINTWISE}) = Resize(Conv(x, y; {POINTWISE}); scales=(s, t)) "
    "where x[n, g*c, h, w], y[g*m, c, 1, 1]",
    "Relu(Resize(x; scales=(s, t))) = Resize(Relu(x); scales=(s, t)) where x[*b, h, w]",
    "HardSwish(Resize(x; scales=(s, t))) = Resize(HardSwish(x); scales=(s, t)) where x[*b, h, w]",
    "Mul(Resize(x; scales=(s, t)), y) = Resize(Mul(x, y); scales=(s, t)) where x[*b, c, h, w], y[c, 1, 1]",
    "Sub(y, Resize(x; scales=(s, t))) = Resize(Sub(y, x); scales=(s, t)) where x[*b, h, w], y[]",
    "Add(Resize(x; scales=(s, t)), Resize(y; scales=(s, t))) = Resize(Add(x, y); scales=(s, t)) "
    "where x[*b, h, w], y[*b, h, w]",
    "Concat(Resize(x; scales=(s, t)), Resize(y; scales=(s, t)); axis=-3) = Resize(Concat(x, y; axis=-3); "
    "scales=(s, t)) where x[*b, c, h, w], y[*b, d, h, w]",
]
KEYS = "Reshape(Expand(Reshape(y; shape=(*b, g, 1, {0})); shape=(*b, g, r, {0})); shape=(*b, g*r, {0}))"
GROUPED = "Reshape(MatMul(Reshape(x; shape=(*b, g, m*r, k)), {}); shape=(*b, g*r, m, n))"
REPEATED = [
    "Mul(Expand(x; shape=(*b, m, n)), y) = Mul(x, y) where x[1, n], y[*b, m, n]",
    "Sub(y, Expand(x; shape=(*b, c, h, w))) = Sub(y, x) where x[c, 1, 1], y[*b, c, h, w]",
    "Div(Expand(x; shape=(*b, n)), y) = Div(x, y) where x[*b, 1], y[*b, n]",
    "MatMul(y, Expand(x; shape=(*b, k, n))) = MatMul(y, x) where x[k, n], y[*b, m, k]",
    "MatMul(Expand(x; shape=(*b, r, m, k)), y) = MatMul(x, y) where x[*b, 1, m, k], y[*b, r, k, n]",
    f"MatMul(x, {KEYS.format('k, n')}) = {GROUPED.format('y')} where x[*b, g*r, m, k], y[*b, g, k, n]",
    f"MatMul(x, Transpose({KEYS.format('n, k')}; perm=(-1, -2))) = {GROUPED.format('Transpose(y; perm=(-1, -2))')} "
    "where x[*b, g*r, m, k], y[*b, g, n, k]",
    "Expand(x; shape=(*b)) = x where x[*b]",
]
FALSE = [
    f"Conv(Resize(x; scales=(s, t)), y; {POINTWISE.replace('0, 0, 0, 0', '1, 1, 1, 1').replace('d_h, d_w', '1, 1')}) = "
    f"Resize(Conv(x, y; {POINTWISE.replace('0, 0, 0, 0', '1, 1, 1, 1').replace('d_h, d_w', '1, 1')}); scales=(s, t)) "
    "where x[n, g*c, h, w], y[g*m, c, 3, 3]",
    "Softmax(Resize(x; scales=(s, t)); axis=-1) = Resize(Softmax(x; axis=-1); scales=(s, t)) where x[*b, h, w]",
    f"MatMul(x, {KEYS.format('k, n').replace('(*b, g, 1', '(*b, 1, g').replace('(*b, g, r', '(*b, r, g')}) = "
    f"{GROUPED.format('y')} where x[*b, g*r, m, k], y[*b, g, k, n]",
    "MatMul(x, Expand(y; shape=(2, k, n))) = MatMul(x, Expand(z; shape=(2, k, n))) "
    "where x[2, m, k], y[k, n], z[1, k, n]",
]
RESIZED = (
    "Resize(x; scales=(s_h, s_w)) = Reshape(Expand(Reshape(x; shape=(n, c, h, 1, w, 1)); "
    "shape=(n, c, h, s_h, w, s_w)); shape=(n, c, h*s_h, s_w*w)) where x[n, c, h, w]"
)


@pytest.fixture(scope="module")
def enlarged(library):
    names = frozenset(library.operators) - {"ReduceMean", "ReduceSum", "GlobalAveragePool"}
    return discover_means(library, 0, names)


@pytest.fixture(scope="module")
def repeated(library):
    return discover_expansions(library, 0, frozenset(library.operators))


@pytest.mark.parametrize("law", ENLARGED)
def test_enlarging_passes_what_computes_pixel_by_pixel(enlarged, covers, law):
    assert covers(enlarged, law)


@pytest.mark.parametrize("name", ["ReduceMax", "ReduceMean", "ReduceSum"])
def test_what_is_taken_over_one_axis_and_then_another_is_taken_over_both(library, op, covers, name):
    found = discover_means(library, 0, frozenset({name}))
    for first, second in ((-1, -2), (-2, -1)):
        law = f"{name}({name}(x; axes=({first},)); axes=({second},)) = {name}(x; axes=(-2, -1)) where x[*b, h, w]"
        assert covers(found, law) and prove_definition(op, parse_rule(law, op)) is None


@pytest.mark.parametrize("law", REPEATED)
def test_operands_that_are_broadcast_need_not_be_repeated(repeated, covers, law):
    assert covers(repeated, law)


def test_what_is_found_of_repetition_is_proved_at_all_sizes(enlarged, repeated, library, op):
    said = discover_definitions(library, frozenset({"Resize", "Reshape", "Expand"}), ())
    assert list(map(format_rule, said)) == [RESIZED]
    assert len(enlarged) > 50
    assert len(repeated) > 40
    for rule in (*enlarged, *repeated, *said):
        assert prove_definition(op, rule) is None, format_rule(rule)


@pytest.mark.parametrize("text", FALSE)
def test_what_enlarging_does_not_pass_is_not_proved(op, text):
    assert prove_definition(op, parse_rule(text, op)) is not None


def test_nothing_is_found_of_repetition_where_it_is_not_asked_for(library):
    assert discover_expansions(library, 0, frozenset({"Mul"})) == ()
    assert discover_means(library, 0, frozenset({"Conv", "Relu"})) == ()


def test_a_leading_one_of_weights_is_found_to_be_left_out(discovered, covers):
    found = discovered("leading ones", "MatMul, Reshape, Add")
    assert covers(found, "MatMul(x, w) = MatMul(x, Reshape(w; shape=(k, n))) where x[*b, l, m, k], w[1, k, n]")
