"""Verifies substitutions that others published, and writes what became of them as a table.

Usage: python scripts/published_rules.py LIST [--output FILE]

LIST is in the notation of TASO's published file, which `published/notation.py` describes: one output equation a line,
`RULE.OUTPUT  source  =>  target`. Each rule is stated for the most general types and for whatever else the list leaves
open, as `published/statement.py` describes. Exit code 1 when a rule is not stated or a statement remains unknown, 2
when a line cannot be read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from published.notation import read_lines
from published.statement import Stated, read_statements
from taso_opt.core.machine.processors import cores
from taso_opt.spec import load_specs
from taso_opt.verify.library.pipeline import examine_all
from taso_opt.verify.processes.crew import Crew
from taso_opt.verify.processes.worker import Examine
from taso_opt.verify.verdict import Proved, Refuted, Unknown, Verdict

Row = tuple[Stated, Verdict | None]
"""A statement and its verdict; None for a rule that is not stated."""


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), help="Write the table here instead of to stdout.")
@click.option("--jobs", type=click.IntRange(1), default=cores, help="Processes [one for each core].")
def main(file: Path, output: Path | None, jobs: int) -> None:
    """Translate and verify every rule of a list."""
    with Crew(jobs) as crew:
        crew.start()
        statements = list(read_statements(read_lines(file), load_specs().builder()))
        verdicts = iter(examine_all(crew, [Examine(rule) for _, rule in statements if rule is not None]))
    rows = [(stated, None if rule is None else next(verdicts)) for stated, rule in statements]
    if output is None:
        click.echo(table(rows))
    else:
        output.write_text(table(rows) + "\n", encoding="utf-8")
    sys.exit(any(verdict is None or isinstance(verdict, Unknown) for _, verdict in rows))


def table(rows: Sequence[Row]) -> str:
    """What became of each rule, in Markdown, false ones with their counterexample."""
    lines = [_summary(rows), "", "| rule | groups | verdict | why |", "|---|---|---|---|"]
    for stated, verdict in rows:
        start = f"| {stated.number} | {stated.variant} |"
        match verdict:
            case Proved(fp_class=found):
                lines.append(f"{start} proved, {found} | |")
            case Refuted(counterexample):
                lines.append(f"{start} **false** | {counterexample} |")
            case Unknown(reason):
                lines.append(f"{start} unknown | {reason}: `{stated.text}` |")
            case None:
                lines.append(f"{start} not stated | {stated.reason} |")
    return "\n".join(lines)


def _summary(rows: Sequence[Row]) -> str:
    numbers = len({stated.number for stated, _ in rows})
    verdicts = [verdict for _, verdict in rows if verdict is not None]
    counts = [sum(isinstance(verdict, kind) for verdict in verdicts) for kind in (Proved, Refuted, Unknown)]
    said = f"{numbers} rules in {len(verdicts)} statements: {{}} proved, {{}} refuted, {{}} unknown".format(*counts)
    missing = len(rows) - len(verdicts)
    return f"{said}; {missing} not stated." if missing else f"{said}."


if __name__ == "__main__":
    main()
