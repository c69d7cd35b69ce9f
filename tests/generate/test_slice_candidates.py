"""What commutes with a slice is found for every operator, and proved from the meanings at all sizes, 0 included."""

import re

import numpy as np
import pytest

from taso_opt.core.dims import symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Var, postorder
from taso_opt.core.types import REAL, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.generate.equations.subsume import subsumes
from taso_opt.generate.schemes.slices import discover_slices
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.bounds import bounds_of_sizes
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import instantiate, random_assignment, symbols_of
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.index_functions.prove import prove_for_all_sizes
from taso_opt.verify.scalar_rules import is_definitional
from taso_opt.verify.verdict import Unknown


@pytest.fixture(scope="module")
def candidates(library):
    return discover_slices(library, 0, frozenset(library.operators))


def about(candidates, *operators):
    """The candidates with all of these operators, as text."""
    found = ((set(re.findall(r"\w+(?=\()", text)), text) for text in map(format_rule, candidates))
    return [text for names, text in found if names.issuperset(operators)]


def test_every_operator_of_numbers_that_models_have_lets_slices_pass(library, candidates):
    passed = {name for name in library.operators if about(candidates, name)}
    others = {"GRU", "Gather", "LSTM", "RNN"}
    assert {name for name, one in library.operators.items() if not one.weights_only} - others == passed


def test_a_choice_lets_slices_pass_where_it_stands_for_what_is_no_number(candidates):
    assert all("IsNaN" in text for text in about(candidates, "Where"))


def test_rows_columns_and_batches_of_products_are_found(candidates):
    found = about(candidates, "MatMul")
    counts = {axis: sum(f"axis={axis}," in text for text in found) for axis in (-1, -2, -3, -4)}
    assert counts == {-1: 3, -2: 2, -3: 3, -4: 2}


def test_rows_in_one_are_found_to_be_a_part_of_all_rows_in_one(candidates, covers):
    one = "Reshape(Slice(x; axis=-2, sizes=(n, 1, q)); shape=(*b, k))"
    rows = "Slice(Reshape(x; shape=(*b, k*n+k+k*q)); axis=-1, sizes=(k*n, k, k*q))"
    assert covers(candidates, f"{one} = {rows} where x[*b, n+1+q, k]")


def test_axes_that_a_mean_or_a_normalization_goes_over_do_not_pass(candidates):
    for text in about(candidates, "LayerNormalization"):
        assert "axis=-1" not in text
    for text in about(candidates, "ReduceMean"):
        assert not ("axis=-1," in text and "axes=(-1,)" in text)
    for text in about(candidates, "Conv"):
        assert "(1, 1)" in text or "Slice(x; axis=-1" not in text


def test_candidates_are_proved_at_all_sizes(library, candidates):
    builder = library.builder()
    for rule in candidates:
        assert is_definitional(builder, rule)
        assert prove_definition(builder, rule) is None, format_rule(rule)


def test_candidates_hold_where_nothing_is_left_away(library, candidates):
    builder, generator = library.builder(), np.random.default_rng(0)
    checked = 0
    for rule in candidates[::3]:
        roots = rule.roots
        least = bounds_of_sizes(roots).least
        sizes = {name: 0 for name, value in least.items() if value == 0 and not name.startswith("p_")}
        for _ in range(50):
            try:
                instance = instantiate(builder, roots, random_assignment(symbols_of(roots), generator) | sizes, REAL)
            except TypeMismatch:
                continue
            leaves = {leaf: generator.random(leaf.type.shape) for leaf in postorder(instance) if isinstance(leaf, Var)}
            left, right = evaluate_arrays(builder, FloatArrays(), instance, leaves)
            np.testing.assert_allclose(left, right, rtol=1e-9, err_msg=format_rule(rule))
            checked += 1
            break
    assert checked > len(candidates) / 4


@pytest.mark.parametrize(
    "law",
    [
        "Concat(Slice(x; axis=-1, sizes=(a, n, m+b)), Slice(x; axis=-1, sizes=(a+n, m, b)); axis=-1) = "
        "Slice(x; axis=-1, sizes=(a, n+m, b)) where x[*b, a+n+m+b]",
        "Concat(Slice(x; axis=-3, sizes=(a, n, m+k+b)), Slice(x; axis=-3, sizes=(a+n, m, k+b)), "
        "Slice(x; axis=-3, sizes=(a+n+m, k, b)); axis=-3) = Slice(x; axis=-3, sizes=(a, n+m+k, b)) "
        "where x[*b, a+n+m+k+b, h, w]",
    ],
)
def test_neighbours_are_joined_to_a_longer_slice(library, candidates, law):
    wanted = parse_rule(law, library.builder())
    assert any(subsumes(rule, wanted, library.builder()) for rule in candidates)


def test_what_a_slice_leaves_away_may_be_nothing_and_what_it_keeps_may_not(library):
    op = library.builder()
    n, p, q = map(symbol, "npq")
    x = Var("x", TensorType(REAL, (symbol("*b"), n + p + q)))
    assert bounds_of_sizes((op.Slice(x, axis=-1, sizes=(n, p, q)),)).least == {"n": 0, "q": 0}
    y = Var("y", TensorType(REAL, (symbol("*b"), n)))
    assert bounds_of_sizes((op.Slice(op.Concat(y, y, axis=-1), axis=-1, sizes=(0, n, n)),)).least == {}


def test_a_slice_of_another_place_is_not_proved(library):
    op = library.builder()
    n, p = map(symbol, "np")
    x = Var("x", TensorType(REAL, (symbol("*b"), 2 * n + p)))
    wrong = Rule((op.Slice(x, axis=-1, sizes=(n, n, p)),), (op.Slice(x, axis=-1, sizes=(0, n, n + p)),))
    assert isinstance(prove_for_all_sizes(op, wrong.source, wrong.target), Unknown)


def test_nothing_is_found_for_operators_that_are_not_asked_for(library):
    assert discover_slices(library, 0, frozenset({"MatMul", "Add"})) == ()
    found = discover_slices(library, 0, frozenset({"Slice", "MatMul"}))
    assert {"MatMul", "Slice"} == {name for name in library.operators if about(found, name)}


def test_the_library_holds_what_was_found_or_what_says_more(library, candidates):
    op = library.builder()
    known = {format_rule(rule): rule for rule in read_rules(None, op)}
    missing = [rule for rule in candidates if format_rule(rule) not in known]
    assert len(missing) < 5
    for rule in missing:
        assert any(subsumes(one, rule, op) for one in known.values() if one.operators == rule.operators)
