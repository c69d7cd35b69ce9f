"""Elements: terms that fit the part of a rule which repeats, each with what it must share with its siblings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from taso_opt.core.term import Term
from taso_opt.errors import TypeMismatch
from taso_opt.rewrite.patterns.apply import Instantiation
from taso_opt.rewrite.patterns.match import Binding, Matcher
from taso_opt.rewrite.patterns.pattern import CompiledRule, Fold, Pattern
from taso_opt.spec.builder import Builder

MAX_BINDINGS = 16
"""How many ways of fitting one rule to one term are looked at; commutative operands multiply them."""

Entry: TypeAlias = tuple[CompiledRule, Matcher]


@dataclass(frozen=True)
class Element:
    """One term that fits what repeats in a rule, with what it shares with its siblings."""

    term: Term
    binding: Binding
    shared: tuple[tuple[str, Any], ...]
    part: int | None


Found: TypeAlias = tuple[CompiledRule, Element]


def fitting(candidates: Iterable[Entry], term: Term) -> Iterator[Found]:
    """The rules of which an element fits the term, with what such terms must share to be siblings."""
    for rule, matcher in candidates:
        for tried, binding in enumerate(matcher.match(element_pattern((rule, matcher)), term)):
            if tried == MAX_BINDINGS:
                break
            shared = [(name, value) for name, value in binding.items() if not _is_private(name) and name != "#owed"]
            yield rule, Element(term, binding, tuple(sorted(shared, key=_name)), binding.get("#part@0"))


def joined(builder: Builder, rule: CompiledRule, elements: Sequence[Element]) -> list[Term] | None:
    """The targets of a rule for these elements taken together, None when they do not fit each other."""
    binding: dict[str, Any] = dict(elements[0].shared)
    for at, element in enumerate(elements):
        for name, value in element.binding.items():
            if _is_private(name):
                binding[f"{name[:-2]}@{at}"] = value
    try:
        return Instantiation(builder, rule, binding, len(elements)).targets()
    except TypeMismatch:
        return None


def private_terms(element: Element) -> list[Term]:
    """What an element does not share, in the order of the rule's names."""
    private = [(name, value) for name, value in element.binding.items() if _is_private(name)]
    return [value for _, value in sorted(private, key=_name) if isinstance(value, Term)]


def element_pattern(entry: Entry) -> Pattern:
    """The pattern of one element: an operand of a fold, or the whole source."""
    source = entry[0].source
    return source.inner if isinstance(source, Fold) else source


def _is_private(name: str) -> bool:
    return name.endswith("@0")


def _name(entry: tuple[str, Any]) -> str:
    return entry[0]
