"""`tasoopt rules`: list, show and explain the rules of a library."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from taso_opt.errors import UsageError

if TYPE_CHECKING:
    from taso_opt.core.rule import Rule, RuleSet

MAX_STATEMENTS = 4
"""An axiom is shown at so many of its schemes and attributes; the rest are alike."""

rules_option = click.option(
    "--rules", "path", type=click.Path(path_type=Path), help="A rule library [the one shipped]."
)


@click.group()
def command() -> None:
    """Look at the rules of the library."""


@command.command("list")
@rules_option
def list_rules(path: Path | None) -> None:
    """One rule a line: its id, its floating-point class, its equation and the types of its variables."""
    for rule in _read(path):
        click.echo(f"{rule.name}  {rule.fp_class}  {_text(rule)}")


@command.command()
@click.argument("identity", metavar="ID")
@rules_option
def show(identity: str, path: Path | None) -> None:
    """Draw one rule and print its proof; ID may be the beginning of an id."""
    from taso_opt.report.tree import rule_lines

    rule = _find(_read(path), identity)
    equation, types = _text(rule).split(" where ")
    click.echo(f"rule    {rule.name}\nsays    {equation}\nwhere   {types}\nclass   {rule.fp_class}")
    if rule.certificate is not None:
        click.echo(f"axioms  {', '.join(rule.certificate.axioms) or 'none'}")
    click.echo()
    click.echo("\n".join(rule_lines(rule)))
    if rule.certificate is None:
        return
    click.echo(f"\nproved by {rule.certificate.engine}, with the specifications {rule.certificate.specs}, from")
    _print_axioms(rule)
    click.echo("\n`tasoopt verify --check` makes the proof again.")


@command.command()
@click.argument("identity", metavar="ID")
@rules_option
def explain(identity: str, path: Path | None) -> None:
    """Why one rule is true and where it applies, in words; ID may be the beginning of an id."""
    from taso_opt.verify.explain import FP_CLASSES, preconditions

    rule = _find(_read(path), identity)
    click.echo(f"{_text(rule).split(' where ')[0]}\n\nIt applies where")
    for condition in preconditions(rule):
        click.echo(f"  - {condition}")
    click.echo(f"\nFloating point: {rule.fp_class}, {FP_CLASSES[rule.fp_class]}\n\nIt follows from")
    _print_axioms(rule)


@command.command()
@rules_option
def stats(path: Path | None) -> None:
    """How many rules there are, by floating-point class, size, outputs and operator."""
    from taso_opt.core.term import Apply, postorder

    rules = _read(path)
    click.echo(f"rules      {len(rules)}, {sum(1 for _ in rules.directed())} with direction")
    _print_counts("class", Counter(str(rule.fp_class) for rule in rules))
    _print_counts("operators", Counter(str(rule.size) for rule in rules))
    _print_counts("outputs", Counter(str(len(rule.source)) for rule in rules))
    used: Counter[str] = Counter()
    for rule in rules:
        used.update({term.operator for term in postorder((*rule.source, *rule.target)) if isinstance(term, Apply)})
    _print_counts("mentions", used)


def _print_axioms(rule: Rule) -> None:
    """The axioms that the proof of a rule uses, each with some of what it states."""
    from taso_opt.spec import load_specs
    from taso_opt.verify.explain import statements

    names = rule.certificate.axioms if rule.certificate is not None else ()
    if not names:
        by_sizes = rule.certificate is not None and rule.certificate.engine.startswith("index functions")
        scope = "at all sizes" if by_sizes else "for all real numbers, one element at a time"
        click.echo(f"  - the meanings of its operators, equal {scope}")
    library = load_specs()
    for name in names:
        click.echo(f"  - {name}")
        stated = statements(library, name)
        for statement in stated[:MAX_STATEMENTS]:
            click.echo(f"      {statement}")
        if len(stated) > MAX_STATEMENTS:
            click.echo(f"      and {len(stated) - MAX_STATEMENTS} more of the same form")


def _print_counts(what: str, counts: Counter[str]) -> None:
    click.echo(f"{what:<9}  " + ", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))


def _read(path: Path | None) -> RuleSet:
    from taso_opt.spec import load_specs
    from taso_opt.spec.rule_file import read_rules

    return read_rules(path, load_specs().builder())


def _text(rule: Rule) -> str:
    from taso_opt.spec.text import format_rule

    return format_rule(rule)


def _find(rules: RuleSet, identity: str) -> Rule:
    found = [rule for rule in rules if rule.name.startswith(identity)]
    if len(found) != 1:
        raise UsageError(f"expected the id of one rule of the library, found {len(found)} that begin with {identity!r}")
    return found[0]
