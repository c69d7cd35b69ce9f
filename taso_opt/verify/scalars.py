"""Proves equations between element-wise expressions: one element of each side, over the ordered real numbers.

Every element of the result of element-wise operators is one scalar expression of the elements that broadcasting puts
at its place. So an equation between two of them holds for all shapes on which both sides have one type, as soon as
it holds for numbers, which Z3 decides from the meanings of the operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

import z3

from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, Var, postorder, variables
from taso_opt.semantics.evaluate import evaluate
from taso_opt.semantics.exponentials import Exponentials
from taso_opt.semantics.instances import instantiate, symbols_in_attributes, symbols_of
from taso_opt.semantics.reals import OrderedReals
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array, Operator
from taso_opt.spec.shared.shapes import is_star

RESOURCE_LIMIT = 4_000_000
"""Z3's deterministic unit of work, a few seconds; proofs take a hundredth of it."""

ENGINE = f"z3 {z3.get_version_string()}, reals"


def prove_scalars(builder: Builder, rule: Rule) -> str | None:
    """None when both sides are equal for all real numbers, else why no proof was found."""
    roots = rule.roots
    if symbols_in_attributes(roots):
        return "a symbol in an attribute of a function of numbers could be any number"
    if any(_may_lack_axes(builder, term) for term in postorder(roots) if isinstance(term, Apply)):
        return "an axis of size one would be one too many where a star stands for no axis"
    # Literal sizes could tell elements apart only through shapes, and those have been inferred to be equal.
    one_element = dict.fromkeys(symbols_of(roots).sizes, ())
    numbers = instantiate(builder, roots, one_element, "float64")
    why = _why_unequal(builder, rule, numbers, OrderedReals())
    return None if why is None or _why_unequal(builder, rule, numbers, Exponentials()) is None else why


def _may_lack_axes(builder: Builder, term: Apply) -> bool:
    """Whether an operand states an axis of size one where another has a star, which may stand for no axis at all."""
    aligned = zip_longest(*(reversed(builder.type(argument).shape) for argument in term.args))
    return any(1 in sizes and any(size is not None and is_star(size) for size in sizes) for sizes in aligned)


def _why_unequal(builder: Builder, rule: Rule, numbers: Sequence[Term], reals: OrderedReals) -> str | None:
    """None when the sides of a rule, given on numbers, are equal as far as their functions are known."""
    leaves: dict[Term, Array] = {leaf: reals.unknown(leaf.name) for leaf in variables(numbers)}
    values = evaluate(builder, reals, numbers, leaves)
    width = len(rule.source)
    return _equal(reals, zip(values[:width], values[width:], strict=True), _supposed(rule, leaves))


def prove_scalars_commute(operator: Operator) -> str | None:
    """None when the operands of a binary element-wise operator may change places, else why no proof was found."""
    reals = OrderedReals()
    x, y = reals.unknown("x"), reals.unknown("y")
    return _equal(reals, [(operator.evaluate(reals, x, y), operator.evaluate(reals, y, x))])


def _supposed(rule: Rule, leaves: Mapping[Term, Array]) -> Iterator[z3.BoolRef]:
    """What the conditions of a rule say of the unknown numbers that its variables became."""
    for leaf, value in leaves.items():
        bounds = rule.bounds(leaf.name) if isinstance(leaf, Var) else None
        if bounds is not None:
            yield from bounds.comparisons(value.item())


def _equal(
    reals: OrderedReals, pairs: Iterable[tuple[Array, Array]], supposed: Iterable[z3.BoolRef] = ()
) -> str | None:
    solver = z3.SimpleSolver()
    solver.set("rlimit", RESOURCE_LIMIT)
    solver.add(*supposed)
    solver.add(z3.Or([reals.differ(u.item(), v.item()) for u, v in pairs]))
    solver.add(*reals.facts)
    match str(solver.check()):
        case "unsat":
            return None
        case "sat":
            return "the two sides differ for some real numbers, as far as their functions are known"
        case _:
            return f"Z3 gave up over the reals: {solver.reason_unknown()}"
