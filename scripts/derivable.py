"""Shows for each true published substitution that the rules of a library rewrite its source to its target.

Usage: python scripts/derivable.py LIST [--rules FILE] [--max-terms N]

LIST is as `published_rules.py` takes it. Rules are applied to both sides, one after the other, until the two meet: read
backwards, the steps from the target complete those from the source. What is found is a proof; a rule for which nothing
is found within the limit may still be derivable.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from published.notation import read_lines
from published.statement import Stated, read_statements
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules
from taso_opt.verify.derivation.chains import by_root, chains_between, laws_of
from taso_opt.verify.evaluation.refute import refute
from taso_opt.verify.verdict import Counterexample

SLACK = 3
"""A term on the way may have so many operators more than the larger side."""


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--rules", "library", type=click.Path(path_type=Path), help="A rule library [the one shipped].")
@click.option("--max-terms", type=click.IntRange(1), default=4000, help="Terms to look at for one rule [4000].")
def main(file: Path, library: Path | None, max_terms: int) -> None:
    """Print one line for each true rule of the list, then how many are derivable; exit code 1 when some are not."""
    builder = load_specs().builder()
    laws = by_root(
        law
        for rule in read_rules(library, builder)
        if not rule.conditions
        for law in laws_of(builder, rule.name, [(rule.source, rule.target)])
    )
    derived = false = unstated = 0
    missing = []
    for stated, rule in read_statements(read_lines(file), builder):
        if rule is None:
            unstated += 1
            click.echo(f"{_name(stated)}: not stated: {stated.reason}")
            continue
        if isinstance(refute(builder, rule), Counterexample):
            false += 1
            continue
        chains = chains_between(builder, laws, rule, max_terms, SLACK)
        if chains is None:
            missing.append(stated)
            continue
        derived += 1
        names = [step.law.axiom for chain in chains for step in (*chain.source, *chain.target)]
        click.echo(f"{_name(stated)}: {', '.join(names) or 'both sides are one term'}")
    for stated in missing:
        click.echo(f"{_name(stated)}: not found: {stated.text}")
    rest = f", {unstated} not stated" if unstated else ""
    click.echo(f"{derived} derivable, {len(missing)} not found, {false} false{rest}")
    sys.exit(bool(missing))


def _name(stated: Stated) -> str:
    return f"rule {stated.number}, groups {stated.groups[0]} to {stated.groups[1]}"


if __name__ == "__main__":
    main()
