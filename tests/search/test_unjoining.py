"""A product of a join is taken apart where its parts then stand before what enlarges their operands."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.sequences.unjoining import unjoined
from taso_opt.spec.text import parse_rule

POINTWISE = "dilations=(d_h, d_w), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"
PLAIN = {"dilations": (1, 1), "group": 1, "pads": (0, 0, 0, 0), "strides": (1, 1)}
RULES = (
    f"Add(Conv(x, y; {POINTWISE}), Conv(z, w; {POINTWISE})) = "
    f"Conv(Concat(x, z; axis=-3), Concat(y, w; axis=-3); {POINTWISE}) "
    "where x[n, c, h, w], y[m, c, i, j], z[n, d, h, w], w[m, d, i, j]",
    "Concat(Split(x; axis=-3, sizes=(m, n))[0], Split(x; axis=-3, sizes=(m, n))[1]; axis=-3) = x "
    "where x[*b, m+n, h, w]",
    f"Conv(Resize(x; scales=(s, t)), y; {POINTWISE}) = Resize(Conv(x, y; {POINTWISE}); scales=(s, t)) "
    "where x[n, c, h, w], y[m, c, 1, 1]",
    f"Conv(Conv(x, y; {POINTWISE}), z; {POINTWISE}) = Conv(x, ComposedKernel(y, z); {POINTWISE}) "
    "where x[n, c, h, w], y[m, c, 1, 1], z[d, m, 1, 1]",
)


@pytest.fixture(scope="module")
def rewriter(op):
    return Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in RULES)))


def image(name, channels, size):
    return Var(name, TensorType("float32", (1, channels, size, size)))


def kernel(name, outputs, inputs):
    return Const(name, TensorType("float32", (outputs, inputs, 1, 1)))


FINE, COARSE, COARSEST = image("fine", 4, 16), image("coarse", 8, 8), image("coarsest", 8, 4)
MIXING = kernel("mixing", 6, 20)


def found(op, rewriter, *joined):
    term = op.Conv(op.Concat(*joined, axis=-3), MIXING, **PLAIN)
    here = Neighbourhood([term])
    sequences = list(unjoined(here.terms, rewriter))
    assert all(pairs[0][0] is term for _, pairs in sequences)
    return [(steps, pairs[0][1]) for steps, pairs in sequences]


def summands(term):
    """What is added up: the operator of each, and the image that its convolution reads."""
    if term.operator == "Add":
        return [one for part in term.args for one in summands(part)]
    convolution = term if term.operator == "Conv" else term.args[0]
    return [(term.operator, convolution.operator, convolution.args[0])]


def test_each_map_of_a_join_is_mixed_where_it_has_the_fewest_pixels(op, rewriter):
    sequences = found(op, rewriter, FINE, op.Resize(COARSE, scales=(2, 2)), op.Resize(COARSEST, scales=(4, 4)))
    assert sequences
    for steps, new in sequences:
        assert len(steps) >= 3
        assert set(summands(new)) == {
            ("Conv", "Conv", FINE),
            ("Resize", "Conv", COARSE),
            ("Resize", "Conv", COARSEST),
        }


def test_weights_are_composed_with_those_before_what_enlarges_or_left_as_they_are(op, rewriter):
    before = kernel("before", 16, 8)
    enlarged = op.Resize(op.Conv(COARSE, before, **PLAIN), scales=(2, 2))
    split = op.Split(MIXING, axis=-3, sizes=(4, 16))
    first, second = op.item(split, 0), op.item(split, 1)
    apart = op.Conv(op.Conv(COARSE, before, **PLAIN), second, **PLAIN)
    composed = op.Conv(COARSE, op.ComposedKernel(before, second), **PLAIN)
    wanted = [op.Add(op.Conv(FINE, first, **PLAIN), op.Resize(one, scales=(2, 2))) for one in (apart, composed)]
    assert [new for _, new in found(op, rewriter, FINE, enlarged)] == wanted


def test_a_join_of_maps_of_one_size_stays(op, rewriter):
    assert found(op, rewriter, FINE, image("other", 16, 16)) == []


def test_a_product_of_weights_alone_stays(op, rewriter):
    weights = op.Concat(*(Const(name, TensorType("float32", (1, 10, 8, 8))) for name in "ab"), axis=-3)
    assert list(unjoined(Neighbourhood([op.Conv(weights, MIXING, **PLAIN)]).terms, rewriter)) == []


def test_products_of_larger_windows_stay_since_they_go_in_front_of_nothing(op, rewriter):
    wide = Const("wide", TensorType("float32", (6, 12, 3, 3)))
    term = op.Conv(op.Concat(FINE, op.Resize(COARSE, scales=(2, 2)), axis=-3), wide, **PLAIN)
    assert any(step.image.operator == "Add" for step in rewriter.rewrites(term))
    assert list(unjoined(Neighbourhood([term]).terms, rewriter)) == []


def test_what_has_nothing_to_compose_is_one_sequence(op, rewriter):
    assert len(found(op, rewriter, image("other", 12, 16), op.Resize(COARSE, scales=(2, 2)))) == 1
