"""Rules: proved equations between two graphs over typed variables, and the certificates that make them trusted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache

from taso_opt.core.condition import Bounds, Condition
from taso_opt.core.dims import symbols_in
from taso_opt.core.term import Apply, Attribute, Term, Var, operator_count, postorder, variables


class FpClass(StrEnum):
    """How far floating-point results of the two sides of a rule may differ."""

    E0 = "E0"
    """Bit-exact: only data moves."""
    E1 = "E1"
    """The same operations for each element."""
    E2 = "E2"
    """Sums or products are associated or distributed differently."""
    E3 = "E3"
    """As E2, with constants folded and rounded ahead of time."""
    E4 = "E4"
    """May create an infinity or NaN that the source did not have."""


@dataclass(frozen=True)
class Certificate:
    """What makes a rule true: the axioms that its proof uses, the engine that found it, the digest of the specs."""

    axioms: tuple[str, ...]
    engine: str
    specs: str


@dataclass(frozen=True)
class Rule:
    """TASO's graph substitution: two tuples of outputs over the same variables, equal in pairs.

    The types of the variables are the preconditions: a match must give every variable a type that fits its scheme
    (`x[*b, m, k]`), with one size for each symbol throughout the rule. `conditions`, at most one for a variable and in
    the order of their names, ask for constants besides, with values within bounds (`s >= 0`).
    """

    source: tuple[Term, ...]
    target: tuple[Term, ...]
    name: str = field(default="", compare=False)
    fp_class: FpClass = field(default=FpClass.E2, compare=False)
    certificate: Certificate | None = field(default=None, compare=False)
    conditions: tuple[Condition, ...] = ()

    @property
    def roots(self) -> tuple[Term, ...]:
        """The outputs of both sides."""
        return (*self.source, *self.target)

    @property
    def terms(self) -> list[Term]:
        """All terms of both sides, children before parents."""
        return postorder(self.roots)

    @property
    def variables(self) -> list[Var]:
        """The variables of both sides, in order of first occurrence."""
        return variables(self.roots)

    @property
    def applications(self) -> list[Apply]:
        """The applications of operators on both sides."""
        return [term for term in self.terms if isinstance(term, Apply)]

    @property
    def operators(self) -> frozenset[str]:
        """The names of the operators on both sides."""
        return frozenset(term.operator for term in self.applications)

    @property
    def size(self) -> int:
        """The number of operators of the larger side."""
        return max(operator_count(self.source), operator_count(self.target))

    def reversed(self) -> Rule:
        """The same equation read from right to left."""
        return Rule(self.target, self.source, self.name, self.fp_class, self.certificate, self.conditions)

    @property
    def tells_target(self) -> bool:
        """Whether the source mentions all variables and all sizes of the target.

        Dilations that do not matter, as those of a pointwise kernel, may be open.
        """
        given = mentioned(self.source)
        return mentioned(self.target) <= given or mentioned(self.target, besides=DILATIONS) <= given

    def bounds(self, variable: str) -> Bounds | None:
        """Within what the values of a variable have to lie; None where any will do."""
        return next((one.bounds for one in self.conditions if one.variable == variable), None)

    def under(self, conditions: Iterable[Condition]) -> Rule:
        """The same equation under other conditions."""
        ordered = tuple(sorted(conditions, key=lambda one: one.variable))
        return replace(self, conditions=ordered)


DILATIONS = "dilations"


@dataclass(frozen=True)
class RuleSet:
    """A library of rules; each is an equation and may be used in both directions."""

    rules: tuple[Rule, ...]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def both_ways(self) -> Iterator[Rule]:
        """Every rule, and after it the same from right to left."""
        for rule in self.rules:
            yield rule
            yield rule.reversed()

    def directed(self) -> Iterator[Rule]:
        """Every rule in every direction whose source tells its target."""
        return (rule for rule in self.both_ways() if rule.tells_target)


def open_sizes(rule: Rule) -> frozenset[str]:
    """The sizes of a target that its source does not mention: a rule holds for each value, so any may be taken."""
    found = mentioned(rule.target) - mentioned(rule.source)
    return frozenset(name for name in found if isinstance(name, str))


@lru_cache(maxsize=8)
def mentioned(roots: tuple[Term, ...], besides: str = "") -> frozenset[Var | str]:
    """The variables, and the size symbols in types and attributes, besides those of one name.

    The sides of the last few rules are remembered: each is looked at in both directions.
    """
    found: set[Var | str] = set()
    for term in postorder(roots):
        if isinstance(term, Var):
            parts: tuple[Attribute, ...] = term.type.shape
            found.add(term)
        else:
            attributes = term.attributes if isinstance(term, Apply) else ()
            parts = tuple(value for name, value in attributes if name != besides)
        found.update(symbols_in(parts))
    return frozenset(found)
