"""Re-checks a rule library line by line: nothing that a line says of itself is believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from taso_opt.core.rule import Rule
from taso_opt.errors import RuleError
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.rule_file import Record, read_record, read_records, rule_id
from taso_opt.spec.text import format_rule
from taso_opt.verify.crew import Crew
from taso_opt.verify.explain import statements
from taso_opt.verify.pipeline import Progress, examine_all, silent
from taso_opt.verify.verdict import Proved, Refuted, Unknown, Verdict
from taso_opt.verify.worker import Examine


@dataclass(frozen=True)
class Failure:
    """What is wrong with one rule of a library."""

    identity: str
    line: int
    problem: str


@dataclass(frozen=True)
class CheckResult:
    """How many rules were checked, and every failure in order of lines."""

    rules: int
    failures: tuple[Failure, ...]


def check_library(path: Path | None, library: SpecLibrary, jobs: int = 1, progress: Progress = silent) -> CheckResult:
    """Check every rule of a library (the one shipped when `path` is None); RuleError when a line is no record.

    A rule passes when its text reads back to itself and hashes to its id, the digest of the specs is current, the
    recorded axioms prove it again, evaluation finds no counterexample, and its floating-point class is found again.
    """
    records = list(read_records(path))
    failures: list[Failure] = []
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
    failures += _repeated(records)
    questions = [Examine(rule, record.certificate.axioms) for record, rule in rules]
    with Crew(jobs) as crew:
        verdicts = examine_all(crew, questions, progress)
    for (record, _), verdict in zip(rules, verdicts, strict=True):
        problem = _verdict_problem(record, verdict)
        if problem is not None:
            failures.append(Failure(record.identity, record.line, problem))
    return CheckResult(len(records), tuple(sorted(failures, key=lambda failure: failure.line)))


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
        case Proved(fp_class=found) if found != record.fp_class:
            return f"its floating-point class was changed: expected {found}, found {record.fp_class}"
    return None
