"""What the terms of a graph are called in the model's file, also after steps have rewritten what they stand on."""

from __future__ import annotations

from math import inf

from taso_opt.core.term import Apply, Term, postorder
from taso_opt.onnx_io import Model
from taso_opt.rewrite.finding.step import Step
from taso_opt.rewrite.patterns.apply import substitute_terms

MOST_WORK = 500_000
"""Terms that are rebuilt to follow names through steps; many steps in a large model lose their names behind that."""


class Names:
    """Names of terms in the model's file, and how far from the inputs they stand.

    A step makes new terms of all that stands on what it replaces. `follow` keeps account of them, so that a node keeps
    its name although its operands have become others.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._levels = _levels(model)
        self._deepest = max(self._levels.values(), default=1) or 1
        self._originals = tuple(model.origin)
        self._outputs = tuple(model.graph.outputs)
        self._graph = frozenset(postorder(self._outputs))
        self._original: dict[Term, Term] = {term: term for term in self._originals}
        self._now = self._original
        self._pending: dict[Term, Term] = {}
        self._made: set[Term] = set()
        self._work = 0.0

    def follow(self, step: Step) -> None:
        """Go to the graph in which the step was taken: steps on one graph, and on what they make, are taken at once."""
        if any(before not in self._graph and before not in self._made for before, _ in step.replacements):
            self._take_pending()
        self._pending.update(step.mapping)
        stack = [after for _, after in step.replacements]
        while stack:
            term = stack.pop()
            if term not in self._graph and term not in self._made:
                self._made.add(term)
                stack.extend(term.children)

    def name(self, term: Term) -> str | None:
        """The name of the value in the file, None for a term that the search made."""
        origin = self._model.origin.get(self._original.get(term, term))
        return None if origin is None else origin.value

    def node(self, term: Term) -> str:
        """The name of the node, or of its value where the node has none; what it is for a term of the search."""
        origin = self._model.origin.get(self._original.get(term, term))
        if origin is None:
            return f"{term.operator} of an earlier step" if isinstance(term, Apply) else "part of an earlier step"
        if origin.node is None:
            return origin.value
        return self._model.proto.graph.node[origin.node].name or origin.value

    def rank(self, term: Term) -> int:
        """Where the node stands in the file; behind all others for a term of the search."""
        origin = self._model.origin.get(self._original.get(term, term))
        missing = len(self._model.proto.graph.node)
        return missing if origin is None or origin.node is None else origin.node

    def share(self, term: Term) -> float:
        """From 0 at the inputs to 1 where the model is deepest: where the term, or what it stands on, stands."""
        stack = [term]
        while stack:
            part = stack[-1]
            known = self._levels.get(self._original.get(part, part))
            missing = [child for child in part.children if child not in self._levels] if known is None else []
            if missing:
                stack.extend(missing)
                continue
            self._levels[stack.pop()] = (
                max((self._levels[child] for child in part.children), default=0) if known is None else known
            )
        return self._levels[term] / self._deepest

    def _take_pending(self) -> None:
        """Rebuild everything as the steps so far leave it; names are lost where that is too much or not possible."""
        originals = list(self._now.items())
        self._work += len(self._graph)
        roots = (*(term for term, _ in originals), *self._outputs)
        made = substitute_terms(self._model.builder, roots, self._pending) if self._work <= MOST_WORK else None
        self._pending, self._made = {}, set()
        if made is None:
            self._original = {term: term for term in self._originals}
            self._graph = frozenset()
            self._work = inf
            return
        self._outputs = made[len(originals) :]
        self._graph = frozenset(postorder(self._outputs))
        self._now = {}
        for term, (_, original) in zip(made, originals, strict=False):
            self._original.setdefault(term, original)
            if term in self._graph:
                self._now.setdefault(term, original)


def _levels(model: Model) -> dict[Term, int]:
    """For each term of the model how many nodes stand at most between it and the inputs, itself included."""
    levels: dict[Term, int] = {}
    for term in postorder(model.graph.outputs):
        origin = model.origin.get(term)
        below = max((levels[child] for child in term.children), default=0)
        levels[term] = below + (origin is not None and origin.node is not None)
    return levels
