"""Mutants: a sample of those of `make mutate`, each of which must be caught or be true."""

import pytest

import mutate
from mutation import mutants
from mutation.runtime_cases import runtime_cases
from taso_opt.spec import load_specs
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.index_functions.prove import ProvedForAllSizes, prove_axiom

LIBRARY = load_specs()


def law(text):
    return parse_rule(text, LIBRARY.builder())


def test_a_law_is_changed_in_operands_axes_operators_and_variables():
    rule = law(
        "MatMul(x, Concat(y, z; axis=-1)) = Concat(MatMul(x, y), MatMul(x, z); axis=-1) where x[n, n], y[n, n], z[n, n]"
    )
    texts = {format_rule(mutant).partition(" where ")[0] for mutant in mutants.changed_laws(rule, LIBRARY.builder())}
    assert "MatMul(x, Concat(y, z; axis=-1)) = Concat(MatMul(x, z), MatMul(x, y); axis=-1)" in texts
    assert "MatMul(x, Concat(y, z; axis=-1)) = Concat(MatMul(x, y), MatMul(z, x); axis=-1)" in texts
    assert "MatMul(x, Concat(y, z; axis=-1)) = Concat(MatMul(x, y), MatMul(x, y); axis=-1)" in texts
    assert all(format_rule(rule) != text for text in texts)


def test_a_precondition_is_dropped_or_refused_by_the_types():
    conv = "dilations=(1, 1), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"
    rule = law(
        f"Conv(Add(x, y), f; {conv}) = Add(Conv(x, f; {conv}), Conv(y, f; {conv})) where "
        "x[n, c, h, w], y[n, c, h, w], f[m, c, 1, 1]"
    )
    weaker = list(mutants.weakened_laws(rule, LIBRARY.builder()))
    assert None in weaker  # y may not have channels of its own
    texts = " ".join(format_rule(one) for one in weaker if one is not None)
    assert "f[m, c, fresh, 1]" in texts
    assert "strides=(2, 1)" in texts and "pads=(0, 0, 1, 0)" in texts


@pytest.mark.parametrize(
    ("text", "fate"),
    [
        ("MatMul(x, y) = MatMul(y, x) where x[n, n], y[n, n]", "caught"),
        ("Sub(x, y) = Sub(y, x) where x[*a], y[*a]", "caught"),
        ("Transpose(Transpose(x; perm=(-1, -2)); perm=(-1, -2)) = x where x[m, n]", "true"),
    ],
)
def test_a_false_law_is_caught_and_a_true_one_is_told_from_it(text, fate):
    assert mutate.law_fate(LIBRARY.builder(), law(text)) == fate


def test_a_sample_of_the_mutated_axioms_and_preconditions_has_no_survivor():
    outcomes = list(mutate.law_outcomes(LIBRARY, every=80))
    assert len(outcomes) > 40
    assert [outcome for outcome in outcomes if outcome.fate == "survived"] == []
    assert sum(outcome.fate == "caught" for outcome in outcomes) > 30


def test_a_sample_of_the_mutated_meanings_has_no_survivor():
    outcomes = list(mutate.meaning_outcomes(LIBRARY, every=24))
    assert len(outcomes) > 10
    assert [outcome for outcome in outcomes if outcome.fate not in ("caught", "equivalent")] == []


@pytest.mark.parametrize("change", ["line 7: 2 * channels becomes 2 + channels", "line 6: 0 becomes 1"])
def test_a_changed_preparation_of_kernels_is_told_from_what_the_runtime_computes(change):
    function = LIBRARY.operators["PairGroups"].evaluate
    cases = list(runtime_cases(LIBRARY, "PairGroups"))
    assert len(cases) > 10 and all(case.agrees(LIBRARY) for case in cases)
    changed = [mutant for mutant in mutants.changed_meanings(function) if mutant.change == change]
    assert changed
    for mutant in changed:
        with mutants.in_force(function, mutant):
            assert mutate._meaning_fate(LIBRARY, {"PairGroups": cases}) == "caught"


@pytest.mark.parametrize("name", ["Celu", "FourierKernel"])
def test_each_mutant_of_what_no_law_states_is_told_from_what_the_runtime_computes(name):
    function = LIBRARY.operators[name].evaluate
    cases = list(runtime_cases(LIBRARY, name))
    assert cases and all(case.agrees(LIBRARY) for case in cases)
    changed = list(mutants.changed_meanings(function))
    assert len(changed) > 3
    for mutant in changed:
        with mutants.in_force(function, mutant):
            assert mutate._meaning_fate(LIBRARY, {name: cases}) == "caught", mutant.change


def test_a_mutated_meaning_is_in_force_only_for_a_while():
    axiom = LIBRARY.axioms["transpose_of_matmul"]
    function = LIBRARY.operators["MatMul"].evaluate
    (swapped,) = [one for one in mutants.changed_meanings(function) if "swap" in one.change or "y, x)" in one.change]
    kept = function.__code__
    with mutants.in_force(function, swapped):
        assert function.__code__ is not kept
        assert not isinstance(prove_axiom(LIBRARY.axioms["product_of_column_and_row"], LIBRARY), ProvedForAllSizes)
    assert function.__code__ is kept
    assert isinstance(prove_axiom(axiom, LIBRARY), ProvedForAllSizes)


CONDITIONAL = [
    "Relu(Mul(x, s)) = Mul(Relu(x), s) where s[*any_s], x[*any_x] and s >= 0",
    "Relu(Div(x, s)) = Div(Relu(x), s) where s[*any_s], x[*any_x] and s > 0",
    "PRelu(PRelu(x, s), t) = PRelu(x, Mul(s, t)) where s[*any_s], t[*any_t], x[*any_x] and s >= 0",
]


def test_conditions_are_dropped_and_weakened_and_each_is_caught():
    outcomes = list(mutate.condition_outcomes(LIBRARY, map(law, CONDITIONAL)))
    assert [outcome.fate for outcome in outcomes] == ["caught"] * 7
    assert sum(outcome.mutant.endswith("and s >= -1") for outcome in outcomes) == 3
    assert sum(outcome.mutant.endswith("and s >= 0") for outcome in outcomes) == 1


def test_a_condition_that_is_not_needed_would_be_told():
    rules = map(law, (CONDITIONAL[0].replace("s >= 0", "s >= 1"), f"{CONDITIONAL[0]} and x <= 1"))
    fates = [outcome.fate for outcome in mutate.condition_outcomes(LIBRARY, rules)]
    assert fates == ["caught", "caught", "true", "true", "caught", "caught", "true"]
