"""Rules that hold for some constants only: proved with their condition, refuted without it or with a weaker one."""

import json
from dataclasses import replace

import pytest

from taso_opt.core.condition import ALL_BOUNDS, weaker
from taso_opt.core.rule import Certificate, FpClass
from taso_opt.spec.rule_file import proofs_path, read_rules, rule_id, write_rules
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.checker.proofs import conditions, digest
from taso_opt.verify.checker.terms import Wrong
from taso_opt.verify.conditions.infer import holds_under_conditions, inferred, weakest
from taso_opt.verify.evaluation.witness import make_witness, replay
from taso_opt.verify.examine import examine, examine_under_conditions
from taso_opt.verify.library.check import check_library
from taso_opt.verify.library.proofs import write_proofs
from taso_opt.verify.verdict import Proved, Refuted, Unknown

POOL = "dilations=(1, 1), kernel=(k_h, k_w), pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
APART = POOL.replace("(1, 1)", "(d_h, d_w)")
BOTH = "s[*any_s], x[*any_x]"
RELU = f"Relu(Mul(x, s)) = Mul(Relu(x), s) where {BOTH} and s >= 0"
SLOPE = f"Max(x, Mul(x, s)) = PRelu(x, s) where {BOTH} and s <= 1"
MAXPOOL = f"MaxPool(Mul(x, s); {POOL}) = Mul(MaxPool(x; {POOL}), s) where s[c, 1, 1], x[n, c, h, w] and s >= 0"
TRUE = [
    RELU,
    SLOPE,
    MAXPOOL,
    f"Relu(Div(x, s)) = Div(Relu(x), s) where {BOTH} and s > 0",
    f"Min(x, Mul(x, s)) = PRelu(x, s) where {BOTH} and s >= 1",
    f"Max(x, Mul(y, s)) = Add(x, Relu(Sub(Mul(y, s), x))) where {BOTH}, y[*any_y] and s >= 0",
    f"Max(Mul(x, s), Mul(y, s)) = Mul(Min(x, y), s) where {BOTH}, y[*any_y] and s <= 0",
    f"PRelu(PRelu(x, s), t) = PRelu(x, Mul(s, t)) where {BOTH}, t[*any_t] and s >= 0",
    f"MaxPool(PRelu(x, s); {POOL}) = PRelu(MaxPool(x; {POOL}), s) where s[], x[n, c, h, w] and s >= 0",
    f"MaxPool(Div(x, s); {POOL}) = Div(MaxPool(x; {POOL}), s) where s[], x[n, c, h, w] and s > 0",
]
UNCONDITIONAL = [
    f"MaxPool(Add(x, s); {POOL}) = Add(MaxPool(x; {POOL}), s) where s[c, 1, 1], x[n, c, h, w]",
    f"MaxPool(Sigmoid(x); {POOL}) = Sigmoid(MaxPool(x; {POOL})) where x[n, c, h, w]",
    f"MaxPool(LeakyRelu(x, 1/5); {POOL}) = LeakyRelu(MaxPool(x; {POOL}), 1/5) where x[n, c, h, w]",
]


@pytest.fixture(scope="module")
def rule(library):
    return lambda text: parse_rule(text, library.builder())


@pytest.mark.parametrize("text", [*TRUE, *UNCONDITIONAL])
def test_a_rule_is_proved_under_its_condition(library, prover, rule, text):
    verdict = examine(library, prover, rule(text))
    assert isinstance(verdict, Proved), verdict


@pytest.mark.parametrize("text", [*TRUE[:5], *TRUE[6:]])
def test_no_condition_can_be_dropped_or_weaker(library, prover, rule, text):
    true = rule(text)
    (condition,) = true.conditions
    weak = [true.under([]), *(true.under([replace(condition, bounds=one)]) for one in weaker(condition.bounds))]
    for one in weak:
        assert not isinstance(examine(library, prover, one), Proved), format_rule(one)
    assert isinstance(examine(library, prover, weak[0]), Refuted)


def test_a_condition_that_is_not_needed_is_found_out_and_dropped(library, rule):
    assert weakest(library.builder(), rule(f"{SLOPE.removesuffix('s <= 1')}0 <= s <= 1")) == rule(SLOPE)
    assert weakest(library.builder(), rule(RELU.replace("s >= 0", "s >= 1"))) == rule(RELU)
    two = rule(f"{RELU} and x <= 0")
    assert weakest(library.builder(), two) == rule(RELU)
    assert make_witness(library.builder(), two) is None


@pytest.mark.parametrize("text", [RELU, SLOPE, MAXPOOL])
def test_an_equation_without_a_condition_is_proved_where_it_holds(library, prover, rule, text):
    true = rule(text)
    verdict = examine_under_conditions(library, prover, true.under([]))
    assert isinstance(verdict, Proved)
    assert verdict.conditions == tuple(map(str, true.conditions))


@pytest.mark.parametrize(
    "text",
    [
        "Relu(Add(x, y)) = Add(Relu(x), Relu(y)) where x[*a], y[*a]",
        "Neg(x) = x where x[*a]",
        "MatMul(x, y) = MatMul(y, x) where x[n, n], y[n, n]",
    ],
)
def test_what_no_condition_makes_true_stays_refuted(library, prover, rule, text):
    assert inferred(library.builder(), rule(text)) is None
    assert isinstance(examine_under_conditions(library, prover, rule(text)), Refuted)


def test_what_is_true_anyway_and_only_axioms_do_not_prove_gets_no_condition(library, prover, rule):
    nested = rule("Add(Add(y, z), x) = Add(Add(y, x), z) where x[n, 1, 1], y[*b, n, c, h], z[*b, 1, 1, 1]")
    assert prover.prove(nested) is not None
    verdict = examine_under_conditions(library, prover, nested)
    assert isinstance(verdict, Proved)
    assert verdict.conditions == ()


@pytest.mark.parametrize("text", [MAXPOOL, *UNCONDITIONAL])
def test_windows_that_may_lie_in_padding_alone_are_not_claimed(library, prover, rule, text):
    apart = rule(text.replace(POOL, APART))
    assert isinstance(examine(library, prover, apart), Unknown)
    unpadded = rule(text.replace(POOL, APART.replace("(p_t, p_l, p_b, p_r)", "(0, 0, 0, 0)")))
    assert isinstance(examine(library, prover, unpadded), Proved)


def test_nor_are_they_where_something_else_is_computed_of_them(library, prover, rule):
    moved = "{0}(Relu(MaxPool(x; {1})); axes=(-1,)) = {0}(MaxPool(Relu(x); {1}); axes=(-1,)) where x[n, c, h, w]"
    assert isinstance(examine(library, prover, rule(moved.format("ReduceSum", POOL))), Proved)
    assert isinstance(examine(library, prover, rule(moved.format("ReduceSum", APART))), Unknown)


def test_a_map_that_falls_somewhere_does_not_pass_a_pooling(library, rule):
    for name in ("Abs", "Neg", "HardSwish"):
        text = f"MaxPool({name}(x); {POOL}) = {name}(MaxPool(x; {POOL})) where x[n, c, h, w]"
        assert not holds_under_conditions(library.builder(), rule(text)), name
    each = (
        f"MaxPool(Mul(x, y); {POOL}) = Mul(MaxPool(x; {POOL}), MaxPool(y; {POOL})) where x[n, c, h, w], y[n, c, h, w]"
    )
    assert not holds_under_conditions(library.builder(), rule(f"{each} and y >= 0"))


@pytest.mark.parametrize("text", TRUE[:5])
def test_a_witness_meets_its_conditions_and_tells_what_happens_without_them(library, rule, text):
    true, builder = rule(text), library.builder()
    witness = make_witness(builder, true)
    assert replay(builder, true, witness) is None
    ((source, target),) = witness.without
    assert source != target
    assert replay(builder, true.under([]), witness) is not None
    assert "is needed" in replay(builder, true, replace(witness, without=((source, source),)))


@pytest.fixture
def path(library, prover, rule, tmp_path):
    """A library of conditional rules with its proofs."""
    path = tmp_path / "library.jsonl"
    rules = []
    for one in map(rule, (RELU, SLOPE, MAXPOOL)):
        certificate = Certificate((), examine(library, prover, one).engine, library.digest)
        rules.append(replace(one, fp_class=FpClass.E3, certificate=certificate))
    write_rules(path, rules)
    write_proofs(path, library, list(read_rules(path, library.builder())))
    return path


def resealed(path, old, new, entry_too):
    """Change the text of one rule, and everything that names it by hash, as somebody would who knows how."""
    proofs = [json.loads(line) for line in proofs_path(path).read_text().splitlines()]
    lines = []
    for line in map(json.loads, path.read_text().splitlines()):
        before = line["id"]
        line["rule"] = line["rule"].replace(old, new)
        line["id"] = rule_id(line["rule"])
        lines.append(json.dumps(line, ensure_ascii=False))
        for entry in proofs[1:]:
            if entry.get("rule") == before:
                entry["rule"], entry["line"] = line["id"], digest(lines[-1].encode())
                if entry_too:
                    entry["conditions"] = list(conditions(line["rule"]))
    path.write_text("".join(f"{line}\n" for line in lines))
    rest = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in proofs[1:])
    header = {**proofs[0], "library": digest(path.read_bytes()), "proofs": digest(rest.encode())}
    proofs_path(path).write_text(json.dumps(header) + "\n" + rest)


def test_a_library_with_conditions_passes_the_check(library, path):
    result = check_library(path, library)
    assert (result.rules, result.failures) == (3, ())


CHANGES = [
    (" and s <= 1", "", "it is false"),
    (" and s <= 1", " and s >= 0", "it is false"),
    (" and s <= 1", " and x <= 0", "it is false"),
    (" and s <= 1", " and 0 <= s <= 1", "its witness gives other values"),
]


@pytest.mark.parametrize(("old", "new", "problem"), CHANGES)
def test_a_changed_condition_fails_the_check_even_with_fitting_digests(library, path, old, new, problem):
    resealed(path, old, new, entry_too=True)
    problems = [failure.problem for failure in check_library(path, library).failures]
    assert any(problem in one for one in problems), problems


def test_a_proof_of_other_conditions_is_none(library, path):
    resealed(path, " and s <= 1", " and 0 <= s <= 1", entry_too=False)
    problems = [failure.problem for failure in check_library(path, library).failures]
    assert "its proof is for other conditions: expected ['0 <= s <= 1'], found ['s <= 1']" in problems


@pytest.mark.parametrize("said", [bounds.text.format("s") for bounds in ALL_BOUNDS])
def test_the_checker_knows_every_condition_that_a_rule_may_have(said):
    equation, _, _ = RELU.partition(" and ")
    assert conditions(f"{equation} and {said}") == (said,)


def test_the_checker_reads_conditions_on_its_own():
    assert conditions(RELU) == ("s >= 0",)
    assert conditions(f"{RELU} and 0 <= x <= 1") == ("s >= 0", "0 <= x <= 1")
    for said in ("s >= 2", "t >= 0", "s >= 0", "0 <= s <= 1", "s", ""):
        with pytest.raises(Wrong, match="a condition on a variable"):
            conditions(f"{RELU} and {said}")
