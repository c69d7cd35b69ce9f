"""Finds the nodes of the original that can be kept although what stands before them was rewritten."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from taso_opt.core.term import OPAQUE, Apply, Const, Item, Term, is_constant, postorder
from taso_opt.onnx_io.reading.model import Model
from taso_opt.spec.builder import Builder


@dataclass(frozen=True)
class Reuse:
    """A node of the original that computes a new application when it is given these operands."""

    node: int
    operands: tuple[Term, ...]


def reused_nodes(model: Model, outputs: Sequence[Term], taken: Collection[int]) -> dict[Term, Reuse]:
    """For applications in a rewritten graph that the original has with other operands: the node to keep for each.

    Original and rewritten graph are walked down in parallel as long as operators and attributes agree: from outputs,
    from opaque terms and from applications to the same weights. A known node is kept when the types of its operands did
    not change, since then its spelling means the same; every node is kept once at most, and those in `taken` not at
    all. Opaque terms name their node themselves.
    """
    found: dict[Term, Reuse] = {}
    used = set(taken)
    seen: set[Term] = set()
    stack = [*_anchors(model.graph.outputs, outputs), *zip(model.graph.outputs, outputs, strict=True)]
    while stack:
        old, new = stack.pop()
        if old is new or new in seen or new in model.origin:
            continue
        seen.add(new)
        origin = model.origin.get(old)
        if isinstance(old, Item) and isinstance(new, Item) and old.index == new.index:
            old, new = old.term, new.term
        if not isinstance(old, Apply) or not isinstance(new, Apply) or old.operator != new.operator:
            continue
        if old.attributes != new.attributes or len(old.args) != len(new.args):
            continue
        args = _paired(model.builder, old, new)
        stack.extend(reversed(list(zip(old.args, args, strict=True))))
        node = None if origin is None or old.operator == OPAQUE else origin.node
        operands = None if node is None else _operands(model, node, old, args)
        if node is not None and operands is not None and node not in used and new not in found:
            used.add(node)
            found[new] = Reuse(node, operands)
    return found


def _anchors(old: Sequence[Term], new: Sequence[Term]) -> list[tuple[Term, Term]]:
    """Terms of both graphs that surely correspond: the only ones with their operator, attributes and constants."""
    before, after = _marked(old), _marked(new)
    pairs = ((terms, after.get(mark, [])) for mark, terms in before.items())
    return [(here[0], there[0]) for here, there in pairs if len(here) == len(there) == 1]


def _marked(outputs: Sequence[Term]) -> dict[object, list[Apply]]:
    """Opaque terms and applications to constants by what marks them."""
    found: dict[object, list[Apply]] = {}
    for term in postorder(outputs):
        if not isinstance(term, Apply):
            continue
        constants = frozenset(arg for arg in term.args if isinstance(arg, Const))
        if constants or term.operator == OPAQUE:
            mark = term.operator, term.attributes, None if term.operator == OPAQUE else constants
            found.setdefault(mark, []).append(term)
    return found


def _paired(builder: Builder, old: Apply, new: Apply) -> tuple[Term, ...]:
    """The new operands in the order of the old ones; only operators that commute have a choice."""
    operator = builder.operator(old)
    if operator is None or not operator.commutative:
        return new.args
    order = sorted(new.args, key=lambda arg: arg not in old.args)
    left = list(order)
    paired: list[Term | None] = [left.pop(left.index(arg)) if arg in left else None for arg in old.args]
    for at, arg in enumerate(old.args):
        if paired[at] is None:
            fitting = next((one for one in left if builder.types(one) == builder.types(arg)), left[0])
            left.remove(fitting)
            paired[at] = fitting
    return tuple(arg for arg in paired if arg is not None)


def _operands(model: Model, node: int, old: Apply, args: Sequence[Term]) -> tuple[Term, ...] | None:
    """What a node must be given to compute `old` over new operands; None when that cannot be told from its inputs.

    Constants that the node makes of its own, as a weight transposed, have to stay as they are.
    """
    images: dict[Term, Term] = {}
    types = model.builder.types
    for before, after in zip(old.args, args, strict=True):
        if types(before) != types(after) or images.setdefault(before, after) is not after:
            return None
    operands = model.uses[node].operands
    moved = {before for before, after in images.items() if before is not after or not is_constant(before)}
    if not moved <= set(operands):
        return None
    if any(operand not in images and not isinstance(operand, Const) for operand in operands):
        return None
    return tuple(images.get(operand, operand) for operand in operands)
