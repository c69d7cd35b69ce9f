"""Says in which directions a search can use a rule, and what it can say of more tensors than the rule does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taso_opt.core.dims import product
from taso_opt.core.rule import Rule, open_sizes
from taso_opt.core.term import Apply, Term, postorder
from taso_opt.rewrite.derived.operands import with_own_operands
from taso_opt.rewrite.derived.parts import paired
from taso_opt.rewrite.derived.wholes import MOVEMENTS, with_wholes
from taso_opt.spec.builder import Builder, bind_attribute

FRACTION = 2
"""How many numbers say an exponent: one over another."""

COMPOSED = frozenset({"Split", *MOVEMENTS})
"""Others are made only of rules with one of these in their source."""

LAID_OUT = frozenset({"Reshape", "Squeeze", "Transpose", "Unsqueeze"})
"""What changes no element and no order but that of axes."""


def useful(rule: Rule, builder: Builder) -> Rule | None:
    """The rule in this direction with no size open; None where a search has no use for it.

    That is so where its source does not tell its target or stays in it, where it makes a root of a difference, and
    where it cuts up what is only laid out anew.
    """
    if not rule.tells_target or _only_adds(rule, builder) or _makes_a_root_of_a_difference(rule) or _cuts_up(rule):
        return None
    return _closed(rule, builder)


def composable(rules: Sequence[Rule]) -> list[Rule]:
    """The rules that `composed` has a use for, whether useful or not."""
    candidates = [rule for rule in rules if len(rule.source) == 1 and not rule.conditions]
    found: set[Term] = set()
    for term in postorder(rule.source[0] for rule in candidates):
        if (isinstance(term, Apply) and term.operator in COMPOSED) or not found.isdisjoint(term.children):
            found.add(term)
    return [rule for rule in candidates if rule.source[0] in found]


def composed(rules: Sequence[Rule], builder: Builder) -> list[Rule]:
    """What useful rules say together: of all parts of a split, and of whole weights."""
    pairs = list(paired(rules, builder))
    return [*pairs, *with_own_operands(pairs, rules, builder), *with_wholes(rules, builder)]


def _closed(rule: Rule, builder: Builder) -> Rule:
    """The rule with 1, which models have, for the dilations in its target that may be any."""
    ones = dict.fromkeys(open_sizes(rule), 1)
    if not ones:
        return rule
    closed: dict[Term, Term] = {}
    for term in postorder(rule.target):
        new = tuple(closed[child] for child in term.children)
        if isinstance(term, Apply):
            attributes = {name: bind_attribute(value, ones) for name, value in term.attributes}
            closed[term] = builder.apply(term.operator, new, attributes)
        else:
            closed[term] = builder.rebuild(term, new)
    return replace(rule, target=tuple(closed[root] for root in rule.target))


def _makes_a_root_of_a_difference(rule: Rule) -> bool:
    """Whether a target takes a root of a difference and the source takes none.

    Rounding may leave such a difference far off, or below 0, as the mean of squares less the square of the mean where
    all numbers are nearly equal: what gave zeros gives NaN then. The other way round nothing is lost.
    """
    return _has_a_root_of_a_difference(rule.target) and not _has_a_root_of_a_difference(rule.source)


def _has_a_root_of_a_difference(roots: Sequence[Term]) -> bool:
    return any(
        isinstance(term, Apply) and _is_root(term) and any(map(_is_difference, _summands(term.args[0])))
        for term in postorder(roots)
    )


def _is_root(term: Apply) -> bool:
    if term.operator == "Sqrt":
        return True
    exponent = term.attribute("exponent") if term.operator == "Pow" else ()
    return isinstance(exponent, tuple) and len(exponent) == FRACTION and exponent[1] != 1


def _summands(term: Term) -> Sequence[Term]:
    return term.children if isinstance(term, Apply) and term.operator == "Add" else (term,)


def _is_difference(term: Term) -> bool:
    return isinstance(term, Apply) and term.operator == "Sub"


def _only_adds(rule: Rule, builder: Builder) -> bool:
    """Whether the rule in this direction does something more to what is there, or repeats operands of it before.

    As Relu(x) = Relu(Relu(x)) does, and Add(x, y) = Add(x, Expand(y)), and a convolution of x joined to itself.
    """
    if len(rule.source) > 1:
        return False
    (source,), (target,) = rule.source, rule.target
    if source in postorder(rule.target):
        return True
    if not isinstance(source, Apply) or not isinstance(target, Apply) or source.operator != target.operator:
        return False
    changed = [(old, new) for old, new in zip(source.args, target.args, strict=False) if old != new]
    if len(source.args) != len(target.args):
        return False
    repeated = source.attributes == target.attributes and all(_repeats(old, new, builder) for old, new in changed)
    return repeated or (bool(changed) and all(_doubles(old, new) for old, new in changed))


def _cuts_up(rule: Rule) -> bool:
    """Whether the rule in this direction takes parts of what only has another shape, or its axes in another order."""
    source, target = (
        {term.operator for term in postorder(side) if isinstance(term, Apply)} for side in (rule.source, rule.target)
    )
    return len(rule.source) == 1 and source <= LAID_OUT and "Split" in target


def _repeats(old: Term, new: Term, builder: Builder) -> bool:
    """Whether a term is one operator on another and has another number of elements."""
    if not isinstance(new, Apply) or new.args != (old,):
        return False
    return product(builder.type(old).shape) != product(builder.type(new).shape)


def _doubles(old: Term, new: Term) -> bool:
    """Whether a term is the join of another one to itself."""
    return isinstance(new, Apply) and new.operator == "Concat" and set(new.args) == {old}
