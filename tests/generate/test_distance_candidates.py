"""Squared distances of rows are found to be sums of squares less twice a product, and proved not to be negative."""

import pytest

from taso_opt.core.term import Apply, postorder
from taso_opt.generate.schemes.distances import discover_distances
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.verdict import Proved, Refuted

DISTANCES = "ReduceSum(Pow(Sub(x, y); exponent=(2, 1)); axes=(-1,))"
SQUARES = "ReduceSum(Pow({0}; exponent=(2, 1)); axes=(-1,))"
SUM = f"Add({SQUARES.format('x')}, {SQUARES.format('y')})"
PRODUCT = "Mul(2, Reshape(MatMul(Reshape(x; shape=(*b, m, k)), Transpose(y; perm=(-1, -2))); shape=(*b, m, n, 1)))"
TYPES = "where x[*b, m, 1, k], y[n, k]"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_distances(library, 0, frozenset(library.operators))


def test_differences_in_either_order_are_found_squared_in_two_ways(candidates, covers):
    assert len(candidates) == 8
    assert covers(candidates, f"{DISTANCES} = Relu(Sub({SUM}, {PRODUCT})) {TYPES}")
    names = [{term.operator for term in postorder(rule.source) if isinstance(term, Apply)} for rule in candidates]
    assert names.count({"Mul", "ReduceSum", "Sub"}) == names.count({"Pow", "ReduceSum", "Sub"}) == 4


def test_candidates_are_proved_at_all_sizes(library, candidates):
    builder, prover = library.builder(), Prover(library)
    for rule in candidates:
        assert prove_definition(builder, rule) is None, format_rule(rule)
        assert isinstance(examine(library, prover, rule), Proved)


@pytest.mark.parametrize(
    "target",
    [
        f"Relu(Sub({SUM}, {PRODUCT.replace('Mul(2', 'Mul(3')}))",
        f"Relu(Add({SUM}, {PRODUCT}))",
        f"Relu(Sub({SQUARES.format('x')}, {PRODUCT}))",
    ],
)
def test_other_sums_are_refuted_and_not_proved(library, target):
    rule = parse_rule(f"{DISTANCES} = {target} {TYPES}", library.builder())
    assert prove_definition(library.builder(), rule) is not None
    assert isinstance(examine(library, Prover(library), rule), Refuted)


def test_only_the_named_operators_are_tried(library):
    assert discover_distances(library, 0, frozenset({"MatMul", "Mul", "ReduceSum", "Sub"})) == ()
