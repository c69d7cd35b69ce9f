"""Steps: rules applied at one place each, and sequences of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from taso_opt.core.rule import Rule
from taso_opt.core.term import Term, operator_count
from taso_opt.rewrite.patterns.pattern import CompiledRule

MOST_LEVELS = 4
"""So many operators deep rules put what they take for operands."""

Replacements: TypeAlias = tuple[tuple[Term, Term], ...]
"""Terms, each with the one that replaces it."""


@dataclass(frozen=True)
class Step:
    """One application of a rule: each source term and the term that replaces it."""

    rule: CompiledRule
    replacements: Replacements

    @property
    def root(self) -> Term:
        """The first term that is replaced, of most steps the only one."""
        return self.replacements[0][0]

    @property
    def image(self) -> Term:
        """What replaces that."""
        return self.replacements[0][1]

    @property
    def mapping(self) -> dict[Term, Term]:
        """The replacements as a dictionary."""
        return dict(self.replacements)


StepSequence: TypeAlias = tuple[tuple[Step, ...], Replacements]
"""Steps that are taken one after the other, and what they replace in all."""


def leaves_whole(step: Step, operands: Collection[Term]) -> bool:
    """Whether all of some operands of a term are operands in what replaces it, too."""
    missing, level = set(operands), {step.image}
    for _ in range(MOST_LEVELS):
        if not missing:
            break
        level = {child for term in level for child in term.children}
        missing -= level
    return not missing


def operators_saved(step: Step) -> int:
    """How many operators fewer the right side of a step's rule has than the left one, as it stands in the library."""
    return _operators_saved(step.rule.rule)


@lru_cache(maxsize=4096)
def _operators_saved(rule: Rule) -> int:
    return operator_count(rule.source) - operator_count(rule.target)


def rules_of(steps: Iterable[Step]) -> tuple[int, ...]:
    """The rules of a sequence of steps, by identity."""
    return tuple(id(step.rule) for step in steps)


def mapping_of(steps: Iterable[Step]) -> dict[Term, Term]:
    """What some steps replace together."""
    return {old: image for step in steps for old, image in step.replacements}


def changes_of(before: Iterable[Term], after: Iterable[Term]) -> Replacements:
    """The outputs of a graph that are others after some steps, with these."""
    return tuple((old, new) for old, new in zip(before, after, strict=True) if old is not new)
