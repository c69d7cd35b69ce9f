"""Re-checks a rule library line by line: nothing that a line says of itself is believed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from taso_opt.core.rule import Rule
from taso_opt.errors import RuleError
from taso_opt.spec.library import SpecLibrary, spec_sources
from taso_opt.spec.rule_file import Record, library_bytes, proof_bytes, read_record, read_records, rule_id
from taso_opt.spec.text import format_rule
from taso_opt.verify.checker.proofs import check_proofs
from taso_opt.verify.evaluation.witness import Witness
from taso_opt.verify.explain import statements
from taso_opt.verify.index_functions.axioms import prove_axioms
from taso_opt.verify.library.pipeline import Progress, examine_all, silent
from taso_opt.verify.library.trust import compare_with_specs
from taso_opt.verify.processes.crew import Crew
from taso_opt.verify.processes.worker import Examine
from taso_opt.verify.scalar_rules import rests_on_meanings
from taso_opt.verify.verdict import Contradiction, Proved, Refuted, Unknown, Verdict


@dataclass(frozen=True)
class Failure:
    """What is wrong with one rule of a library."""

    identity: str
    line: int
    problem: str


@dataclass(frozen=True)
class CheckResult:
    """How many rules were checked, how many by following their chains, and every failure in order of lines.

    Failures of the library as a whole come last; they have no id and stand in line 0. `identities` are the ids of all
    rules in order.
    """

    rules: int
    failures: tuple[Failure, ...]
    followed: int = 0
    identities: tuple[str, ...] = ()


def check_library(path: Path | None, library: SpecLibrary, jobs: int = 1, progress: Progress = silent) -> CheckResult:
    """Check every rule of a library (the one shipped when `path` is None); RuleError when a line is no record.

    A rule passes when its text reads back to itself and hashes to its id, the digest of the specs is current, the
    steps of its chain lead from both sides to one term or, without a chain, the recorded axioms prove it again,
    evaluation finds no counterexample, its witness gives its values again, and its floating-point class is found again.
    The axioms that certificates name are proved again for all sizes.
    """
    records = list(read_records(path))
    failures = _repeated(records)
    rules: list[tuple[Record, Rule]] = []
    for record in records:
        try:
            rule = read_record(record, library.builder(), path)
        except RuleError as error:
            failures.append(Failure(record.identity, record.line, str(error)))
            continue
        rules.append((record, rule))
        failures += [
            Failure(record.identity, record.line, problem) for problem in _form_problems(record, rule, library)
        ]
    proofs = _follow(path, library, records)
    failures += proofs.failures
    questions = [proofs.question(record, rule) for record, rule in rules]
    failures += _rule_failures([record for record, _ in rules], questions, jobs, progress)
    failures += _axiom_failures(records, library, progress)
    ordered = tuple(sorted(dict.fromkeys(failures), key=lambda failure: (not failure.line, failure.line)))
    names = tuple(record.identity for record in records)
    return CheckResult(len(records), ordered, len(proofs.followed), names)


def _rule_failures(
    records: Sequence[Record], questions: Sequence[Examine], jobs: int, progress: Progress
) -> list[Failure]:
    """What proof and evaluation find; only that they contradict each other, where they do: then nothing is proved."""
    try:
        with Crew(jobs) as crew:
            verdicts = examine_all(crew, questions, progress)
    except Contradiction as found:
        return [Failure("", 0, str(found))]
    problems = [_verdict_problem(record, verdict) for record, verdict in zip(records, verdicts, strict=True)]
    return [
        Failure(record.identity, record.line, problem)
        for record, problem in zip(records, problems, strict=True)
        if problem is not None
    ]


@dataclass(frozen=True)
class _Proofs:
    """What the proof file of a library gave."""

    failures: tuple[Failure, ...] = ()
    followed: frozenset[str] = frozenset()
    witnesses: Mapping[str, Witness] = field(default_factory=dict)

    def question(self, record: Record, rule: Rule) -> Examine:
        """What is left to find out about a rule."""
        name = record.identity
        return Examine(rule, record.certificate.axioms, name in self.followed, self.witnesses.get(name))


def _follow(path: Path | None, library: SpecLibrary, records: Sequence[Record]) -> _Proofs:
    """Follow the chains beside a library; one that has no proof file is proved by Z3 alone."""
    proofs = proof_bytes(path)
    if proofs is None:
        return _Proofs()
    findings = check_proofs(library_bytes(path), proofs, spec_sources())
    told = compare_with_specs(proofs, library)
    lines = {record.identity: record.line for record in records}
    failures = [Failure(identity, lines.get(identity, 0), problem) for identity, problem in findings.problems]
    failures += [Failure("", 0, problem) for problem in told.problems]
    # Chains that rest on what is not in the specs prove nothing.
    followed = frozenset() if told.problems else findings.followed
    return _Proofs(tuple(failures), followed, told.witnesses)


def _axiom_failures(records: Sequence[Record], library: SpecLibrary, progress: Progress) -> list[Failure]:
    """The axioms named in certificates that the meanings of the operators do not prove for all sizes."""
    named = {name for record in records for name in record.certificate.axioms}
    failures = []
    for done, (name, answer) in enumerate(prove_axioms(library, named)):
        progress(f"proved {done + 1} of {len(named)} axioms")
        if isinstance(answer, Unknown):
            failures.append(Failure("", 0, f"the axiom {name} is not proved: {answer.reason}"))
    return failures


def _form_problems(record: Record, rule: Rule, library: SpecLibrary) -> list[str]:
    problems = []
    if rule_id(record.text) != record.identity:
        problems.append(f"its text was changed: expected id {rule_id(record.text)}, found {record.identity}")
    if format_rule(rule) != record.text:
        problems.append(f"its text was changed: expected {format_rule(rule)}, found {record.text}")
    if record.certificate.specs != library.digest:
        problems.append(f"it was proved from other specs: expected {library.digest}, found {record.certificate.specs}")
    unknown = [name for name in record.certificate.axioms if not statements(library, name)]
    if unknown:
        problems.append(f"its certificate names axioms that the specs do not have: {', '.join(unknown)}")
    elif record.certificate.axioms and rests_on_meanings(library.builder(), rule):
        problems.append("its certificate names axioms, of which none speaks of its operators")
    return problems


def _repeated(records: Sequence[Record]) -> list[Failure]:
    seen: set[str] = set()
    failures = []
    for record in records:
        if record.identity in seen:
            failures.append(Failure(record.identity, record.line, "a second rule of the same id"))
        seen.add(record.identity)
    return failures


def _verdict_problem(record: Record, verdict: Verdict) -> str | None:
    match verdict:
        case Refuted(counterexample):
            return f"it is false: {counterexample}"
        case Unknown(reason):
            return f"its proof is lost: {reason}"
        case Proved(from_recorded=False):
            return "its certificate was changed: the recorded axioms do not prove it, others do"
        case Proved(engine=found) if _kind(found) != _kind(record.certificate.engine):
            return f"its certificate was changed: it is proved by {found}, not by {record.certificate.engine}"
        case Proved(fp_class=found) if found != record.fp_class:
            return f"its floating-point class was changed: expected {found}, found {record.fp_class}"
    return None


def _kind(engine: str) -> str:
    """What found a proof, whatever its version: another one may find it again."""
    return re.sub(r"^z3 [^,]*", "z3", engine)
