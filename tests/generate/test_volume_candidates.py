"""Windows over volumes are found to be windows over images, and what else takes frames as images so far, and proved."""

import pytest

from taso_opt.core.term import Apply, postorder
from taso_opt.generate.schemes.volumes import discover_volumes
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.verdict import Refuted

FRAMES = "Squeeze(Transpose({}; perm=(-3, -4, -2, -1)); axis=-5)"
VOLUME = "Transpose(Unsqueeze({}; axis=-5); perm=(-3, -4, -2, -1))"
OVER_FRAMES = "Conv(x, y; dilations=(1, 1, 1), group=1, pads=(0, 1, 1, 0, 1, 1), strides=(1, 2, 2))"
OF_IMAGES = "Conv({}, Reshape(y; shape=(m, c, 3, 3)); dilations=(1, 1), group=1, pads=(1, 1, 1, 1), strides=(2, 2))"
TURNED = OF_IMAGES.replace("Reshape(y; shape=(m, c, 3, 3))", "Transpose(Reshape(y; shape=(m, c, 3, 3)); perm=(-1, -2))")
OVER_COLUMNS = "Conv(x, y; dilations=(1, 1, 1), group=1, pads=(1, 0, 0, 1, 0, 0), strides=(1, 1, 1))"
OF_COLUMNS = (
    "Reshape(Conv(Reshape(x; shape=(n, c, t, {0})), Reshape(y; shape=(m, c, 3, 1)); dilations=(1, 1), group=1, "
    "pads=(1, 0, 1, 0), strides=(1, 1)); shape=(n, m, t, h, w))"
)
HALVED = (
    OF_COLUMNS.format("h*w").replace("shape=(n, c, t", "shape=(n, c, 2*t").replace("(1, 1)); shape", "(2, 1)); shape")
)


@pytest.fixture(scope="module")
def candidates(library):
    return discover_volumes(library, 0, frozenset(library.operators))


def operators(rule):
    return {term.operator for term in postorder(rule.roots) if isinstance(term, Apply)}


@pytest.mark.parametrize(
    "law",
    [
        f"{OVER_FRAMES} = {VOLUME.format(OF_IMAGES.format(FRAMES.format('x')))} "
        "where x[1, c, t, h, w], y[m, c, 1, 3, 3]",
        f"{OVER_COLUMNS} = {OF_COLUMNS.format('h*w')} where x[n, c, t, h, w], y[m, c, 3, 1, 1]",
        f"{OVER_COLUMNS.replace('strides=(1', 'strides=(2')} = {HALVED} where x[n, c, 2*t, h, w], y[m, c, 3, 1, 1]",
        f"{FRAMES.format('Relu(x)')} = Relu({FRAMES.format('x')}) where x[1, c, t, h, w]",
        f"{FRAMES.format('Add(x, y)')} = Add({FRAMES.format('x')}, {FRAMES.format('y')}) "
        "where x[1, c, t, h, w], y[1, c, t, h, w]",
        f"{FRAMES.format('Concat(x, y; axis=-4)')} = Concat({FRAMES.format('x')}, {FRAMES.format('y')}; axis=-3) "
        "where x[1, c, t, h, w], y[1, d, t, h, w]",
        f"{FRAMES.format(VOLUME.format('y'))} = y where y[t, c, h, w]",
    ],
)
def test_what_passes_is_found(candidates, covers, law):
    assert covers(candidates, law)


def test_windows_over_frames_columns_and_neighbours_are_found_with_a_bias_and_without(candidates):
    names = [operators(rule) & {"AveragePool", "Concat", "Conv", "MaxPool", "Pad"} for rule in candidates]
    assert names.count({"Conv"}) == 6
    assert names.count({"Conv", "Pad", "Concat"}) == 2
    assert names.count({"Conv", "Pad"}) == 2
    assert names.count({"AveragePool"}) == 4
    assert names.count({"MaxPool"}) == 2


def test_candidates_are_proved_at_all_sizes(library, candidates):
    builder = library.builder()
    assert len(candidates) > 50
    for rule in candidates:
        assert prove_definition(builder, rule) is None, format_rule(rule)


@pytest.mark.parametrize(
    "text",
    [
        f"{OVER_FRAMES} = {VOLUME.format(TURNED.format(FRAMES.format('x')))} where x[1, c, t, h, w], y[m, c, 1, 3, 3]",
        f"{OVER_FRAMES} = {VOLUME.format(OF_IMAGES.format('Reshape(x; shape=(t, c, h, w))'))} "
        "where x[1, c, t, h, w], y[m, c, 1, 3, 3]",
        f"{OVER_COLUMNS} = {OF_COLUMNS.replace('(1, 0, 1, 0)', '(2, 0, 0, 0)').format('h*w')} "
        "where x[n, c, t, h, w], y[m, c, 3, 1, 1]",
    ],
)
def test_other_pads_kernels_and_orders_are_refuted_and_not_proved(library, text):
    rule = parse_rule(text, library.builder())
    assert prove_definition(library.builder(), rule) is not None
    assert isinstance(examine(library, Prover(library), rule), Refuted)


def test_only_the_named_operators_are_tried(library):
    found = discover_volumes(library, 0, frozenset({"Squeeze", "Unsqueeze", "Transpose", "MaxPool"}))
    assert {name for rule in found for name in operators(rule)} == {"Squeeze", "Unsqueeze", "Transpose", "MaxPool"}
    assert discover_volumes(library, 0, frozenset({"Conv", "Relu"})) == ()
