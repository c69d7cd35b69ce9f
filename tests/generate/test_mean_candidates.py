"""Means pass what is linear and nothing else, and what is found is proved at all sizes."""

import pytest

from taso_opt.generate.schemes.means import discover_means
from taso_opt.spec.text import format_rule
from taso_opt.verify.definitions import prove_definition


@pytest.fixture(scope="module")
def found(library):
    return discover_means(library, 0, frozenset(library.operators))


def test_means_of_products_and_pointwise_convolutions_are_found(found):
    texts = list(map(format_rule, found))
    assert (
        "MatMul(ReduceMean(x; axes=(-2,)), y) = ReduceMean(MatMul(x, y); axes=(-2,)) where x[*b, m, k], y[k, n]"
        in texts
    )
    assert sum("Conv(" in text and "ReduceMean(" in text for text in texts) == 2


def test_a_mean_of_a_product_of_two_averaged_tensors_is_not_a_product_of_means(found):
    assert not [text for text in map(format_rule, found) if text.count("ReduceMean") == 3 and "Mul(" in text]


def test_what_is_found_is_proved_at_all_sizes(library, found):
    assert len(found) >= 20
    for rule in found:
        assert prove_definition(library.builder(), rule) is None, format_rule(rule)


def test_nothing_is_found_for_operators_that_are_not_asked_for(library):
    assert discover_means(library, 0, frozenset({"MatMul", "Add"})) == ()
    few = discover_means(library, 0, frozenset({"ReduceMean", "MatMul"}))
    assert frozenset().union(*(rule.operators for rule in few)) == {"ReduceMean", "MatMul"}
