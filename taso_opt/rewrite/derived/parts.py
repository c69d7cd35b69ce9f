"""Pairs rules that say of each part of a split what another says of the other part.

Moving one part of a split alone past an operator mostly costs: the operator then works on the whole. Taken together,
as `(f(u[0]), f(u[1])) = (f(u)[0], f(u)[1])`, the two say what the search wants to know, and lifting makes it a rule
about any number of parts. A pair claims no more than its two rules, which are both proved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from taso_opt.core.rule import Certificate, Rule
from taso_opt.core.term import Apply, Item, Term, postorder
from taso_opt.errors import TypeMismatch
from taso_opt.rewrite.patterns.renaming import Renaming, correspondences
from taso_opt.spec.builder import Builder

Key = tuple[tuple[str, int], ...]


def paired(rules: Iterable[Rule], builder: Builder) -> Iterator[Rule]:
    """A rule of two outputs for each rule about first parts of splits whose twin, about second ones, is given too."""
    for rule, twin in twins(rules, builder):
        source, target = (_other_part(side[0], builder) for side in (rule.source, rule.target))
        outputs = (*rule.source, source), (*rule.target, target)
        yield Rule(*outputs, rule.name, max(rule.fp_class, twin.fp_class), of_both(rule, twin))


def twins(rules: Iterable[Rule], builder: Builder) -> Iterator[tuple[Rule, Rule]]:
    """Each rule about first parts of splits with one that says the same of second parts, under other names perhaps."""
    firsts: list[Rule] = []
    seconds: dict[tuple[Key, Key], list[Rule]] = defaultdict(list)
    for rule in rules:
        if len(rule.source) == 1 and not rule.conditions and (parts := _parts(rule)):
            if parts == {0}:
                firsts.append(rule)
            elif parts == {1}:
                seconds[_key(rule.source[0]), _key(rule.target[0])].append(rule)
    for rule in firsts:
        try:
            source, target = (_other_part(side[0], builder) for side in (rule.source, rule.target))
        except TypeMismatch:  # a second part has another size, and what is done to the first does not fit it
            continue
        for twin in seconds[_key(source), _key(target)]:
            if says(twin, source, target, builder):
                yield rule, twin
                break


def of_both(rule: Rule, twin: Rule) -> Certificate | None:
    """The certificate of the first rule with the axioms of the second beside its own."""
    if rule.certificate is None or twin.certificate is None:
        return None
    axioms = dict.fromkeys((*rule.certificate.axioms, *twin.certificate.axioms))
    return replace(rule.certificate, axioms=tuple(axioms))


def _parts(rule: Rule) -> set[int]:
    """Which parts of splits in two the sides take; none where a side takes none, parts of parts, or something else."""
    sides = [[term for term in postorder(side) if isinstance(term, Item)] for side in (rule.source, rule.target)]
    if not all(sides) or not all(_is_half(item) for side in sides for item in side):
        return set()
    return {item.index for side in sides for item in side}


def _is_half(item: Item) -> bool:
    sizes = dict(item.term.attributes).get("sizes")
    if item.term.operator != "Split" or not isinstance(sizes, tuple) or len(sizes) != 2:
        return False
    return not any(isinstance(term, Item) for term in postorder(item.term.args))


def _key(term: Term) -> Key:
    """What a twin must have in common, whatever its variables are called: the operators, and how often each."""
    names = sorted(one.operator for one in postorder([term]) if isinstance(one, Apply))
    return tuple((name, names.count(name)) for name in dict.fromkeys(names))


def _other_part(term: Term, builder: Builder) -> Term:
    """The term with the second part wherever it takes the first."""
    made: dict[Term, Term] = {}
    for one in postorder([term]):
        new = builder.rebuild(one, tuple(made[child] for child in one.children))
        made[one] = Item(new.term, 1) if isinstance(new, Item) else new
    return made[term]


def says(twin: Rule, source: Term, target: Term, builder: Builder) -> bool:
    """Whether a rule is this equation under other names, different ones for different variables and sizes."""
    for renaming in correspondences(source, twin.source[0], Renaming(), builder):
        for whole in correspondences(target, twin.target[0], renaming, builder):
            if all(len(set(names.values())) == len(names) for names in (whole.terms, whole.sizes)):
                return True
    return False
