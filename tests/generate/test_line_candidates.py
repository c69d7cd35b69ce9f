"""What slides along a line does the same along the only row of an image; nothing else about rows is found."""

import pytest

from taso_opt.generate.schemes.lines import discover_lines
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.verdict import Proved, Refuted

WINDOWED = ("AveragePool", "Conv", "MaxPool")
FALSE = [
    # the pads are those of columns, not of rows
    "Unsqueeze(Conv(x, y; dilations=(d_w,), group=1, pads=(p_l, p_r), strides=(s_w,)); axis=-2) = Conv(Unsqueeze(x; "
    "axis=-2), Unsqueeze(y; axis=-2); dilations=(1, d_w), group=1, pads=(0, p_r, 0, p_l), strides=(1, s_w)) "
    "where x[n, c, w], y[m, c, k]",
    # columns stay columns
    "Unsqueeze(Concat(x, y; axis=-2); axis=-2) = Concat(Unsqueeze(y; axis=-2), Unsqueeze(x; axis=-2); axis=-3) "
    "where x[*b, m, k], y[*b, m, k]",
]


@pytest.fixture(scope="module")
def candidates(library):
    return discover_lines(library, 0, frozenset(library.operators))


def test_windows_functions_joins_parts_and_what_undoes_a_row_are_found(candidates):
    texts = "\n".join(map(format_rule, candidates))
    for needed in (
        "x = Squeeze(Unsqueeze(x; axis=-2); axis=-2) where x[*b, m]",
        "x = Unsqueeze(Squeeze(x; axis=-2); axis=-2) where x[*b, 1, m]",
        "Relu(Unsqueeze(x; axis=-2)) = Unsqueeze(Relu(x); axis=-2) where x[*b, m]",
        "Unsqueeze(Concat(x, y; axis=-2); axis=-2) = "
        "Concat(Unsqueeze(x; axis=-2), Unsqueeze(y; axis=-2); axis=-3) where x[*b, m, k], y[*b, n, k]",
        "Split(Unsqueeze(x; axis=-2); axis=-3, sizes=(k, n))[1] = "
        "Unsqueeze(Split(x; axis=-2, sizes=(k, n))[1]; axis=-2) where x[*b, k+n, m]",
        "Unsqueeze(Conv(x, y; dilations=(d_w,), group=g, pads=(p_l, p_r), strides=(s_w,)); axis=-2) = "
        "Conv(Unsqueeze(x; axis=-2), Unsqueeze(y; axis=-2); dilations=(1, d_w), group=g, pads=(0, p_l, 0, p_r), "
        "strides=(1, s_w)) where x[m, g*n, k], y[g*q, n, p]",
    ):
        assert needed in texts


def test_every_operator_with_windows_is_among_them(candidates):
    for name in WINDOWED:
        assert any(name in operators(rule) for rule in candidates), name


def test_candidates_are_proved_at_all_sizes(library, candidates):
    prover = Prover(library)
    unknown = [rule for rule in candidates if not isinstance(examine(library, prover, rule), Proved)]
    # of maxima in another order the proof knows nothing
    assert {name for rule in unknown for name in operators(rule)} <= {"Max", "Min", "Unsqueeze"}
    assert len(unknown) <= 2 < 90 < len(candidates)


@pytest.mark.parametrize("text", FALSE)
def test_other_pads_and_orders_are_refuted_and_not_proved(library, text):
    rule = parse_rule(text, library.builder())
    assert prove_definition(library.builder(), rule) is not None
    assert isinstance(examine(library, Prover(library), rule), Refuted)


@pytest.mark.parametrize("names", [{"Conv", "Unsqueeze"}, {"Conv", "Squeeze"}, {"Conv", "Relu"}])
def test_nothing_is_found_without_both_ways(library, names):
    assert discover_lines(library, 0, frozenset(names)) == ()


def test_only_the_named_operators_are_tried(library):
    found = discover_lines(library, 0, frozenset({"Squeeze", "Unsqueeze", "MaxPool"}))
    assert {name for rule in found for name in operators(rule)} == {"Squeeze", "Unsqueeze", "MaxPool"}


def operators(rule):
    return [term.operator for term in rule.applications]
