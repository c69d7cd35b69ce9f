"""Proves equations from the axioms of the specs with Z3: unsatisfiability of their negation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import Any

import z3

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, postorder
from taso_opt.spec.library import SpecLibrary
from taso_opt.verify.derivation.encode import TENSOR, Encoder, commutativity, law, negation
from taso_opt.verify.explain import commutativity_laws

RESOURCE_LIMIT = 1_000_000
"""Z3's deterministic unit of work, less than a second; proofs take a thousandth of it."""

DERIVATION_LIMIT = 100_000
"""For pruning, which asks thousands of questions with the answer no: what takes longer is not worth dropping."""

SETTLING_LIMIT = 20 * DERIVATION_LIMIT
"""For taking in a few equations."""

ENGINE = f"z3 {z3.get_version_string()}"


class Prover:
    """Proves equations one after the other in one Z3 context; run it where it can be killed."""

    def __init__(self, library: SpecLibrary) -> None:
        self._library = library
        self._builder = library.builder()
        self._commutative = commutativity_laws(library)
        self._instances = {name: tuple(axiom.instances(self._builder)) for name, axiom in library.axioms.items()}
        self._sides = {name: [(frozenset((operator,)),) * 2] for name, operator in self._commutative.items()}
        for name, instances in self._instances.items():
            self._sides[name] = [(_operators(one.left), _operators(one.right)) for one in instances]
        self._laws: dict[str, list[Any]] = {}
        self._reached: dict[frozenset[str], list[str]] = {}
        self.restart()

    def restart(self) -> None:
        """Forget what earlier proofs left in the solver, so that the next one does not depend on them."""
        self._solver = _solver(())
        self._asserted: set[str] = set()

    def prove(self, rule: Rule, axioms: Collection[str] | None = None) -> str | None:
        """None when the equation follows from the named axioms (all when None), else why no proof was found."""
        goal = negation(self._library.builder(), rule.source, rule.target)
        if axioms is not None:
            return _refute_negation(_solver(self._law(name) for name in axioms if name in self._sides), goal)
        # Most proofs need no axiom about other operators than the rule's; all that can be instantiated take longer.
        for names in (self._near(rule), self._relevant(rule)):
            for name in names:
                if name not in self._asserted:
                    self._solver.add(self._law(name))
                    self._asserted.add(name)
            reason = _refute_negation(self._solver, goal)
            if reason is None:
                break
        return reason

    def axioms_used(self, rule: Rule) -> tuple[str, ...] | None:
        """A minimal set of axioms from which a provable equation follows, taken from the core of the proof.

        Tracking assertions is much slower than proving, so only what is proved already comes here, and for some of it
        the limit does not suffice: None.
        """
        for names in (self._near(rule), self._relevant(rule)):
            core = self._core(rule, names)
            if core is not None:
                return tuple(self._fewest(rule, core))
        return None

    def is_redundant(self, name: str) -> bool:
        """Whether an axiom follows from the others, at all its schemes and attributes."""
        rules = [Rule(one.left, one.right) for one in self._instances[name]]
        solver = _solver(self._law(other) for other in self._others(name))
        goals = (negation(self._library.builder(), rule.source, rule.target) for rule in rules)
        return all(_refute_negation(solver, goal, DERIVATION_LIMIT) is None for goal in goals)

    def follows_from(self, name: str) -> tuple[str, ...]:
        """Other axioms from which a redundant one follows: what the proofs of all that it states need, one by one."""
        others = self._others(name)
        needed: dict[str, None] = {}
        for one in self._instances[name]:
            rule = Rule(one.left, one.right)
            core = self._core(rule, others)
            if core is not None:
                needed.update(dict.fromkeys(self._fewest(rule, core)))
        return tuple(sorted(needed))

    def _others(self, name: str) -> list[str]:
        """The axioms that can be instantiated for what one states, without that one."""
        rules = [Rule(one.left, one.right) for one in self._instances[name]]
        return sorted({other for rule in rules for other in self._relevant(rule)} - {name})

    def _core(self, rule: Rule, axioms: Iterable[str]) -> list[str] | None:
        """Those of some axioms that a proof of an equation rests on; None where there is none within the limit."""
        solver = _solver(())
        for name in axioms:
            solver.assert_and_track(z3.And(self._law(name)), name)
        goal = negation(self._library.builder(), rule.source, rule.target)
        if _refute_negation(solver, goal, popped=False) is not None:
            return None
        return sorted(map(str, solver.unsat_core()))

    def _fewest(self, rule: Rule, axioms: Sequence[str]) -> list[str]:
        """Axioms that prove an equation and of which none can be left out."""
        needed = list(axioms)
        for name in axioms:
            fewer = [other for other in needed if other != name]
            if self.prove(rule, fewer) is None:
                needed = fewer
        return needed

    def collapses(self, rules: Iterable[Rule]) -> bool:
        """Whether all axioms together make two variables of one type equal, with both sides of some rule looked at."""
        solver = _solver(self._law(name) for name in self._sides)
        looked_at = z3.Function("looked at", TENSOR, z3.BoolSort())
        for rule in rules:
            encoder = Encoder(self._library.builder())
            sides = [looked_at(encoder.term(term)) for term in rule.roots]
            for x, y in combinations(rule.variables, 2):
                if x.type == y.type:
                    goal = z3.And(*sides, encoder.term(x) != encoder.term(y))
                    if _refute_negation(solver, goal, DERIVATION_LIMIT) is None:
                        return True
        return False

    def _law(self, name: str) -> list[Any]:
        """The formulas of one axiom, encoded when they are first needed."""
        if name not in self._laws:
            if name in self._commutative:
                self._laws[name] = [commutativity(self._commutative[name])]
            else:
                instances = self._instances[name]
                self._laws[name] = [formula for one in instances for formula in law(self._builder, one.left, one.right)]
        return self._laws[name]

    def _near(self, rule: Rule) -> list[str]:
        """The axioms that speak of no other operators than the rule does."""
        operators = rule.operators
        return [name for name, sides in self._sides.items() if any(left | right <= operators for left, right in sides)]

    def _relevant(self, rule: Rule) -> list[str]:
        """The axioms that can ever be instantiated: those of which a side is made of operators that can occur."""
        operators = rule.operators
        if operators not in self._reached:
            self._reached[operators] = self._reachable(operators)
        return self._reached[operators]

    def _reachable(self, operators: frozenset[str]) -> list[str]:
        reached = set(operators)
        relevant: dict[str, None] = {}
        grown = True
        while grown:
            grown = False
            for name, sides in self._sides.items():
                if name not in relevant and any(left <= reached or right <= reached for left, right in sides):
                    relevant[name] = None
                    reached |= frozenset().union(*(side for pair in sides for side in pair))
                    grown = True
        return sorted(relevant)


class Derivation:
    """A growing set of equations with the question what follows from them and from commutativity alone."""

    def __init__(self, library: SpecLibrary) -> None:
        self._library = library
        self._solver = _solver([[commutativity(name) for name in commutativity_laws(library).values()]])

    def add(self, rule: Rule) -> None:
        """Let later derivations use an equation, in both directions."""
        assert not rule.conditions, "expected a law of all values: a condition would be forgotten"
        self._solver.add(law(self._library.builder(), rule.source, rule.target))

    def settle(self) -> None:
        """Have Z3 take in what was added: with thousands of equations the first question would wait half a minute."""
        self._solver.set("rlimit", SETTLING_LIMIT)
        self._solver.check()

    def derives(self, rule: Rule) -> bool:
        """Whether an equation follows from those added so far."""
        goal = negation(self._library.builder(), rule.source, rule.target)
        return _refute_negation(self._solver, goal, DERIVATION_LIMIT) is None


def _operators(roots: Sequence[Term]) -> frozenset[str]:
    return frozenset(term.operator for term in postorder(roots) if isinstance(term, Apply))


def _solver(laws: Iterable[list[Any]]) -> Any:
    solver = z3.SimpleSolver()
    # Instances come from patterns alone; sizes need no arithmetic beyond the rewriting of equal sums to one term.
    solver.set("auto_config", False)
    solver.set("mbqi", False)
    solver.set("smt.arith.solver", 0)
    for formulas in laws:
        solver.add(formulas)
    return solver


def _refute_negation(solver: Any, goal: Any, limit: int = RESOURCE_LIMIT, popped: bool = True) -> str | None:
    """None when the goal is unsatisfiable; Z3's answer "sat" means nothing under quantifiers and never comes."""
    if popped:
        solver.push()
    solver.add(goal)
    solver.set("rlimit", limit)
    answer = solver.check()
    reason = None if answer == z3.unsat else _reason(solver.reason_unknown())
    if popped:
        solver.pop()
    return reason


def _reason(said: str) -> str:
    if "resource" in said or "canceled" in said:
        return "the axioms lead nowhere within the resource limit"
    return "no axiom applies any more and the sides are still apart"
