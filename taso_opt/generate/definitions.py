"""Candidates from definitions: an operator equals what the standard says it is, and two definitions equal each other.

The definitions stand in the specs, in the words of the standard; the verifier proves them from the meanings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, postorder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.text import format_rule


def discover_definitions(library: SpecLibrary, operators: frozenset[str]) -> tuple[Rule, ...]:
    """What the definitions say with the named operators alone, in the order of the text form.

    An operator that has several definitions for the same operands gives an equation between each two of them as well:
    a model whose version of ONNX lacks the operator has only these.
    """
    found = {format_rule(rule): rule for rule in _equations(library) if _operators(rule) <= operators}
    return tuple(found[text] for text in sorted(found))


def _equations(library: SpecLibrary) -> Iterator[Rule]:
    builder = library.builder()
    said: dict[tuple[Term, ...], list[tuple[Term, ...]]] = defaultdict(list)
    for definition in library.definitions.values():
        for instance in definition.instances(builder):
            yield Rule(instance.left, instance.right)
            said[instance.left].append(instance.right)
    for sides in said.values():
        yield from (Rule(*pair) for pair in combinations(sides, 2))


def _operators(rule: Rule) -> set[str]:
    return {term.operator for term in postorder((*rule.source, *rule.target)) if isinstance(term, Apply)}
