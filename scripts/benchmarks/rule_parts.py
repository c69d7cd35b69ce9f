"""Parts the rule library into rules about layouts and all others, for an ablation of the paper's Figure 2.12."""

from collections import Counter
from collections.abc import Iterable

from taso_opt.core.dims import Dim, product
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, postorder
from taso_opt.spec.builder import Builder

KERNELS = frozenset({"Enlarge", "IdentityKernel", "PairGroups"})
"""Operators of weights that store a kernel in another form: with zeros around or between, or none at all but itself."""


def is_layout_rule(rule: Rule, builder: Builder) -> bool:
    """Whether a rule changes only how operands are stored or moved.

    That is so where data is moved or stored otherwise on one side or both, and both sides compute the same: the same
    operators other than those that move, as many times, each for as many elements.
    """
    sides = rule.source, rule.target
    moves = any(_moves(term, builder) for side in sides for term in postorder(side))
    first, second = (_computed(side, builder) for side in sides)
    return moves and first == second


def _moves(term: Term, builder: Builder) -> bool:
    """Whether a term is an operator that only moves or stores data."""
    operator = builder.operator(term) if isinstance(term, Apply) else None
    return operator is not None and (not operator.arithmetic or operator.name in KERNELS)


def _computed(side: Iterable[Term], builder: Builder) -> Counter[tuple[str, Dim]]:
    """How often each operator that computes stands in a graph, by the number of elements that it computes."""
    computing = [term for term in postorder(side) if isinstance(term, Apply) and not _moves(term, builder)]
    return Counter((term.operator, product(builder.types(term)[0].shape)) for term in computing)
