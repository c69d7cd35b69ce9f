"""The order in which the runtime executes the kernels of a graph, which says how far away their weights lie.

ONNX Runtime walks a graph depth-first, from the nodes that no other reads to what they need, and of the operands of a
node it goes to the one first that was made last (`ReverseDFSFrom` as its GraphViewer calls it). Nodes are made in the
order of the file, and what is fused is a new node: first products and what is added to them, then functions of these,
each in the order of such a walk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from taso_opt.core.term import Apply, Item, Term


def execution_order(written: Iterable[Term], fusions: Iterable[AbstractSet[Term]]) -> dict[Term, int]:
    """The place of each application among all that are executed.

    `written` are the terms that are computed, in the order of the file; those of a fusion are executed as one.
    """
    applied = [term for term in written if isinstance(term, Apply)]
    made = {term: at for at, term in enumerate(applied)}
    nodes = {term: term for term in made}
    latest = len(applied)
    whole = [sorted(made.keys() & fusion, key=made.__getitem__) for fusion in fusions]
    sums = [terms[:-1] if _ends_in_function(terms) else terms for terms in whole]
    for fused in (sums, whole):
        places = _walked(made, nodes)
        new = [terms for terms in fused if len({nodes[term] for term in terms}) > 1]
        for terms in sorted(new, key=lambda terms: min(places[nodes[term]] for term in terms)):
            nodes.update(dict.fromkeys(terms, terms[0]))
            made[terms[0]], latest = latest, latest + 1
    places = _walked(made, nodes)
    return {term: places[node] for term, node in nodes.items()}


def _ends_in_function(terms: Sequence[Apply]) -> bool:
    """Whether the last of them is a function of what the others compute, fused in a second step."""
    return len(terms) > 2 and len(terms[-1].args) == 1


def _walked(made: Mapping[Apply, int], nodes: Mapping[Apply, Apply]) -> dict[Apply, int]:
    """The place of each node; `nodes` says which one computes a term, and `made` when it was made."""
    needed: dict[Apply, dict[Apply, None]] = {node: {} for node in nodes.values()}
    for term, node in nodes.items():
        for child in term.children:
            source = child.term if isinstance(child, Item) else child
            operand = nodes.get(source) if isinstance(source, Apply) else None
            if operand is not None and operand is not node:
                needed[node][operand] = None
    read = {operand for operands in needed.values() for operand in operands}
    stack = [(node, False) for node in sorted(needed.keys() - read, key=made.__getitem__)]
    found: dict[Apply, int] = {}
    entered: set[Apply] = set()
    while stack:
        node, is_done = stack.pop()
        if is_done:
            found[node] = len(found)
        elif node not in entered:
            entered.add(node)
            stack.append((node, True))
            stack += [(one, False) for one in sorted(needed[node], key=made.__getitem__) if one not in entered]
    return found
