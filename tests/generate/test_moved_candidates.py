"""Joins, transpositions and reshapes pass what the enumeration cannot evaluate, as activations and normalizations."""

import pytest

from taso_opt.generate.schemes.moved import discover_moved
from taso_opt.spec.text import format_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.scalar_rules import is_definitional


def parts(whole, axis, sizes="m, k"):
    return f"(Split({whole}; axis={axis}, sizes=({sizes}))[0], Split({whole}; axis={axis}, sizes=({sizes}))[1])"


LEAKY, NORMAL = "LeakyRelu({}, s)", "LayerNormalization({}, e, s)"
BATCH = "BatchNormalization({}, {}, {}, {}, {}, e)"
WIDE, TALL = "Concat(x, y; axis=-1)", "Concat(x, y; axis=-2)"
JOINED = [
    f"Concat({LEAKY.format('x')}, {LEAKY.format('y')}; axis=-1) = {LEAKY.format(WIDE)} where x[*b, m], y[*b, k], s[]",
    f"({LEAKY.format('x')}, {LEAKY.format('y')}) = {parts(LEAKY.format(WIDE), -1)} where x[*b, m], y[*b, k], s[]",
    f"Concat({NORMAL.format('x')}, {NORMAL.format('y')}; axis=-2) = {NORMAL.format(TALL)} "
    "where x[*b, m, n], y[*b, k, n], e[], s[n]",
    f"({NORMAL.format('x')}, {NORMAL.format('y')}) = {parts(NORMAL.format(TALL), -2)} "
    "where x[*b, m, n], y[*b, k, n], e[], s[n]",
    "Concat(Div(x, u), Div(y, v); axis=-2) = Div(Concat(x, y; axis=-2), Concat(u, v; axis=-2)) "
    "where x[*b, m, n], y[*b, k, n], u[*b, m, 1], v[*b, k, 1]",
    f"(Max(x, s), Max(y, s)) = {parts(f'Max({WIDE}, s)', -1)} where x[*b, m], y[*b, k], s[]",
    "Concat(Softmax(x; axis=-3), Softmax(y; axis=-3); axis=-4) = Softmax(Concat(x, y; axis=-4); axis=-3) "
    "where x[*b, n, c, h, w], y[*b, m, c, h, w]",
    "Concat(ReduceSum(x; axes=(-2, -1)), ReduceSum(y; axes=(-2, -1)); axis=-4) = "
    "ReduceSum(Concat(x, y; axis=-4); axes=(-2, -1)) where x[*b, n, c, h, w], y[*b, m, c, h, w]",
    f"Concat({BATCH.format(*'xsmbv')}, {BATCH.format(*'yroqu')}; axis=-3) = "
    "BatchNormalization(Concat(x, y; axis=-3), Concat(s, r; axis=-1), Concat(m, o; axis=-1), Concat(b, q; axis=-1), "
    "Concat(v, u; axis=-1), e) where x[n, c, h, w], y[n, d, h, w], "
    "s[c], m[c], b[c], v[c], r[d], o[d], q[d], u[d], e[]",
    f"Concat(ReduceL2(x; axes=(-1,)), ReduceL2(y; axes=(-1,)); axis=-2) = ReduceL2({TALL}; axes=(-1,)) "
    "where x[*b, m, n], y[*b, k, n]",
]
MOVED = [
    "Softplus(Transpose(x; perm=(-1, -2))) = Transpose(Softplus(x); perm=(-1, -2)) where x[*b, m, n]",
    "Pow(Reshape(x; shape=(*s,)); exponent=(e, d)) = Reshape(Pow(x; exponent=(e, d)); shape=(*s,)) where x[*b]",
    "Max(Reshape(x; shape=(*s,)), y) = Reshape(Max(x, y); shape=(*s,)) where x[*b], y[]",
    "Clamp(Transpose(x; perm=(-1, -2)), y, z) = Transpose(Clamp(x, y, z); perm=(-1, -2)) where x[*b, m, k], y[], z[]",
    "Clip(Transpose(x; perm=(-2, -3, -1)); high=(6, 1), low=(0, 1)) = "
    "Transpose(Clip(x; high=(6, 1), low=(0, 1)); perm=(-2, -3, -1)) where x[*b, l, m, n]",
]
TURNED = [
    "ReduceMean(Transpose(x; perm=(-2, -1, -3)); axes=(-3, -2)) = "
    "Transpose(ReduceMean(x; axes=(-2, -1)); perm=(-2, -1, -3)) where x[*b, l, m, n]",
    "ReduceMax(Transpose(x; perm=(-1, -3, -2)); axes=(-1,)) = "
    "Transpose(ReduceMax(x; axes=(-2,)); perm=(-1, -3, -2)) where x[*b, l, m, n]",
    "ReduceSum(Transpose(x; perm=(-1, -2)); axes=(-1,)) = "
    "Transpose(ReduceSum(x; axes=(-2,)); perm=(-1, -2)) where x[*b, m, n]",
]


@pytest.fixture(scope="module")
def candidates(library):
    return discover_moved(library, 0, frozenset(library.operators))


@pytest.mark.parametrize("law", JOINED + MOVED + TURNED)
def test_what_moves_elements_passes_operators_that_are_not_enumerated(candidates, covers, law):
    assert covers(candidates, law)


def test_what_is_false_or_does_not_fit_is_no_candidate(candidates):
    texts = set(map(format_rule, candidates))
    for text in texts:
        assert not ("LayerNormalization" in text and "Concat(x, y; axis=-1)" in text)
        assert not ("axes=(-1,)" in text and "axis=-1)" in text)


def test_enumerated_operators_and_movements_are_left_to_the_enumeration(candidates):
    text = "\n".join(map(format_rule, candidates))
    for name in ("Relu", "MatMul", "Conv", "AveragePool", "Resize", "Expand", "Less"):
        assert f" {name}(" not in text
        assert f"({name}(" not in text


def test_candidates_are_proved_at_all_sizes(library, candidates):
    builder = library.builder()
    assert len(candidates) > 400
    for rule in candidates[::4]:
        assert is_definitional(builder, rule)
        assert prove_definition(builder, rule) is None, format_rule(rule)


def test_only_chosen_operators_take_part(library):
    found = discover_moved(library, 0, frozenset({"Elu", "Exp", "Concat"}))
    assert len(found) == 8
    assert all("Transpose" not in format_rule(rule) and "Split" not in format_rule(rule) for rule in found)
