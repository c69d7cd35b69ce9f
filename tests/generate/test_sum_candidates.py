"""Sums over rows and columns are found to be linear, by enumeration, and what is found is proved at all sizes."""

import pytest

from taso_opt.generate.enumeration.families import POOLS
from taso_opt.generate.enumeration.moves import moves, shards
from taso_opt.generate.pipeline import tensor_operators
from taso_opt.generate.schemes.means import discover_means
from taso_opt.spec.text import format_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.scalar_rules import is_definitional, is_enumerated

SUMMED = {
    "summed products": "ReduceSum, MatMul, Transpose",
    "products as sums": "ReduceSum, MatMul, Mul, Transpose",
    "summed columns": "ReduceSum, Concat, Add",
    "summed rows": "ReduceSum, Concat, Add",
    "summed parts": "ReduceSum, Split",
}


@pytest.mark.parametrize(
    ("pool", "law"),
    [
        (
            "summed products",
            "ReduceSum(MatMul(x, w); axes=(-2,)) = MatMul(ReduceSum(x; axes=(-2,)), w) where x[*b, m, k], w[k, n]",
        ),
        (
            "summed products",
            "ReduceSum(MatMul(x, w); axes=(-1,)) = MatMul(x, ReduceSum(w; axes=(-1,))) where x[*b, m, k], w[k, n]",
        ),
        (
            "summed products",
            "ReduceSum(Transpose(x; perm=(-1, -2)); axes=(-1,)) = "
            "Transpose(ReduceSum(x; axes=(-2,)); perm=(-1, -2)) where x[*b, m, k]",
        ),
        (
            "summed products",
            "ReduceSum(ReduceSum(x; axes=(-1,)); axes=(-2,)) = ReduceSum(x; axes=(-2, -1)) where x[*b, m, k]",
        ),
        (
            "products as sums",
            "MatMul(x, Transpose(y; perm=(-1, -2))) = ReduceSum(Mul(x, y); axes=(-1,)) where x[*b, m, k], y[*b, 1, k]",
        ),
        (
            "products as sums",
            "ReduceSum(Mul(x, r); axes=(-1,)) = Mul(ReduceSum(x; axes=(-1,)), r) where x[*b, m], r[*b, 1]",
        ),
        (
            "summed columns",
            "ReduceSum(Concat(x, y; axis=-1); axes=(-1,)) = "
            "Add(ReduceSum(x; axes=(-1,)), ReduceSum(y; axes=(-1,))) where x[*b, m], y[*b, n]",
        ),
        (
            "summed rows",
            "ReduceSum(Concat(x, y; axis=-2); axes=(-1,)) = "
            "Concat(ReduceSum(x; axes=(-1,)), ReduceSum(y; axes=(-1,)); axis=-2) where x[*b, m, k], y[*b, n, k]",
        ),
    ],
)
def test_sums_pass_what_is_linear(discovered, covers, pool, law):
    assert covers(discovered(pool, SUMMED[pool]), law)


def test_all_that_is_found_of_sums_is_proved_at_all_sizes(discovered, op):
    found = [rule for pool, operators in SUMMED.items() for rule in discovered(pool, operators) if sums(rule)]
    assert len(found) > 80
    for rule in found:
        assert is_definitional(op, rule) and is_enumerated(op, rule)
        assert prove_definition(op, rule) is None, format_rule(rule)


def test_sums_over_images_pass_pointwise_convolutions_without_a_bias_only(library):
    texts = list(map(format_rule, discover_means(library, 0, frozenset({"ReduceSum", "Conv", "Add"}))))
    (convolution,) = (text for text in texts if "Conv(" in text)
    assert "ReduceSum(x; axes=(-2, -1))" in convolution
    assert "ReduceSum(Add(x, y); axes=(-2, -1)) = " in " ".join(texts)
    # what is added to every element is in the sum as often as there are elements
    assert not any("y[]" in text and "Add" in text for text in texts)


def test_sums_are_enumerated_in_pools_of_their_own_alone(library):
    operators = tensor_operators(library.operators)
    with_sums = {
        pool.name
        for pool in POOLS
        for shard in shards(pool, operators)
        if any(move.operator.name == "ReduceSum" for move in moves(shard, operators))
    }
    assert with_sums == set(SUMMED)


def sums(rule):
    return "ReduceSum" in rule.operators
