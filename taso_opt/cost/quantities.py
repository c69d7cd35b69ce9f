"""What a graph costs without measuring it: floating-point operations, bytes of weights, peak memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from taso_opt.core.term import Apply, Item, Term, postorder
from taso_opt.cost.kernels.units import SHAPES, Unit, UnitFinder
from taso_opt.cost.kernels.work import term_multiplications, type_bytes
from taso_opt.spec.builder import Builder

WINDOWS = frozenset({"AveragePool", "MaxPool"})


def unit_flops(unit: Unit, builder: Builder) -> float:
    """Floating-point operations of a unit: two a multiplication in products, else one an element."""
    return float(sum(term_flops(member, builder) for member in unit.members if isinstance(member, Apply)))


def weight_bytes(outputs: Sequence[Term], builder: Builder, is_constant: Callable[[Term], bool]) -> float:
    """Bytes of all weights that a graph needs after its constants are folded, each counted once."""
    found: dict[Term, None] = {output: None for output in outputs if is_constant(output)}
    for term in postorder(outputs):
        if not is_constant(term):
            found.update((child, None) for child in term.children if is_constant(child))
    return float(sum(type_bytes(kind) for term in found for kind in builder.types(term)))


def peak_bytes(outputs: Sequence[Term], builder: Builder, finder: UnitFinder) -> float:
    """The most memory that a graph takes at once: its weights, its inputs, and the results that are still needed.

    An estimate: kernels run one after the other in the order of the graph, none works in place, another shape shares
    the memory of its operand, and what an operator takes for itself is not known. Values of unknown size count nothing.
    """
    terms = [term for term in postorder(outputs) if not finder.is_constant(term)]
    step, units = {term: at for at, term in enumerate(terms)}, finder.units(outputs)
    # A unit is over when it has given the last of its results; what stays inside it is never stored.
    over = {member: max(step[root] for root in unit.roots) for unit in units for member in unit.members}
    inside = over.keys() - {root for unit in units for root in unit.roots}
    last = _last_uses(terms, {**step, **over})
    last.update((_owner(output), len(terms)) for output in outputs if not finder.is_constant(output))
    ends: dict[int, list[float]] = {}
    now = peak = 0.0
    for at, term in enumerate(terms):
        if _owner(term) is term and term not in inside:
            size = float(sum(type_bytes(kind) for kind in builder.types(term)))
            now += size
            peak = max(peak, now)
            if isinstance(term, Apply):  # inputs belong to the caller and stay
                ends.setdefault(max(at, last.get(term, at)), []).append(size)
        now -= sum(ends.pop(at, ()))
    return peak + weight_bytes(outputs, builder, finder.is_constant)


def _last_uses(terms: Sequence[Term], over: Mapping[Term, int]) -> dict[Term, int]:
    """The step after which the memory of each value is free: that at which the last is over which reads it."""
    last: dict[Term, int] = {}
    for term in terms:
        for child in term.children:
            owner = _owner(child)
            last[owner] = max(over[term], last.get(owner, 0))
    return last


def _owner(term: Term) -> Term:
    """The term whose memory a term uses: a part of a split and a reshape have none of their own."""
    while True:
        if isinstance(term, Item):
            term = term.term
        elif isinstance(term, Apply) and term.operator in SHAPES:
            term = term.args[0]
        else:
            return term


def term_flops(term: Apply, builder: Builder) -> int:
    """Floating-point operations of one operator: two a multiplication in products, else one an element."""
    if builder.operator(term) is None or builder.moves_data(term):
        return 0
    multiplications = term_multiplications(term, builder)
    if multiplications:
        return 2 * multiplications
    results = sum(kind.elements or 0 for kind in builder.types(term))
    if term.operator in WINDOWS:
        window = builder.bound_attributes(term)["kernel"]
        return results * prod(map(_number, window if isinstance(window, tuple) else ()))
    return max(results, *(kind.elements or 0 for argument in term.args for kind in builder.types(argument)))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 1
