"""`tasoopt verify`: prove or refute equations, make a rule library of the proved ones, or re-check a library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from taso_opt.cli.output import echo_lines, require_writable
from taso_opt.core.machine.processors import cores
from taso_opt.core.printable import printable
from taso_opt.errors import UsageError

if TYPE_CHECKING:
    from taso_opt.core.rule import Rule
    from taso_opt.verify.library.check import CheckResult, Failure
    from taso_opt.verify.verdict import Verdict

HEAD = {"schema_version": 1, "command": "verify"}
"""What each of its JSON documents begins with."""

REFUTED = 1
UNPROVED = 1
UNKNOWN = 5


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
@click.option("--check", is_flag=True, help="Re-check rule libraries: each FILE, or the one shipped.")
@click.option("--axioms", is_flag=True, help="Prove every axiom of the spec library for all sizes.")
@click.option("--strict", is_flag=True, help="Exit with 5 when an equation is neither proved nor refuted.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the library that the proved rules give.")
@click.option(
    "--given",
    type=click.Path(path_type=Path),
    help="With -o, a library to add to, believed as it is (--check checks it): what follows from it is left out.",
)
@click.option("--jobs", type=click.IntRange(1, 1024), default=cores, help="Processes [one for each core].")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write the results as JUnit XML, one test case a rule.")
def command(
    files: tuple[Path, ...],
    check: bool,
    axioms: bool,
    strict: bool,
    output: Path | None,
    given: Path | None,
    jobs: int,
    as_json: bool,
    junit: Path | None,
) -> int:
    """Prove or refute the equations of each FILE, one a line in text form; lines that begin with # are comments.

    An equation that is true for some constants only is proved with the weakest condition on them, such as s >= 0.

    Exits with 1 when an equation is refuted, with 5 when --strict is given and one is unknown, else with 0. With
    --check each FILE is a rule library: every rule that was altered or has lost its proof is named, and the exit code
    is 1. With --axioms the laws that all proofs start from are proved from the meanings of the operators; each that is
    not is named, and the exit code is 1. In a GitHub workflow the result is added to the summary of the step.
    """
    if axioms:
        if check or strict or files or output is not None or given is not None or junit is not None:
            raise UsageError("expected --axioms alone or with --json, found other options or files")
        return _axioms(as_json)
    if check and (output is not None or strict):
        raise UsageError("expected --check alone, found it with --output or --strict")
    if given is not None and output is None:
        raise UsageError("expected --output beside --given, found --given alone")
    if not files and not check:
        raise UsageError("expected a FILE of equations, or --check or --axioms, found none of them")
    if len(files) > 1 and (as_json or output is not None or junit is not None):
        raise UsageError(f"expected one FILE with --json, --junit or --output, found {len(files)}")
    _require_places(files, output, junit)
    if check:
        return max(_check(file, jobs, as_json, junit) for file in files or (None,))
    codes = {_verify(file, output, given, strict, jobs, as_json, junit) for file in files}
    return REFUTED if REFUTED in codes else max(codes)


def _require_places(files: Sequence[Path], output: Path | None, junit: Path | None) -> None:
    """Refuse, before anything is proved, places where nothing can be written, and those of what is read or written."""
    from taso_opt.report.files import is_same
    from taso_opt.spec.rule_file import proofs_path

    rules = [] if output is None else [("--output", output), ("--output", proofs_path(output))]
    written = rules if junit is None else [*rules, ("--junit", junit)]
    for at, (option, path) in enumerate(written):
        require_writable(path, option)
        if any(is_same(path, other) for other in (*files, *(before for _, before in written[:at]))):
            raise UsageError(f"expected a file of its own for {option}, found {path}, which is used already")


def _check(file: Path | None, jobs: int, as_json: bool, junit: Path | None) -> int:
    from taso_opt.cli.continuous import check_cases, report
    from taso_opt.cli.progress import stderr_progress
    from taso_opt.spec import load_specs
    from taso_opt.verify.library.check import check_library

    with stderr_progress() as progress:
        result = check_library(file, load_specs(), jobs, progress)
    report(check_cases(result), junit)
    click.echo(json.dumps(_check_document(result), indent=2) if as_json else _check_text(result))
    return REFUTED if result.failures else 0


def _axioms(as_json: bool) -> int:
    from dataclasses import asdict

    from taso_opt.spec import load_specs
    from taso_opt.verify.index_functions.axioms import prove_axioms
    from taso_opt.verify.verdict import Unknown

    unproved = instances = 0
    entries = []
    for name, answer in prove_axioms(load_specs()):
        missing = isinstance(answer, Unknown)
        unproved += missing
        instances += 0 if isinstance(answer, Unknown) else answer.instances
        entries.append({"axiom": name, "verdict": "unproved" if missing else "proved", **asdict(answer)})
        if not as_json:
            click.echo(f"unproved  {name}: {answer.reason}" if isinstance(answer, Unknown) else f"proved    {name}")
    summary = {"proved": len(entries) - unproved, "unproved": unproved, "instances": instances}
    if as_json:
        click.echo(json.dumps({**HEAD, "axioms": entries, "summary": summary}, indent=2))
    else:
        click.echo(f"{summary['proved']} axioms proved for all sizes in {instances} instances, {unproved} unproved")
    return UNPROVED if unproved else 0


def _check_text(result: CheckResult) -> str:
    lines = [printable(f"{_place(failure)}: {failure.problem}") for failure in result.failures]
    if result.followed:
        lines.append(f"{result.followed} proofs followed step by step, {result.rules - result.followed} made again")
    failed = len({failure.line for failure in result.failures if failure.line})
    whole = ", and the library as a whole" if any(not failure.line for failure in result.failures) else ""
    return "\n".join([*lines, f"{result.rules} rules checked, {failed} failed{whole}"])


def _place(failure: Failure) -> str:
    if not failure.identity:
        return "the library"
    return f"rule {failure.identity} in line {failure.line}" if failure.line else f"rule {failure.identity}"


def _check_document(result: CheckResult) -> dict[str, Any]:
    failures = [{"id": one.identity, "line": one.line, "problem": one.problem} for one in result.failures]
    return {**HEAD, "rules": result.rules, "followed": result.followed, "failures": failures}


def _verify(
    file: Path, output: Path | None, given: Path | None, strict: bool, jobs: int, as_json: bool, junit: Path | None
) -> int:
    from taso_opt.cli.continuous import report, verdict_cases
    from taso_opt.cli.progress import stderr_progress
    from taso_opt.spec import load_specs
    from taso_opt.spec.rule_file import read_equations, read_rules, write_rules
    from taso_opt.spec.text import format_rule
    from taso_opt.verify.library.pipeline import build_library, examine_all
    from taso_opt.verify.library.proofs import write_proofs
    from taso_opt.verify.library.prune import underived
    from taso_opt.verify.processes.crew import Crew
    from taso_opt.verify.processes.worker import Examine
    from taso_opt.verify.verdict import Refuted, Unknown

    library = load_specs()
    every = read_equations(file, library.builder())
    known = tuple(read_rules(given, library.builder())) if given is not None else ()
    kept = None
    with stderr_progress() as progress, Crew(jobs) as crew:
        told = set(map(format_rule, known))
        fresh = [rule for _, rule in every if format_rule(rule) not in told]
        left = set(underived(crew, fresh, known, progress)) if known else None
        equations = [one for one in every if left is None or one[1] in left]
        rules = [rule for _, rule in equations]
        verdicts = examine_all(crew, [Examine(rule, infer=True) for rule in rules], progress)
        if output is not None:
            kept = [*known, *build_library(crew, library, rules, verdicts, progress, known)]
            write_rules(output, kept)
            write_proofs(output, library, kept)
    report(verdict_cases(equations, verdicts, strict), junit)
    following = [rule for _, rule in every if left is not None and rule not in left]
    if as_json:
        click.echo(json.dumps(_document(equations, verdicts, kept, following), indent=2))
    else:
        echo_lines(_text(rules, verdicts, kept, following))
    if any(isinstance(verdict, Refuted) for verdict in verdicts):
        return REFUTED
    return UNKNOWN if strict and any(isinstance(verdict, Unknown) for verdict in verdicts) else 0


def _text(
    rules: Sequence[Rule], verdicts: Sequence[Verdict], kept: Sequence[Rule] | None, following: Sequence[Rule]
) -> list[str]:
    from taso_opt.spec.text import format_rule
    from taso_opt.verify.verdict import Proved, Refuted, Unknown

    lines = [f"follows     {format_rule(rule)}" for rule in following]
    for rule, verdict in zip(rules, verdicts, strict=True):
        match verdict:
            case Proved(fp_class=found, conditions=conditions):
                where = f", where {' and '.join(conditions)}" if conditions else ""
                lines.append(f"proved  {found}{where}  {format_rule(rule)}")
            case Refuted(counterexample):
                lines.append(f"refuted     {format_rule(rule)}: {counterexample}")
            case Unknown(reason):
                lines.append(f"unknown     {format_rule(rule)}: {reason}")
    counts = ", ".join(f"{count} {name}" for name, count in _counts(verdicts).items())
    lines.append(counts if kept is None else f"{counts}; {len(kept)} rules in the library")
    return lines


def _counts(verdicts: Sequence[Verdict]) -> dict[str, int]:
    names = [type(verdict).__name__.lower() for verdict in verdicts]
    return {name: names.count(name) for name in ("proved", "refuted", "unknown")}


def _document(
    equations: Sequence[tuple[int, Rule]],
    verdicts: Sequence[Verdict],
    kept: Sequence[Rule] | None,
    following: Sequence[Rule],
) -> dict[str, Any]:
    from dataclasses import asdict

    from taso_opt.spec.text import format_rule

    entries = [
        {"line": line, "rule": format_rule(rule), "verdict": type(verdict).__name__.lower(), **asdict(verdict)}
        for (line, rule), verdict in zip(equations, verdicts, strict=True)
    ]
    document = {**HEAD, "verdicts": entries, "summary": _counts(verdicts)}
    if following:
        document["following"] = [format_rule(rule) for rule in following]
    return document if kept is None else {**document, "library_rules": len(kept)}
