"""Zeros beside a tensor are found where a slice takes them away and where a sum does not see them, and nowhere else."""

import pytest

from taso_opt.core.term import Apply
from taso_opt.generate.schemes.zeros import discover_zeros
from taso_opt.semantics.bounds import bounds_of_sizes
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.verdict import Refuted

PLAIN = "dilations=(d_h, d_w), group=1, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
CUT = "Slice(x; axis=-3, sizes=(a, c, b))"
FALSE = [
    f"Conv({CUT}, y; {PLAIN}) = Conv(x, Pad(y; pads=(b, 0, 0, a, 0, 0)); {PLAIN}) "
    "where x[n, a+b+c, h, w], y[m, c, i, j]",
    "MatMul(Slice(x; axis=-1, sizes=(a, k, b)), y) = MatMul(x, Pad(y; pads=(b, 0, a, 0))) where x[m, a+b+k], y[k, n]",
    "x = Slice(Pad(x; pads=(p, 0, 0, q, 0, 0)); axis=-3, sizes=(q, n, p)) where x[*b, n, h, w]",
]


@pytest.fixture(scope="module")
def candidates(library):
    return discover_zeros(library, 0, frozenset(library.operators))


def test_products_convolutions_and_every_axis_of_weights_are_found(library, candidates):
    builder = library.builder()
    texts = {
        f"Conv({CUT}, y; {PLAIN}) = Conv(x, Pad(y; pads=(a, 0, 0, b, 0, 0)); {PLAIN}) "
        "where x[n, a+b+c, h, w], y[m, c, i, j]",
        f"Conv({CUT}, y, z; {PLAIN}) = Conv(x, Pad(y; pads=(a, 0, 0, b, 0, 0)), z; {PLAIN}) "
        "where x[n, a+b+c, h, w], y[m, c, i, j], z[m]",
        "MatMul(Slice(x; axis=-1, sizes=(a, k, b)), y) = MatMul(x, Pad(y; pads=(a, 0, b, 0))) "
        "where x[*b, m, a+b+k], y[k, n]",
        "MatMul(Pad(x; pads=(0, a, 0, b)), y) = MatMul(x, Slice(y; axis=-2, sizes=(a, k, b))) "
        "where x[*b, m, k], y[*b, a+b+k, n]",
        "x = Slice(Pad(x; pads=(a, 0, 0, 0, b, 0, 0, 0)); axis=-4, sizes=(a, n, b)) where x[*b, n, c, h, w]",
        "x = Slice(Pad(x; pads=(a, b)); axis=-1, sizes=(a, n, b)) where x[n]",
    }
    shapes = {shape(rule) for rule in candidates}
    assert shapes >= {shape(parse_rule(text, builder)) for text in texts}


def test_candidates_are_proved_at_all_sizes_nothing_beside_included(library, candidates):
    builder = library.builder()
    assert len(candidates) > 10
    for rule in candidates:
        assert prove_definition(builder, rule) is None, format_rule(rule)
        beside = {size.symbol for pad in pads(rule) for size in pad if size != 0}
        assert all(bounds_of_sizes(rule.roots).least[name] == 0 for name in beside)


@pytest.mark.parametrize("text", FALSE)
def test_zeros_at_the_wrong_side_are_refuted_and_not_proved(library, text):
    rule = parse_rule(text, library.builder())
    assert prove_definition(library.builder(), rule) is not None
    assert isinstance(examine(library, Prover(library), rule), Refuted)


@pytest.mark.parametrize("names", [{"Conv", "MatMul"}, {"Slice", "Conv"}, {"Pad", "MatMul"}])
def test_nothing_is_found_without_both_slices_and_zeros(library, names):
    assert discover_zeros(library, 0, frozenset(names)) == ()


def test_only_the_named_operators_are_tried(library):
    found = discover_zeros(library, 0, frozenset({"Pad", "Slice", "MatMul"}))
    assert {name for rule in found for name in operators(rule)} == {"Pad", "Slice", "MatMul"}


def shape(rule):
    """What tells candidates apart, whatever their sizes are called: operators, operands and their ranks, both ways."""
    sides = [tuple(drawn(term) for term in side) for side in (rule.source, rule.target)]
    return tuple(sorted(sides, key=str)), tuple(sorted(len(one.type.shape) for one in rule.variables))


def drawn(term):
    return (term.operator, *map(drawn, term.args)) if isinstance(term, Apply) else len(term.type.shape)


def operators(rule):
    return [term.operator for term in rule.applications]


def pads(rule):
    return [term.attribute("pads") for term in rule.applications if term.operator == "Pad"]
