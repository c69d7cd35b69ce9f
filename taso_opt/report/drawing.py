"""Draws the terms that a rule replaces, and those that it puts in their place, as two small graphs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from taso_opt.core.term import OPAQUE, Apply, Item, Term, attribute_text, is_constant, postorder
from taso_opt.core.types import TensorType
from taso_opt.report.evidence import Drawing, DrawnNode

MOST_OUTPUTS = 3
MOST_OPERANDS = 4
RESHAPE = "Reshape"
MOST_NODES = 40
LONGEST_DETAIL = 60

Name = Callable[[Term], str | None]
"""The name that a term has in the model's file, None for a term that the search made."""

TypesOf = Callable[[Term], tuple[TensorType, ...]]


def draw_change(before: Sequence[Term], after: Sequence[Term], name: Name, types: TypesOf) -> tuple[Drawing, Drawing]:
    """Both sides of one application, down to the values that both use; of many alike outputs the first few."""
    common = frozenset(postorder(before)) & frozenset(postorder(after))
    return _draw(before, common, name, types), _draw(after, common, name, types)


def _draw(roots: Sequence[Term], leaves: Collection[Term], name: Name, types: TypesOf) -> Drawing:
    pen = _Pen(leaves, name, types)
    outputs = [pen.place(root) for root in roots[:MOST_OUTPUTS]]
    if len(roots) > MOST_OUTPUTS:
        pen.more(len(roots) - MOST_OUTPUTS)
    return Drawing(tuple(pen.nodes), tuple(outputs))


class _Pen:
    """Adds terms to one drawing, each once."""

    def __init__(self, leaves: Collection[Term], name: Name, types: TypesOf) -> None:
        self.nodes: list[DrawnNode] = []
        self._leaves, self._name, self._types = leaves, name, types
        self._places: dict[Term, int] = {}

    def place(self, root: Term) -> int:
        """The number of a term's node, drawn with all it needs."""
        stack = [root]
        while stack:
            term = stack[-1]
            missing = [child for child in self._shown(term) if child not in self._places]
            if term not in self._places and missing and len(self.nodes) + len(stack) < MOST_NODES:
                stack.extend(reversed(missing))
                continue
            if term not in self._places:
                self._places[term] = self._add(term, is_cut=bool(missing))
            stack.pop()
        return self._places[root]

    def more(self, count: int) -> int:
        """A node that stands for `count` others."""
        self.nodes.append(DrawnNode("more", f"and {count} more", ""))
        return len(self.nodes) - 1

    def _shown(self, term: Term) -> tuple[Term, ...]:
        """The operands that are drawn: none of what both sides use, the first few of many."""
        if term in self._leaves:
            return ()
        return term.children[:MOST_OPERANDS]

    def _add(self, term: Term, is_cut: bool) -> int:
        if term in self._leaves or is_cut or not isinstance(term, Apply | Item):
            return self._append(self._leaf(term))
        operands = [self._places[child] for child in self._shown(term)]
        hidden = len(term.children) - len(operands)
        if hidden > 0:
            operands.append(self.more(hidden))
        folded = is_constant(term)
        if isinstance(term, Item):
            kind, label = "folded" if folded else "value", f"part {term.index}"
            return self._append(DrawnNode(kind, label, self._shape(term), tuple(operands)))
        detail = "; ".join(part for part in (self._shape(term), _attributes(term)) if part)
        return self._append(DrawnNode("folded" if folded else "operator", _operator(term), detail, tuple(operands)))

    def _leaf(self, term: Term) -> DrawnNode:
        kind = "weight" if is_constant(term) else "value"
        name = self._name(term)
        if name is None and kind == "weight" and isinstance(term, Apply) and term.operator == RESHAPE:
            name = self._name(term.args[0])  # a weight in another shape
        label = name or (_operator(term) if isinstance(term, Apply) else "value")
        return DrawnNode(kind, label, self._shape(term))

    def _shape(self, term: Term) -> str:
        shapes = [str(kind) for kind in self._types(term)]
        if len(shapes) > 1 and len(set(shapes)) == 1:
            return f"{len(shapes)} times {shapes[0]}"
        return " ".join(shapes[:MOST_OUTPUTS]) + (" …" if len(shapes) > MOST_OUTPUTS else "")

    def _append(self, node: DrawnNode) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1


def _operator(term: Apply) -> str:
    return "another operator" if term.operator == OPAQUE else term.operator


def _attributes(term: Apply) -> str:
    if term.operator == OPAQUE:
        return ""
    text = ", ".join(f"{name}={attribute_text(value)}" for name, value in term.attributes)
    return text if len(text) <= LONGEST_DETAIL else text[: LONGEST_DETAIL - 1] + "…"
