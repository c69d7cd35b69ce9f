from pathlib import Path

import pytest

from taso_opt.spec.text import parse_rule
from taso_opt.verify.evaluation.refute import FLOAT_EVERY, INSTANCES, refute
from taso_opt.verify.examine import examine, holds
from taso_opt.verify.verdict import Counterexample, Proved, Refuted, Unknown

BAD = sorted((Path(__file__).parents[1] / "rules" / "bad").glob("*.rule"))


def read(path):
    lines = path.read_text().splitlines()
    (expected,) = [line.removeprefix("# refuted: ") for line in lines if line.startswith("# refuted: ")]
    (text,) = [line for line in lines if not line.startswith("#")]
    return expected, text


def test_there_are_at_least_thirty_false_rules():
    assert len(BAD) >= 30


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_false_rule_is_refuted_and_never_proved(library, prover, path):
    expected, text = read(path)
    rule = parse_rule(text, library.builder())
    verdict = examine(library, prover, rule)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample.arithmetic.startswith(expected)
    assert verdict.counterexample.source_value != verdict.counterexample.target_value
    assert prover.prove(rule) is not None


def test_a_counterexample_shows_sizes_attributes_and_both_values(library):
    rule = parse_rule("Concat(x, y; axis=-1) = Concat(y, x; axis=-1) where x[m, n], y[m, n]", library.builder())
    found = refute(library.builder(), rule)
    assert isinstance(found, Counterexample)
    assert [one[0] for one in found.variables] == ["x", "y"]
    assert found.source == "Concat(x, y; axis=-1)"
    assert found.target == "Concat(y, x; axis=-1)"
    assert found.source_value in str(found) and found.target_value in str(found) and "modulo 2147483647" in str(found)


def test_a_huge_number_beside_a_difference_does_not_hide_it(library):
    text = "Concat(Sigmoid(x), {0}; axis=-1) = Concat(Tanh(x), {0}; axis=-1) where x[1, c]"
    found = refute(
        library.builder(), parse_rule(text.format("Expand(10000000000000; shape=(1, c))"), library.builder())
    )
    assert isinstance(found, Counterexample)


def test_numbers_are_tried_beside_residues(library, monkeypatch):
    """Residues have neither order nor size: what a float cannot hold shows among numbers alone."""
    tried = []
    monkeypatch.setattr("taso_opt.verify.evaluation.refute._compare", lambda *asked: tried.append(asked[3]))
    monkeypatch.setattr("taso_opt.verify.evaluation.refute._compare_residues", lambda *asked: tried.append("residues"))
    rule = parse_rule("MatMul(x, y) = MatMul(x, y) where x[m, k], y[k, n]", library.builder())
    refute(library.builder(), rule)
    assert tried.count("residues") == INSTANCES
    assert tried.count("float64") == -(-INSTANCES // FLOAT_EVERY)


def test_a_true_rule_survives_every_instance_and_the_answer_repeats(library):
    rule = parse_rule("Relu(Relu(x)) = Relu(x) where x[*a]", library.builder())
    assert refute(library.builder(), rule) == INSTANCES
    false = parse_rule("Relu(x) = x where x[*a]", library.builder())
    assert refute(library.builder(), false) == refute(library.builder(), false)


def test_a_true_rule_is_proved_with_its_witness(library, prover):
    rule = parse_rule("Relu(Relu(x)) = Relu(x) where x[*a]", library.builder())
    verdict = examine(library, prover, rule)
    assert isinstance(verdict, Proved)
    assert verdict.instances == INSTANCES
    assert verdict.engine.startswith("z3 ")


def test_a_rule_whose_operands_fit_at_no_small_size_is_unknown(library, prover):
    rule = parse_rule("Relu(Relu(x)) = Relu(x) where x[99999999999]", library.builder())
    verdict = examine(library, prover, rule)
    assert isinstance(verdict, Unknown)
    assert "no small sizes" in verdict.reason


@pytest.mark.parametrize(
    "text",
    [
        "Relu(Mul(x, x)) = Mul(x, x) where x[*a]",
        "Relu(Add(Relu(x), Relu(y))) = Add(Relu(x), Relu(y)) where x[*a], y[*a]",
    ],
)
def test_what_only_the_order_of_numbers_makes_true_is_unknown_and_not_refuted(library, prover, text):
    verdict = examine(library, prover, parse_rule(text, library.builder()))
    assert isinstance(verdict, Unknown)
    assert verdict.reason.startswith("it holds for the numbers tried, but not with functions such as Relu left open: ")


def test_a_negative_pad_is_unknown_and_not_a_crash(library, prover):
    pool = "MaxPool(x; dilations=(1, 1), kernel=(2, 2), pads=(-1, 0, 0, 0), strides=(1, 1))"
    rule = parse_rule(f"Relu(Relu({pool})) = Relu({pool}) where x[1, 1, 8, 8]", library.builder())
    assert isinstance(examine(library, prover, rule), Unknown)


def test_witnesses_that_disagree_fail_naming_both(library, prover):
    class Gullible:
        def prove(self, rule, axioms=None):
            return None

        def axioms_used(self, rule):
            return ("a_false_axiom",)

    rule = parse_rule("Relu(x) = x where x[*a]", library.builder())
    for judge in (examine, holds):
        with pytest.raises(AssertionError, match=r"a_false_axiom of Relu\(x\) = x .* although Relu\(x\) is"):
            judge(library, Gullible(), rule)
