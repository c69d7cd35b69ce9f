"""Finds the proof of a rule as a chain: both sides are rewritten by axioms, one step after the other, until they meet.

Z3 says that a rule follows from axioms, but not how. A chain says how, so that a small program can follow it. The
search is a bounded one from both sides, over the few axioms of the certificate only; it is no prover of its own: where
it finds nothing, the word of Z3 stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Item, Term, Var, operator_count, postorder
from taso_opt.errors import TypeMismatch
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.verify.derivation.instances import Law, Step, applications

MAX_TERMS = 1_500
"""So many terms are looked at from both sides together for one output."""

SLACK = 5
"""A term on the way may have so many operators more than the larger side."""


@dataclass(frozen=True)
class Chain:
    """Steps from the source and steps from the target that end at one and the same term."""

    source: tuple[Step, ...]
    target: tuple[Step, ...]


class ChainSearch:
    """Looks for chains over the axioms of one library."""

    def __init__(self, library: SpecLibrary) -> None:
        self._builder = library.builder()
        self._library = library
        self._laws: dict[str, tuple[Law, ...]] = {}

    def chains(self, rule: Rule, axioms: Iterable[str]) -> tuple[Chain, ...] | None:
        """A chain for each output of a rule, None when one of them was not found within the limits."""
        return chains_between(self._builder, by_root(law for name in axioms for law in self._of(name)), rule)

    def _of(self, name: str) -> tuple[Law, ...]:
        if name not in self._laws:
            axiom = self._library.axioms.get(name)
            instances = axiom.instances(self._builder) if axiom else ()
            self._laws[name] = tuple(laws_of(self._builder, name, [(one.left, one.right) for one in instances]))
        return self._laws[name]


def chains_between(
    builder: Builder, laws: Mapping[str, Sequence[Law]], rule: Rule, max_terms: int = MAX_TERMS, slack: int = SLACK
) -> tuple[Chain, ...] | None:
    """A chain of the given laws for each output of a rule, None when one was not found within the limits."""
    found = []
    for source, target in zip(rule.source, rule.target, strict=True):
        builder.type(source), builder.type(target)
        limit = max(operator_count((source,)), operator_count((target,))) + slack
        chain = _meet(builder, laws, source, target, max_terms, limit)
        if chain is None:
            return None
        found.append(chain)
    return tuple(found)


def laws_of(builder: Builder, name: str, statements: Iterable[tuple[Sequence[Term], Sequence[Term]]]) -> Iterator[Law]:
    """Every direction of every output of the statements of one axiom or rule that can be a pattern."""
    for number, (left, right) in enumerate(statements):
        for output, (u, v) in enumerate(zip(left, right, strict=True)):
            builder.type(u), builder.type(v)
            for forward, pattern, result in ((True, u, v), (False, v, u)):
                if not isinstance(pattern, Var):
                    yield Law(name, number, output, forward, pattern, result)


def by_root(laws: Iterable[Law]) -> Mapping[str, Sequence[Law]]:
    """The laws by the operator at the root of their pattern."""
    table: dict[str, list[Law]] = {}
    for law in laws:
        table.setdefault(_root(law.pattern), []).append(law)
    return table


def _root(term: Term) -> str:
    if isinstance(term, Item):
        return f"{term.term.operator}[{term.index}]"
    return term.operator if isinstance(term, Apply) else ""


def _meet(
    builder: Builder, laws: Mapping[str, Sequence[Law]], source: Term, target: Term, max_terms: int, limit: int
) -> Chain | None:
    """Grow the terms that are reached from each side, the smaller set first, until one is in both."""
    reached: tuple[dict[Term, Step | None], dict[Term, Step | None]] = ({source: None}, {target: None})
    came: tuple[dict[Term, Term], dict[Term, Term]] = ({}, {})
    edges = [[source], [target]]
    if source == target:
        return Chain((), ())
    while (edges[0] or edges[1]) and len(reached[0]) + len(reached[1]) < max_terms:
        side = 0 if edges[0] and (not edges[1] or len(edges[0]) <= len(edges[1])) else 1
        following = []
        for term in edges[side]:
            for step, new in _neighbours(builder, laws, term, limit):
                if new in reached[side]:
                    continue
                reached[side][new], came[side][new] = step, term
                following.append(new)
                if new in reached[1 - side]:
                    return Chain(*(_steps(reached[at], came[at], new) for at in (0, 1)))
            if len(reached[0]) + len(reached[1]) >= max_terms:
                break
        edges[side] = following
    return None


def _steps(reached: Mapping[Term, Step | None], came: Mapping[Term, Term], end: Term) -> tuple[Step, ...]:
    steps = []
    while (step := reached[end]) is not None:
        steps.append(step)
        end = came[end]
    return tuple(steps[::-1])


def _neighbours(
    builder: Builder, laws: Mapping[str, Sequence[Law]], term: Term, limit: int
) -> Iterator[tuple[Step, Term]]:
    """Every term that one law makes of this one, by changing one of its subterms wherever it stands."""
    for inner in postorder((term,)):
        for law in laws.get(_root(inner), ()):
            for step in applications(builder, law, inner):
                try:
                    new = _replaced(builder, term, inner, step.after)
                except TypeMismatch:
                    continue
                if operator_count((new,)) <= limit:
                    yield step, new


def _replaced(builder: Builder, root: Term, old: Term, new: Term) -> Term:
    rebuilt: dict[Term, Term] = {old: new}
    for term in postorder((root,)):
        if term not in rebuilt:
            rebuilt[term] = builder.rebuild(term, tuple(rebuilt[child] for child in term.children))
    return rebuilt[root]
