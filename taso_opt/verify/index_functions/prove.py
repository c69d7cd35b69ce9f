"""Proves axioms and rules for all sizes: both sides as index functions have the same canonical elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from taso_opt.core.condition import Bounds, Condition
from taso_opt.core.literal import literal_value
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Const, Term, Var, postorder
from taso_opt.errors import SpecError
from taso_opt.semantics.bounds import bounds_of_sizes
from taso_opt.semantics.evaluate import evaluate
from taso_opt.spec.axiom import Axiom
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.text import format_rule
from taso_opt.verify.index_functions.arrays import IndexArrays
from taso_opt.verify.index_functions.canonical import canonical
from taso_opt.verify.index_functions.elements import Element, Sign
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.guards import lean
from taso_opt.verify.index_functions.layout import MAX_COPIES, merged, places
from taso_opt.verify.index_functions.show import inequality, shown
from taso_opt.verify.index_functions.signs import with_one_sign
from taso_opt.verify.index_functions.tables import written_out
from taso_opt.verify.index_functions.tensors import Tensor
from taso_opt.verify.verdict import Unknown

UNREADABLE = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, AssertionError, RecursionError)
"""What a meaning raises on symbolic sizes when it calculates with them outside the array module."""


@dataclass(frozen=True)
class ProvedForAllSizes:
    """Both sides are equal at all sizes and all values of symbolic attributes at which both are defined.

    Sizes, strides, dilations, kernels and groups are at least 1, pads at least 0. `conditions` says what else the
    operators of the two sides need to be defined, `facts` the declared facts of scalar functions that were used;
    `instances` counts the choices of schemes and literal attributes that were proved one by one.
    """

    instances: int
    conditions: tuple[str, ...]
    facts: tuple[str, ...]


Answer: TypeAlias = ProvedForAllSizes | Unknown


def prove_axiom(axiom: Axiom, library: SpecLibrary) -> Answer:
    """Prove an axiom for all sizes, one choice of its schemes and literal attributes after the other."""
    builder = library.builder()
    answers: list[ProvedForAllSizes] = []
    for instance in axiom.instances(builder):
        answer = prove_for_all_sizes(builder, instance.left, instance.right)
        if isinstance(answer, Unknown):
            return Unknown(f"{answer.reason} in {format_rule(Rule(instance.left, instance.right))}")
        answers.append(answer)
    return in_all(answers) if answers else Unknown("it has no instances")


def in_all(answers: Sequence[ProvedForAllSizes]) -> ProvedForAllSizes:
    """The proofs of several instances as one."""
    return ProvedForAllSizes(
        sum(answer.instances for answer in answers),
        tuple(dict.fromkeys(text for answer in answers for text in answer.conditions)),
        tuple(dict.fromkeys(text for answer in answers for text in answer.facts)),
    )


def prove_for_all_sizes(
    builder: Builder, source: Sequence[Term], target: Sequence[Term], conditions: Sequence[Condition] = ()
) -> Answer:
    """Prove that two tuples of outputs are equal in pairs; Unknown says why no proof was found, never that it is false.

    Of the conditions on values the signs of variables are used.

    1. Run the one meaning of each operator on index functions of symbolic sizes.
    2. Walk through each output in segments that suit both sides.
    3. Compare the canonical forms of the two elements at every place.
    """
    roots = (*source, *target)
    stranger = _stranger(builder, roots)
    if stranger is not None or len(source) != len(target):
        return Unknown(stranger or "the sides have different numbers of outputs")
    sizes = bounds_of_sizes(roots)
    xp = IndexArrays(Facts(sizes.least, sizes.at_least_one))
    try:
        _suppose_conditions(builder, xp.facts, roots)
        leaves = _leaves(xp, roots, conditions)
        values: list[Any] = evaluate(builder, xp, roots, leaves)  # type: ignore[arg-type]
        for place, (left, right) in enumerate(zip(values[: len(source)], values[len(source) :], strict=True)):
            reason = _difference(xp, left, right)
            if reason is not None:
                return Unknown(f"output {place}: {reason}" if len(source) > 1 else reason)
    except SpecError as error:
        return Unknown(str(error))
    except UNREADABLE as error:
        return Unknown(f"a meaning cannot be read with symbolic sizes: {error}")
    needed = tuple(f"{one.reason}: {inequality(one.margin)}" for one in xp.facts.conditions)
    return ProvedForAllSizes(1, needed, tuple(xp.used))


def _difference(xp: IndexArrays, left: Tensor, right: Tensor) -> str | None:
    """Where two tensors may differ; None when they are equal."""
    if len(left.shape) != len(right.shape):
        return f"the sides have shapes {list(left.shape)} and {list(right.shape)}"
    for size, other in zip(left.shape, right.shape, strict=True):
        if size != other and not (xp.facts.proves(size - other) and xp.facts.proves(other - size)):
            return f"the sides have shapes {list(left.shape)} and {list(right.shape)}"
    layouts = [merged(one, other) for one, other in zip(left.layouts, right.layouts, strict=True)]
    for place, _ in places(xp.facts, layouts):
        ours, theirs = (canonical(side.at(place)) for side in (left, right))
        if ours != theirs:
            ours, theirs = (_normal(xp.facts, side) for side in (ours, theirs))
        if ours != theirs:
            # What tables of numbers leave is written out; then the other side has to be.
            ours, theirs = (_normal(xp.facts, written_out(side, MAX_COPIES)) for side in (ours, theirs))
        if ours != theirs:
            ours, theirs = (with_one_sign(side, xp.used) for side in (ours, theirs))
        if ours != theirs:
            return f"at {list(place)} one side is {shown(ours)}, the other {shown(theirs)}"
    return None


def _normal(facts: Facts, element: Element) -> Element:
    return canonical(lean(facts, element))


def _leaves(xp: IndexArrays, roots: Iterable[Term], conditions: Iterable[Condition]) -> dict[Term, Any]:
    """A tensor of unknowns for each variable and constant but literals, whose value is known."""
    found = [term for term in postorder(roots) if isinstance(term, Var | Const) and literal_value(term) is None]
    assert len({repr(term) for term in found}) == len(found), "expected leaves of different names"
    signs = {one.variable: _sign(one.bounds) for one in conditions}
    return {
        term: xp.variable(repr(term), term.type.shape, signs.get(term.name, Sign.ANY))
        if isinstance(term, Var)
        else xp.variable(repr(term), term.type.shape)
        for term in found
    }


def _sign(bounds: Bounds) -> Sign:
    """What bounds say of the sign of what lies within."""
    if bounds.low is None or bounds.low < 0:
        return Sign.ANY
    return Sign.POSITIVE if bounds.open or bounds.low > 0 else Sign.NOT_NEGATIVE


def _stranger(builder: Builder, roots: Iterable[Term]) -> str | None:
    """The first operator without a meaning."""
    for term in postorder(roots):
        if isinstance(term, Apply) and builder.operator(term) is None:
            return f"{term.operator} has no meaning"
    return None


def _suppose_conditions(builder: Builder, facts: Facts, roots: Iterable[Term]) -> None:
    for term in postorder(roots):
        operator = builder.operator(term) if isinstance(term, Apply) else None
        if isinstance(term, Apply) and operator is not None and operator.conditions is not None:
            for margin, reason in operator.conditions(**builder.bound_attributes(term)):
                facts.suppose(margin, reason)
