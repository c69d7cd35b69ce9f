"""What continuous integration reads: results as JUnit XML, and the summary of a GitHub workflow step."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from taso_opt.errors import UsageError

if TYPE_CHECKING:
    from taso_opt.core.rule import Rule
    from taso_opt.verify.library.check import CheckResult
    from taso_opt.verify.verdict import Verdict

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable in which GitHub names the file for the summary of a step."""

SUITE = "tasoopt verify"
MAX_ROWS = 50
FAILED, SKIPPED = "failure", "skipped"
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """One rule with what became of it: passed without an outcome, else failed or skipped, and why."""

    name: str
    outcome: str | None = None
    reason: str = ""


def check_cases(result: CheckResult) -> list[Case]:
    """A case for each rule of a checked library, and one for the library as a whole."""
    problems: dict[str, list[str]] = {identity: [] for identity in result.identities}
    whole: list[str] = []
    for failure in result.failures:
        problems.get(failure.identity, whole).append(failure.problem)
    every = [*problems.items(), ("the library as a whole", whole)]
    return [Case(name, FAILED if found else None, "; ".join(found)) for name, found in every]


def verdict_cases(
    equations: Sequence[tuple[int, Rule]], verdicts: Sequence[Verdict], strict: bool = False
) -> list[Case]:
    """A case for each equation; one that is neither proved nor refuted is skipped, or has failed when that is asked."""
    from taso_opt.spec.text import format_rule
    from taso_opt.verify.verdict import Refuted, Unknown

    cases = []
    for (line, rule), verdict in zip(equations, verdicts, strict=True):
        name = f"line {line}: {format_rule(rule)}"
        match verdict:
            case Refuted(counterexample):
                cases.append(Case(name, FAILED, f"refuted: {counterexample}"))
            case Unknown(reason):
                cases.append(Case(name, FAILED if strict else SKIPPED, f"unknown: {reason}"))
            case _:
                cases.append(Case(name))
    return cases


def report(cases: Sequence[Case], junit: Path | None) -> None:
    """Write the JUnit file if one is wanted, and the summary where GitHub wants one.

    UsageError when a file cannot be written.
    """
    if junit is not None:
        _write(junit, junit_xml(cases), "w")
    summary = os.environ.get(STEP_SUMMARY)
    if summary:
        _write(Path(summary), step_summary(cases), "a")


def junit_xml(cases: Sequence[Case]) -> str:
    """One test suite; characters that XML does not have become question marks."""
    counts = {outcome: str(sum(case.outcome == outcome for case in cases)) for outcome in (FAILED, SKIPPED)}
    attributes = {"tests": str(len(cases)), "failures": counts[FAILED], "skipped": counts[SKIPPED], "errors": "0"}
    suites = ElementTree.Element("testsuites", attributes)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": SUITE, **attributes})
    for case in cases:
        element = ElementTree.SubElement(suite, "testcase", {"classname": SUITE, "name": _NOT_XML.sub("?", case.name)})
        if case.outcome is not None:
            ElementTree.SubElement(element, case.outcome, {"message": _NOT_XML.sub("?", case.reason)})
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=False) + "\n"


def step_summary(cases: Sequence[Case]) -> str:
    """A heading with counts and a table of what did not pass, in Markdown."""
    wrong = [case for case in cases if case.outcome is not None]
    failed = sum(case.outcome == FAILED for case in cases)
    lines = [f"### {SUITE}: {len(cases) - len(wrong)} passed, {failed} failed, {len(wrong) - failed} unknown", ""]
    if wrong:
        lines += ["| rule | result |", "|---|---|"]
        lines += [f"| {_cell(case.name)} | {_cell(case.reason)} |" for case in wrong[:MAX_ROWS]]
    if len(wrong) > MAX_ROWS:
        lines += ["", f"and {len(wrong) - MAX_ROWS} more"]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Code that cannot leave its cell, whatever a rule file says."""
    plain = re.sub(r"[`\x00-\x1f]", " ", text).replace("|", "\\|")
    return f"`{plain}`"


def _write(path: Path, text: str, mode: str) -> None:
    try:
        with path.open(mode, encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"expected a file that can be written, found {path}: {error.strerror}") from error
