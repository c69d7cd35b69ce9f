"""`tasoopt rules`: list, show and explain the rules of a library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from taso_opt.cli.output import echo_lines
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


@command.command("list", short_help="One rule a line.")
@rules_option
def list_rules(path: Path | None) -> None:
    """One rule a line: its id, its floating-point class, its equation and the types of its variables."""
    for rule in _read(path):
        click.echo(f"{rule.name}  {rule.fp_class}  {_text(rule)}")


@command.command(short_help="Draw one rule and print its proof.")
@click.argument("identity", metavar="ID")
@rules_option
def show(identity: str, path: Path | None) -> None:
    """Draw one rule and print its proof; ID may be the beginning of an id."""
    echo_lines(_with_twin(_shown, _read(path), identity))


@command.command(short_help="Why one rule is true and where it applies.")
@click.argument("identity", metavar="ID")
@rules_option
def explain(identity: str, path: Path | None) -> None:
    """Why one rule is true and where it applies, in words; ID may be the beginning of an id."""
    echo_lines(_with_twin(_explained, _read(path), identity))


@command.command(short_help="How many rules of which kind there are.")
@rules_option
def stats(path: Path | None) -> None:
    """How many rules there are, by floating-point class, size, outputs and operator."""
    echo_lines(_counted(_read(path)))


def _with_twin(said: Callable[[Rule], Iterator[str]], rules: RuleSet, identity: str) -> Iterator[str]:
    """What is said of a rule, and then of the one about the other part of a split that it makes one rewrite with."""
    from taso_opt.rewrite.derived.parts import twins
    from taso_opt.spec import load_specs

    rule = _find(rules, identity)
    yield from said(rule)
    for first, second in twins(rules, load_specs().builder()):
        if rule is first or rule is second:
            twin = second if rule is first else first
            step = f"one step, named {first.name}, by this rule and {twin.name}"
            yield from ("", f"Both parts of the split are rewritten in {step}:", "")
            yield from said(twin)


def _shown(rule: Rule) -> Iterator[str]:
    from taso_opt.report.tree import rule_lines

    equation, types = _text(rule).split(" where ")
    yield from (f"rule    {rule.name}", f"says    {equation}", f"where   {types}", f"class   {rule.fp_class}")
    if rule.certificate is not None:
        yield f"axioms  {', '.join(rule.certificate.axioms) or 'none'}"
    yield ""
    yield from rule_lines(rule)
    if rule.certificate is None:
        return
    yield ""
    yield f"proved by {rule.certificate.engine}, with the specifications {rule.certificate.specs}, from"
    yield from _axioms(rule)
    yield ""
    yield "`tasoopt verify --check` checks the proof again."


def _explained(rule: Rule) -> Iterator[str]:
    from taso_opt.verify.explain import FP_CLASSES, preconditions

    yield from (_text(rule).split(" where ")[0], "", "It applies where")
    for condition in preconditions(rule):
        yield f"  - {condition}"
    for condition in _needs(rule):
        yield f"  - {condition}, or neither side is defined"
    yield from ("", f"Floating point: {rule.fp_class}, {FP_CLASSES[rule.fp_class]}", "", "It follows from")
    yield from _axioms(rule)


def _needs(rule: Rule) -> tuple[str, ...]:
    """What the operators of a rule ask of sizes beyond its types, found where it is proved for all sizes directly."""
    from taso_opt.spec import load_specs
    from taso_opt.verify.index_functions.prove import ProvedForAllSizes, prove_for_all_sizes

    answer = prove_for_all_sizes(load_specs().builder(), rule.source, rule.target)
    return answer.conditions if isinstance(answer, ProvedForAllSizes) else ()


def _axioms(rule: Rule) -> Iterator[str]:
    """The axioms that the proof of a rule uses, each with some of what it states."""
    from taso_opt.spec import load_specs
    from taso_opt.verify.explain import statements

    names = rule.certificate.axioms if rule.certificate is not None else ()
    if not names:
        by_sizes = rule.certificate is not None and rule.certificate.engine.startswith("index functions")
        scope = "at all sizes" if by_sizes else "for all real numbers, one element at a time"
        values = ", where the conditions hold" if rule.conditions else ""
        yield f"  - the meanings of its operators, equal {scope}{values}"
    library = load_specs()
    for name in names:
        yield f"  - {name}"
        stated = statements(library, name)
        for statement in stated[:MAX_STATEMENTS]:
            yield f"      {statement}"
        if len(stated) > MAX_STATEMENTS:
            yield f"      and {len(stated) - MAX_STATEMENTS} more of the same form"


def _counted(rules: RuleSet) -> Iterator[str]:

    yield f"rules      {len(rules)}, {sum(1 for _ in rules.directed())} with both directions"
    yield _counts("class", Counter(str(rule.fp_class) for rule in rules))
    yield _counts("operators", Counter(str(rule.size) for rule in rules))
    yield _counts("outputs", Counter(str(len(rule.source)) for rule in rules))
    asked = Counter(one.bounds.text.format("s") for rule in rules for one in rule.conditions)
    yield _counts("constants", asked)
    used: Counter[str] = Counter()
    for rule in rules:
        used.update(rule.operators)
    yield _counts("mentions", used)


def _counts(what: str, counts: Counter[str]) -> str:
    return f"{what:<9}  " + ", ".join(f"{name}: {count}" for name, count in sorted(counts.items(), key=_natural))


def _natural(entry: tuple[str, int]) -> tuple[int, str]:
    """Numbers by value, names by the alphabet."""
    name, _ = entry
    return (int(name) if name.isdigit() else 0), name


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
