"""Scales and shifts of features go into the weights before and behind them, and nowhere where that is wrong."""

import pytest

from taso_opt.generate.schemes.features import discover_features

INSIDE = "dilations=(a, b), group={g}, pads=(0, 0, 0, 0), strides=(u, v)"
PADDED = "dilations=(a, b), group={g}, pads=(p, q, r, s), strides=(u, v)"
IMAGES = "where x[n, c, h, w], y[m, c, i, j], z[c, 1, 1]"
RESULTS = "where x[n, g*c, h, w], y[g*m, c, i, j], z[g*m, 1, 1]"
SUMS = "Reshape(ReduceSum(Mul(y, z); axes=(-3, -2, -1)); shape=(m))"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_features(library, 0, frozenset(library.operators))


def convolved(windows, group=1):
    values = windows.format(g=group)
    return f"Conv(Add(x, z), y; {values}) = Conv(x, y, {SUMS}; {values}) {IMAGES}"


@pytest.mark.parametrize(
    "text",
    [
        "MatMul(Mul(x, z), y) = MatMul(x, Mul(y, Reshape(z; shape=(k, 1)))) where x[*b, m, k], y[k, n], z[k]",
        "MatMul(y, Mul(x, z)) = MatMul(Mul(y, Reshape(z; shape=(k))), x) where x[*b, k, n], y[m, k], z[k, 1]",
        convolved(INSIDE),
        f"Conv(Mul(x, z), y; {PADDED.format(g=1)}) = Conv(x, Mul(y, z); {PADDED.format(g=1)}) {IMAGES}",
        f"Div(Conv(x, y; {PADDED.format(g='g')}), z) = "
        f"Conv(x, Div(y, Reshape(z; shape=(g*m, 1, 1, 1))); {PADDED.format(g='g')}) {RESULTS}",
        f"Sub(Conv(x, y; {PADDED.format(g='g')}), z) = "
        f"Conv(x, y, Neg(Reshape(z; shape=(g*m))); {PADDED.format(g='g')}) {RESULTS}",
        "Div(MatMul(x, y), z) = MatMul(x, Div(y, z)) where x[*b, m, k], y[k, n], z[n]",
        "Mul(Add(MatMul(x, y), z), s) = Add(MatMul(x, Mul(y, s)), Mul(z, s)) where x[*b, m, k], y[k, n], z[n], s[]",
        f"Div(Conv(x, y, b; {PADDED.format(g='g')}), s) = "
        f"Conv(x, Div(y, s), Div(b, s); {PADDED.format(g='g')}) where x[n, g*c, h, w], y[g*m, c, i, j], b[g*m], s[]",
        "Transpose(Sub(x, z); perm=(-1, -3, -2)) = "
        "Sub(Transpose(x; perm=(-1, -3, -2)), Reshape(z; shape=(c, 1, 1))) where x[*b, h, w, c], z[c]",
    ],
)
def test_they_are_found(candidates, covers, text):
    assert covers(candidates, text)


def test_all_are_proved(candidates, proved):
    assert len(candidates) == 106
    assert proved(candidates)


@pytest.mark.parametrize(
    "text",
    [
        convolved(PADDED),
        "Div(MatMul(x, y), z) = MatMul(Div(x, z), y) where x[*b, n, n], y[n, n], z[n]",
        "MatMul(Mul(x, z), y) = MatMul(x, Mul(y, z)) where x[*b, m, k], y[k, k], z[k]",
        "Transpose(Sub(x, z); perm=(-1, -3, -2)) = Sub(Transpose(x; perm=(-1, -3, -2)), z) where x[c, c, c], z[c]",
    ],
)
def test_shifts_before_padding_and_numbers_along_the_wrong_axis_are_refuted(refuted, text):
    assert refuted(text)


def test_only_the_named_operators_are_tried(library):
    found = discover_features(library, 0, frozenset({"MatMul", "Mul", "Reshape"}))
    assert found and all(rule.operators <= {"MatMul", "Mul", "Reshape"} for rule in found)
    assert discover_features(library, 0, frozenset({"Conv", "Relu"})) == ()
