"""What passes zeros around a tensor, and what becomes of them, is found; what padding would change is refuted."""

import pytest

from taso_opt.generate.schemes.cropped import discover_cropped
from taso_opt.generate.schemes.slices import discover_slices
from taso_opt.semantics.bounds import bounds_of_sizes
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.verdict import Refuted

OUTER, INNER, BOTH = "e_t, e_l, e_b, e_r", "p_t, p_l, p_b, p_r", "e_t+p_t, e_l+p_l, e_b+p_b, e_r+p_r"
PADDED = f"Pad(x; pads=({OUTER}))"
CONV = "dilations=(d_h, d_w), group=g, pads=({}), strides=(s_h, s_w)"
POOL = "count_include_pad={}, kernel=(k_h, k_w), pads=({}), strides=(s_h, s_w)"
LARGEST = "dilations=(d_h, d_w), kernel=(k_h, k_w), pads=({}), strides=(s_h, s_w)"
IMAGE = "x[n, c, h, w]"
KERNEL = "x[n, g*c, h, w], y[g*m, c, i, j]"
CHANNELS, OUTPUTS = "0, 0, 0, p, 0, 0", "0, 0, 0, 0, p, 0, 0, 0"
PLAIN = CONV.replace("group=g", "group=1").format(INNER)
COLUMNS, ROWS = "Pad({}; pads=(0, 0, 0, p))".format, "Pad({}; pads=(0, 0, p, 0))".format

FOUND = {
    "padding of nothing": ("Pad", ["Pad(x; pads=(0, 0, 0, 0)) = x where x[*b, h, w]"]),
    "padded images": (
        "Pad, Conv, AveragePool",
        [
            f"Pad({PADDED}; pads=({INNER})) = Pad(x; pads=({BOTH})) where x[*b, h, w]",
            f"Conv({PADDED}, y; {CONV.format(INNER)}) = Conv(x, y; {CONV.format(BOTH)}) where {KERNEL}",
            f"Conv({PADDED}, y, z; {CONV.format(INNER)}) = Conv(x, y, z; {CONV.format(BOTH)}) where {KERNEL}, z[g*m]",
            f"AveragePool({PADDED}; {POOL.format(1, INNER)}) = AveragePool(x; {POOL.format(1, BOTH)}) where {IMAGE}",
            f"AveragePool({PADDED}; {POOL.format(0, '0, 0, 0, 0')}) = AveragePool(x; {POOL.format(1, OUTER)}) "
            f"where {IMAGE}",
            f"Conv(x, Pad(y; pads=({OUTER})); {CONV.format(BOTH).replace('d_h, d_w', '1, 1')}) = "
            f"Conv(x, y; {CONV.format(INNER).replace('d_h, d_w', '1, 1')}) where {KERNEL}",
        ],
    ),
    "padded channels": (
        "Pad, Conv",
        [
            f"Conv(Pad(x; pads=({CHANNELS})), Pad(y; pads=({CHANNELS})); {PLAIN}) = Conv(x, y; {PLAIN}) "
            "where x[n, c, h, w], y[m, c, i, j]",
            f"Conv(x, Pad(y; pads=({OUTPUTS})), Pad(z; pads=(0, p)); {PLAIN}) = "
            f"Pad(Conv(x, y, z; {PLAIN}); pads=({CHANNELS})) where x[n, c, h, w], y[m, c, i, j], z[m]",
        ],
    ),
    "padded products": (
        "Pad, MatMul, Transpose",
        [
            f"MatMul(x, {COLUMNS('y')}) = {COLUMNS('MatMul(x, y)')} where x[*b, m, k], y[k, n]",
            f"MatMul({ROWS('x')}, y) = {ROWS('MatMul(x, y)')} where x[*b, m, k], y[k, n]",
            f"MatMul({COLUMNS('x')}, {ROWS('y')}) = MatMul(x, y) where x[*b, m, k], y[k, n]",
        ],
    ),
    "padded elements": (
        "Pad, Add, Relu, Mul",
        [
            f"Relu({PADDED}) = Pad(Relu(x); pads=({OUTER})) where x[*b, m, n]",
            f"Add({PADDED}, Pad(y; pads=({OUTER}))) = Pad(Add(x, y); pads=({OUTER})) where x[*b, m, n], y[*b, m, n]",
            f"Mul({PADDED}, s) = Pad(Mul(x, s); pads=({OUTER})) where x[*b, m, n], s[]",
        ],
    ),
    "padded joins": (
        "Pad, Concat, Split",
        [
            f"Split({COLUMNS('x')}; axis=-1, sizes=(n, p))[0] = x where x[*b, m, n]",
            f"Concat(x, {COLUMNS('y')}; axis=-1) = {COLUMNS('Concat(x, y; axis=-1)')} where x[*b, m, k], y[*b, m, n]",
            f"Concat({COLUMNS('x')}, {COLUMNS('y')}; axis=-2) = {COLUMNS('Concat(x, y; axis=-2)')} "
            "where x[*b, m, k], y[*b, n, k]",
        ],
    ),
}
FALSE = [
    f"Conv({PADDED}, y; {CONV.format(INNER)}) = Conv(x, y; {CONV.format('e_b+p_t, e_l+p_l, e_t+p_b, e_r+p_r')}) "
    f"where {KERNEL}",
    f"AveragePool({PADDED}; {POOL.format(0, INNER)}) = AveragePool(x; {POOL.format(0, BOTH)}) where {IMAGE}",
    f"AveragePool({PADDED}; {POOL.format(0, INNER)}) = AveragePool(x; {POOL.format(1, BOTH)}) where {IMAGE}",
    f"MaxPool({PADDED}; {LARGEST.format(INNER)}) = MaxPool(x; {LARGEST.format(BOTH)}) where {IMAGE}",
    f"Sigmoid({PADDED}) = Pad(Sigmoid(x); pads=({OUTER})) where x[*b, m, n]",
    f"Add({PADDED}, s) = Pad(Add(x, s); pads=({OUTER})) where x[*b, m, n], s[]",
    f"Concat({COLUMNS('x')}, y; axis=-1) = {COLUMNS('Concat(x, y; axis=-1)')} where x[*b, m, k], y[*b, m, n]",
]


@pytest.fixture(scope="module")
def prover(library):
    return Prover(library)


@pytest.mark.parametrize("pool", FOUND)
def test_what_passes_zeros_and_what_becomes_of_them_is_found(discovered, covers, pool):
    operators, laws = FOUND[pool]
    for law in laws:
        assert covers(discovered(pool, operators), law), law


def test_all_that_is_found_but_one_law_of_larger_kernels_is_proved_at_all_sizes(discovered, op):
    found = [rule for pool, (names, _) in FOUND.items() for rule in discovered(pool, names) if has_padding(rule)]
    assert len(found) > 50
    unproved = [format_rule(rule) for rule in found if prove_definition(op, rule) is not None]
    # Windows that lie in the padding alone average to nothing; how large they are is what no type says.
    assert all(text.startswith("AveragePool(Pad(x; pads=(1, 2, 2, 2))") for text in unproved)
    assert len(unproved) <= 1


@pytest.mark.parametrize("text", FALSE)
def test_what_padding_changes_is_refuted_and_not_proved(library, prover, op, text):
    rule = parse_rule(text, op)
    assert prove_definition(op, rule) is not None
    assert isinstance(examine(library, prover, rule), Refuted)


def test_slices_of_padding_are_found_where_nothing_is_left_of_it_too(library, op):
    found = (discover(library, 0, frozenset({"Pad", "Slice"})) for discover in (discover_slices, discover_cropped))
    rules = [rule for rules in found for rule in rules if has_padding(rule)]
    texts = list(map(format_rule, rules))
    assert "x = Slice(Pad(x; pads=(0, p_l, 0, p_r)); axis=-1, sizes=(p_l, k, p_r)) where x[*b, m, k]" in texts
    assert len(texts) == 4 + 10
    for rule in rules:
        assert prove_definition(op, rule) is None, format_rule(rule)


def test_proofs_about_slices_of_padding_hold_without_any_padding(op):
    rule = parse_rule(
        "Slice(Pad(x; pads=(p_t, a+p_l, p_b, b+p_r)); axis=-1, sizes=(a, n+p_l+p_r, b)) = "
        "Pad(x; pads=(p_t, p_l, p_b, p_r)) where x[*b, m, n]",
        op,
    )
    zero = dict.fromkeys(("a", "b", "p_t", "p_l", "p_b", "p_r"), 0)
    assert bounds_of_sizes(rule.roots).least == zero
    assert prove_definition(op, rule) is None


def has_padding(rule):
    return "Pad" in rule.operators
