"""Draws the two sides of a rule as trees of text, an operator above its operands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from taso_opt.core.literal import literal_value
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Item, Term, Var, postorder
from taso_opt.spec.text import format_attribute


def rule_lines(rule: Rule) -> Iterator[str]:
    """Both sides of a rule, what is used more than once drawn once and numbered."""
    for title, side in (("before", rule.source), ("after", rule.target)):
        yield title
        yield from (f"  {line}" for line in term_lines(side))


def term_lines(outputs: Sequence[Term]) -> Iterator[str]:
    """One tree for each output."""
    uses = Counter(child for term in postorder(outputs) for child in term.children)
    shared = [term for term in postorder(outputs) if isinstance(term, Apply) and uses[term] > 1]
    numbers: dict[Term, int] = {term: number for number, term in enumerate(shared, start=1)}
    drawn: set[Term] = set()
    for output in outputs:
        yield from _lines(output, "", "", numbers, drawn)


def _lines(term: Term, first: str, rest: str, numbers: dict[Term, int], drawn: set[Term]) -> Iterator[str]:
    """The lines of one tree; rules are at most a few operators deep, so that recursion is safe."""
    prefix = ""
    while isinstance(term, Item):
        prefix += f"part {term.index} of "
        term = term.term
    number = f"#{numbers[term]} " if term in numbers else ""
    if term in drawn:
        yield f"{first}{prefix}{number}again"
        return
    yield f"{first}{prefix}{number}{_label(term)}"
    if not isinstance(term, Apply):
        return
    if number:
        drawn.add(term)
    for at, child in enumerate(term.args):
        last = at == len(term.args) - 1
        branch, further = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _lines(child, rest + branch, rest + further, numbers, drawn)


def _label(term: Term) -> str:
    if isinstance(term, Apply):
        attributes = ", ".join(f"{name}={format_attribute(value)}" for name, value in term.attributes)
        return f"{term.operator} ({attributes})" if attributes else term.operator
    assert not isinstance(term, Item), "items are drawn with their operator"
    value = literal_value(term)
    if value is not None:
        return str(value)
    return f"{term.name} {term.type}" if isinstance(term, Var) else term.name
