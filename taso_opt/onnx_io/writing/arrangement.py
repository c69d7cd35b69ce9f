"""The order in which the terms of a rewritten graph are written, and the nodes of the original that stay for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from taso_opt.core.term import OPAQUE, Apply, Item, Term, postorder
from taso_opt.onnx_io.nodes import folded_terms
from taso_opt.onnx_io.reading.model import Model
from taso_opt.onnx_io.writing.reuse import Reuse, reused_nodes


class Arrangement:
    """A rewritten graph as it is arranged in a file: nodes that stay in the order of the original, operands first."""

    def __init__(self, model: Model, outputs: Sequence[Term]) -> None:
        self._model = model
        self.constant = folded_terms(model.builder, outputs, model.opset)
        """The terms whose values stand in the file."""
        self._reused: dict[Term, Reuse] = {}
        # Which nodes are reused depends on those that stay as they are; what must stand before a term, on both.
        kept = self._reachable_nodes(outputs)
        self._reused = reused_nodes(model, outputs, [node for node, _ in kept])
        rank = {node: at for at, node in enumerate(model.order)}
        kept = [(rank[node], term) for node, term in self._reachable_nodes(outputs)]
        roots = [term for _, term in sorted(kept, key=lambda entry: entry[0])]
        self.terms = self._in_order([*roots, *outputs])
        """Every term that must be emitted, in order."""

    def node(self, term: Term) -> int | None:
        """The node of the file that yields a term, be its operands the original ones or not."""
        origin = self._model.origin.get(term)
        if origin is not None:
            return origin.node
        reuse = self._reuse(term)
        return None if reuse is None else reuse.node

    def operands(self, term: Term) -> tuple[Term, ...]:
        """What must stand before a term: the operands of its node, nothing for what is folded."""
        origin = self._model.origin.get(term)
        if origin is not None:
            return () if origin.node is None else self._model.uses[origin.node].operands
        if term in self.constant:
            return ()
        reuse = self._reuse(term)
        return term.children if reuse is None else reuse.operands

    def _reuse(self, term: Term) -> Reuse | None:
        """The node of the file to keep for a term that it yields with other operands than in the file."""
        whole = term.term if isinstance(term, Item) else term
        if isinstance(whole, Apply) and whole.operator == OPAQUE:
            return Reuse(int(str(whole.attribute("node"))), whole.args)
        return None if whole in self.constant else self._reused.get(whole)

    def _reachable_nodes(self, outputs: Sequence[Term]) -> list[tuple[int, Term]]:
        """The nodes of the file that the outputs need, each with a term that it yields."""
        found = ((self.node(term), term) for term in self._in_order(outputs))
        return [(node, term) for node, term in found if node is not None]

    def _in_order(self, roots: Sequence[Term]) -> list[Term]:
        """Every term that must be emitted for the roots, operands first."""
        done: dict[Term, None] = {}
        for root in roots:
            stack: list[tuple[Term, Iterator[Term]]] = [(root, iter(self.operands(root)))]
            while root not in done:
                term, rest = stack[-1]
                child = next((operand for operand in rest if operand not in done), None)
                if child is not None:
                    stack.append((child, iter(self.operands(child))))
                    continue
                done[term] = None
                stack.pop()
        return list(done)


def in_written_order(model: Model, outputs: Sequence[Term]) -> list[Term]:
    """All terms of a rewritten graph, constants included, in the order in which its file will have them."""
    return postorder([*Arrangement(model, outputs).terms, *outputs])
