"""The steps that lead away from one graph, each with the change of cost it promises, judged locally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from taso_opt.core.term import Term, children, postorder
from taso_opt.rewrite.steps import Rewriter, Step


@dataclass(frozen=True)
class Move:
    """One or more steps taken at once, and the predicted change of cost in seconds."""

    steps: tuple[Step, ...]
    change: float

    @property
    def mapping(self) -> dict[Term, Term]:
        """All replacements of all steps."""
        return {old: new for step in self.steps for old, new in step.replacements}


@dataclass(frozen=True)
class LocalChange:
    """What a step removes from a graph and what it adds, each as outputs over a boundary of terms that stay."""

    step: Step
    removed: tuple[Term, ...]
    kept: frozenset[Term]
    added: tuple[Term, ...]
    dead: frozenset[Term]


class Neighbourhood:
    """One graph, indexed so that a step's local effect is found without rebuilding it."""

    def __init__(self, outputs: Sequence[Term]) -> None:
        self.terms = postorder(outputs)
        self._present = frozenset(self.terms)
        self._uses = Counter(child for term in self.terms for child in children(term))
        self._uses.update(outputs)

    def local_change(self, step: Step) -> LocalChange:
        """The terms that die and the terms that appear when `step` is taken."""
        added = tuple(new for _, new in step.replacements)
        needed = self._leaves(added)
        dead = self._dead([old for old, _ in step.replacements], needed)
        removed = tuple(old for old, _ in step.replacements if old in dead)
        return LocalChange(step, removed, self._present - dead, added, dead)

    def _leaves(self, added: Iterable[Term]) -> set[Term]:
        """The present terms that the new ones are built on."""
        found: set[Term] = set()
        seen: set[Term] = set()
        stack = list(added)
        while stack:
            term = stack.pop()
            if term in seen:
                continue
            seen.add(term)
            if term in self._present:
                found.add(term)
            else:
                stack.extend(children(term))
        return found

    def _dead(self, replaced: Sequence[Term], needed: set[Term]) -> frozenset[Term]:
        uses = dict.fromkeys(replaced, 0)
        dead: dict[Term, None] = {}
        stack = [term for term in replaced if term not in needed]
        while stack:
            term = stack.pop()
            if term in dead:
                continue
            dead[term] = None
            for child in children(term):
                left = uses.get(child, self._uses[child]) - 1
                uses[child] = left
                if left <= 0 and child not in needed:
                    stack.append(child)
        return frozenset(dead)


def combined(moves: Sequence[tuple[Move, LocalChange]]) -> Move | None:
    """The most promising moves that leave each other alone, as one move; None if there are fewer than two."""
    taken: list[Move] = []
    touched: set[Term] = set()
    for move, change in sorted(moves, key=lambda entry: entry[0].change):
        roots = set(move.mapping)
        if roots & touched or change.dead & touched:
            continue
        touched |= roots | change.dead
        taken.append(move)
    if len(taken) < 2:
        return None
    return Move(tuple(step for move in taken for step in move.steps), sum(move.change for move in taken))


Pricing = Callable[[Sequence[LocalChange]], list[float]]


def moves_from(here: Neighbourhood, rewriter: Rewriter, price: Pricing) -> list[Move]:
    """Every step on the graph as a move, with the joint moves: all gains of one rule, and all gains together."""
    changes = [here.local_change(step) for step in rewriter.steps(here.terms)]
    priced = [(Move((change.step,), gain), change) for change, gain in zip(changes, price(changes), strict=True)]
    gains = [(move, change) for move, change in priced if move.change < 0]
    by_rule: dict[int, list[tuple[Move, LocalChange]]] = {}
    for move, change in gains:
        by_rule.setdefault(id(change.step.rule), []).append((move, change))
    joint = [combined(group) for group in (*by_rule.values(), gains)]
    return [move for move, _ in priced] + [move for move in joint if move is not None]


