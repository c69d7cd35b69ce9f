"""Products with weights are found to be convolutions of rows as pixels, and what else takes rows so far, and proved."""

from collections import Counter

import pytest

from taso_opt.core.term import Apply, Var, postorder
from taso_opt.generate.schemes.pixels import discover_pixels
from taso_opt.rewrite.patterns.pixels import convolves_rows
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.verdict import Proved, Refuted

IMAGES = "Conv(Reshape(Transpose(x; perm=(-1, -2)); shape=(n, k, 1, m)), Reshape({}; shape=(p, k, 1, 1)); {})"
PIXEL = "dilations=(1, 1), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"

LAST_CHANNELS = {
    "images": f"Conv(Transpose(x; perm=(-1, -3, -2)), y, z; {PIXEL}) = Transpose(Add(MatMul(x, "
    "Transpose(Reshape(y; shape=(p, k)); perm=(-1, -2))), z); perm=(-1, -3, -2)) "
    "where x[n, h, w, k], y[p, k, 1, 1], z[p]",
    "lines": "Conv(Transpose(x; perm=(-1, -2)), y; dilations=(1,), group=1, pads=(0, 0), strides=(1,)) = "
    "Transpose(MatMul(x, Transpose(Reshape(y; shape=(p, k)); perm=(-1, -2))); perm=(-1, -2)) "
    "where x[n, m, k], y[p, k, 1]",
    "images, and back": f"Transpose(Conv(Transpose(x; perm=(-1, -3, -2)), y; {PIXEL}); perm=(-2, -1, -3)) = "
    "MatMul(x, Transpose(Reshape(y; shape=(p, k)); perm=(-1, -2))) where x[n, h, w, k], y[p, k, 1, 1]",
}


@pytest.fixture(scope="module")
def candidates(library):
    return discover_pixels(library, 0, frozenset(library.operators))


def operators(root):
    return tuple(term.operator for term in postorder([root]) if isinstance(term, Apply))


def test_products_of_one_matrix_several_and_images_are_found_with_a_bias_and_without(candidates):
    products = [rule for rule in candidates if convolves_rows(rule) and "Reshape" not in operators(rule.source[0])]
    assert Counter(operators(rule.source[0]) for rule in products) == {("MatMul",): 3, ("MatMul", "Add"): 3}
    ranks = [max(variable.type.rank for variable in rule.variables) for rule in products]
    assert sorted(ranks) == [2, 2, 3, 3, 4, 4]


def test_channels_that_are_last_pass_maps_pairs_and_each_other(candidates):
    texts = "\n".join(map(format_rule, candidates))
    for needed in (
        "Relu(Transpose(x; perm=(-2, -1, -3))) = Transpose(Relu(x); perm=(-2, -1, -3)) where x[*b, n, c, h]",
        "Gelu(Transpose(x; perm=(-1, -2)), y) = Transpose(Gelu(x, y); perm=(-1, -2)) where x[*b, m, k], y[]",
        "Gelu(Reshape(x; shape=(*s,)), y) = Reshape(Gelu(x, y); shape=(*s,)) where x[*b], y[]",
        "Transpose(Mul(y, x); perm=(-2, -1, -3)) = "
        "Mul(Transpose(x; perm=(-2, -1, -3)), Transpose(y; perm=(-2, -1, -3)))",
        "x = Transpose(Transpose(x; perm=(-2, -1, -3)); perm=(-1, -3, -2)) where x[*b, n, c, h]",
    ):
        assert needed in texts
    assert "Less" not in texts  # what is true or false is read by choices alone
    undone = [rule for rule in candidates if any(isinstance(root, Var) for root in rule.roots)]
    assert len(undone) == 2


@pytest.mark.parametrize("law", LAST_CHANNELS.values(), ids=LAST_CHANNELS)
def test_convolutions_of_what_had_its_channels_last_are_found_to_be_products(candidates, covers, law):
    assert covers(candidates, law)


def test_candidates_are_proved_at_all_sizes(library, candidates):
    prover = Prover(library)
    assert all(isinstance(examine(library, prover, rule), Proved) for rule in candidates)


def test_weights_that_are_not_turned_are_refuted(library):
    turned, plain = IMAGES.format("Transpose(y; perm=(-1, -2))", PIXEL), IMAGES.format("y", PIXEL)
    verdicts = [
        examine(library, Prover(library), parse_rule(f"{text} where x[n, m, k], y[k, p]", library.builder()))
        for text in (
            f"MatMul(x, y) = Transpose(Reshape({images}; shape=(n, p, m)); perm=(-1, -2))" for images in (turned, plain)
        )
    ]
    assert isinstance(verdicts[0], Proved)
    assert isinstance(verdicts[1], Refuted)


@pytest.mark.parametrize("missing", ["Conv", "MatMul"])
def test_no_product_is_found_without_one_of_the_operators(library, missing):
    found = discover_pixels(library, 0, frozenset(library.operators) - {missing})
    assert found
    assert not any(map(convolves_rows, found))


def test_only_the_named_operators_are_tried(library):
    found = discover_pixels(library, 0, frozenset({"Transpose", "Erf"}))
    assert {name for rule in found for root in rule.roots for name in operators(root)} == {"Transpose", "Erf"}
    assert len(found) == 3
