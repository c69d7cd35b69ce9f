"""Sums over pairs of rows are found to be products, those of squares among them, and proved not to be negative."""

import pytest

from taso_opt.core.term import Apply, postorder
from taso_opt.generate.schemes.pairs import discover_pairs
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.verdict import Proved, Refuted

DISTANCES = "ReduceSum(Pow(Sub(x, y); exponent=(2, 1)); axes=(-1,))"
SQUARES = "ReduceSum(Pow({0}; exponent=(2, 1)); axes=(-1,))"
SUM = f"Add({SQUARES.format('x')}, SquaredNorms(y))"
PRODUCT = "Mul(2, Reshape(MatMul(Reshape(x; shape=(*b, m, k)), Transpose(y; perm=(-1, -2))); shape=(*b, m, n, 1)))"
TYPES = "where x[*b, m, 1, k], y[n, k]"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_pairs(library, 0, frozenset(library.operators))


def is_scaled(rule):
    """Whether differences are scaled and not added up."""
    return {term.operator for term in rule.applications} <= {"Sub", "Mul", "Div"}


def test_differences_in_either_order_are_found_in_four_spellings(candidates, covers):
    assert covers(candidates, f"{DISTANCES} = Relu(Sub({SUM}, {PRODUCT})) {TYPES}")
    names = [{term.operator for term in postorder(rule.source) if isinstance(term, Apply)} for rule in candidates]
    for spelled in ({"Mul", "ReduceSum"}, {"Pow", "ReduceSum"}, {"ReduceSumSquare"}, {"ReduceL2"}):
        assert names.count(spelled | {"Sub"}) == 2


def test_distances_are_those_to_fixed_vectors_alone(library, candidates):
    """Each row of a tensor has a distance of nothing to itself, of which rounding would leave anything."""
    subtracting = [rule for rule in candidates if any(term.operator == "Sub" for term in rule.applications)]
    distances = [rule for rule in subtracting if not is_scaled(rule)]
    assert len(distances) == 8 and len(subtracting) == 16
    assert all("SquaredNorms" in {term.operator for term in rule.applications} for rule in distances)
    assert library.operators["SquaredNorms"].weights_only


@pytest.mark.parametrize("scale", ["s[]", "s[k]"])
@pytest.mark.parametrize(
    "law",
    ["Div(Sub({0}, {1}), s) = Sub(Div({0}, s), Div({1}, s))", "Mul(Sub({0}, {1}), s) = Sub(Mul({0}, s), Mul({1}, s))"],
)
def test_differences_that_are_scaled_are_those_of_scaled_rows(candidates, covers, law, scale):
    for pair in ("xy", "yx"):
        assert covers(candidates, f"{law.format(*pair)} {TYPES}, {scale}")


@pytest.mark.parametrize(
    "law",
    [
        "ReduceSum(Mul(x, y); axes=(-1,)) = Reshape(MatMul(Reshape(x; shape=(*b, m, k)), Transpose(y; perm=(-1, -2))); "
        "shape=(*b, m, n, 1)) where x[*b, m, 1, k], y[n, k]",
        "ReduceSum(Mul(x, y); axes=(-2,)) = Reshape(MatMul(Reshape(x; shape=(*b, m, k)), y); shape=(*b, m, 1, n)) "
        "where x[*b, m, k, 1], y[k, n]",
        "ReduceSum(Mul(x, y); axes=(-3,)) = Reshape(MatMul(Transpose(Reshape(x; shape=(*b, k, m)); perm=(-1, -2)), "
        "Reshape(y; shape=(*b, k, n))); shape=(*b, 1, m, n)) where x[*b, k, m, 1], y[*b, k, 1, n]",
    ],
)
def test_sums_of_multiples_are_found(candidates, covers, law):
    assert covers(candidates, law)


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
    assert discover_pairs(library, 0, frozenset({"MatMul", "Mul", "ReduceSum"})) == ()
    assert len(discover_pairs(library, 0, frozenset({"MatMul", "Mul", "ReduceSum", "Reshape", "Transpose"}))) == 5
