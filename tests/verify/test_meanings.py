"""Equations that hold by the meanings of their operators although no axiom gives them."""

import json
from dataclasses import replace

import pytest

from taso_opt.spec.rule_file import read_rules, write_rules
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.examine import examine
from taso_opt.verify.library.check import check_library
from taso_opt.verify.library.pipeline import build_library, examine_all, renewed
from taso_opt.verify.processes.crew import Crew
from taso_opt.verify.processes.worker import Examine
from taso_opt.verify.verdict import Proved, Unknown

BROADCAST = "Sub(x, Sub(y, z)) = Sub(z, Sub(y, x)) where x[*b, n, c, h], y[h], z[n, 1, 1]"
INSTANCE = "Sub(x, Sub(y, z)) = Sub(z, Sub(y, x)) where x[*b, n, c, 2], y[2], z[n, 1, 1]"
JOINED = "MatMul(x, Concat(y, z; axis=-1)) = Concat(MatMul(x, y), MatMul(x, z); axis=-1)"
AXIOMATIC = f"{JOINED} where x[*b, m, k], y[*b, k, n], z[*b, k, p]"


@pytest.fixture(scope="module")
def built(library):
    """The library of one rule that the meanings give, an instance of it, and one rule that axioms give."""
    rules = [parse_rule(text, library.builder()) for text in (BROADCAST, INSTANCE, AXIOMATIC)]
    with Crew() as crew:
        verdicts = examine_all(crew, [Examine(rule) for rule in rules])
        return build_library(crew, library, rules, verdicts)


def check(library, tmp_path, rules, **changes):
    path = tmp_path / "library.jsonl"
    write_rules(path, rules)
    lines = [json.loads(line) | changes for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [failure.problem for failure in check_library(path, library).failures]


def test_what_no_axiom_gives_is_proved_by_the_meanings_at_all_sizes(library, prover):
    rule = parse_rule(BROADCAST, library.builder())
    assert prover.prove(rule) is not None
    verdict = examine(library, prover, rule)
    assert isinstance(verdict, Proved)
    assert (verdict.engine, str(verdict.fp_class)) == ("index functions", "E2")


def test_what_neither_axioms_nor_meanings_give_stays_unknown(library, prover):
    """Which operand of a maximum is taken off the other makes no difference; how three are bracketed may."""
    kept = "Slice({}; axis=-1, sizes=(k, n, p))"
    sides = kept.format("Max(Max(x, y), z)"), f"Max({kept.format('x')}, Max({kept.format('y')}, {kept.format('z')}))"
    text = f"{' = '.join(sides)} where x[k+n+p], y[k+n+p], z[k+n+p]"
    assert isinstance(examine(library, prover, parse_rule(text, library.builder())), Unknown)


def test_such_rules_are_in_the_library_without_their_instances_and_pass_the_check(library, tmp_path, built):
    (by_axioms, by_meanings) = sorted(built, key=lambda rule: rule.certificate.engine == "index functions")
    assert format_rule(by_meanings) == BROADCAST
    assert (by_meanings.certificate.axioms, by_meanings.certificate.engine) == ((), "index functions")
    assert by_axioms.certificate.axioms
    assert check(library, tmp_path, built) == []


def test_a_certificate_cannot_claim_the_meanings_for_a_proof_from_axioms_nor_the_other_way(library, tmp_path, built):
    for rule in built:
        other = "z3" if rule.certificate.engine == "index functions" else "index functions"
        (problem,) = check(library, tmp_path, [rule], engine=other)
        assert problem.startswith("its certificate was changed: it is proved by")
        assert problem.endswith(f"not by {other}")


def test_a_certificate_without_its_axioms_is_named(library, tmp_path, built):
    (by_axioms,) = [rule for rule in built if rule.certificate.axioms]
    (problem,) = check(library, tmp_path, [by_axioms], axioms=[])
    assert problem.startswith("its certificate was changed: it is proved by index functions")


def test_rules_that_the_meanings_give_are_renewed_as_they_are(library, built):
    stale = [replace(rule, certificate=replace(rule.certificate, specs="0" * 32)) for rule in built]
    with Crew() as crew:
        kept, lost = renewed(crew, library, stale)
    assert lost == []
    assert [(rule, rule.certificate) for rule in kept] == [(rule, rule.certificate) for rule in built]


def test_rules_that_the_meanings_give_read_back(library, tmp_path, built):
    write_rules(tmp_path / "library.jsonl", built)
    assert set(read_rules(tmp_path / "library.jsonl", library.builder())) == set(built)
