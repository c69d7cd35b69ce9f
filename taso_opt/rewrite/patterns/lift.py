"""Compiles rules to patterns, lifting what a rule says of two tensors to any number of them.

A rule is lifted when a renaming turns its first half into its second: `Concat(u, u')`, `Split` into `(n, n')`,
`Add(u, u')` and the two outputs of a merge. Its k-ary form follows from the binary rule by induction: apply the rule
to the first k-1 elements taken as one and to the last, then flatten with the associativity of concatenation
(`concat_is_associative`, `split_of_three_is_nested`) and of the folded operator. What all elements share must not stand
more often on the right than on the left, as z does in (x z)(y z) = (x y)(z z): of three elements it would be z z z.
What numbers in attributes stand for cannot be told here: verification tries the forms for three (verify/lifted.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from taso_opt.core.condition import ANY, Condition
from taso_opt.core.dims import Dim, Size, substitute, symbol, total
from taso_opt.core.literal import literal_value
from taso_opt.core.rule import Rule, mentioned
from taso_opt.core.term import Apply, Attribute, Attributes, Const, Item, Term, Var, attributes_of, postorder
from taso_opt.core.types import TensorType
from taso_opt.rewrite.patterns.pattern import (
    Application,
    CompiledRule,
    Fold,
    Join,
    Literal,
    Output,
    Part,
    Pattern,
    Summed,
    Total,
    Variable,
    shared_leaves,
)
from taso_opt.rewrite.patterns.renaming import Renaming, correspondences
from taso_opt.spec.builder import Builder

FOLDABLE = frozenset({"Add", "Mul"})


class NotLiftable(Exception):
    """Raised inside this module when the halves of a rule do not correspond."""


def compile_forms(rule: Rule, builder: Builder) -> Iterator[CompiledRule]:
    """All pattern forms of a rule in the direction given."""
    one = compile_rule(rule, builder)
    if one is None and len(rule.source) > 1:
        yield from compile_together(rule, builder)
    yield from (form for form in (one, compile_fold(rule, builder)) if form is not None)


def compile_on_request(rule: Rule, builder: Builder) -> CompiledRule:
    """The pattern form of a rule that is only taken where a sequence asks for it, as its source fits too much."""
    return _Lifting(builder, Renaming(), rule.conditions).compile(rule)


def compile_rule(rule: Rule, builder: Builder) -> CompiledRule | None:
    """The pattern form of a rule in the direction given; None when its source fits everything or cannot be merged."""
    if isinstance(rule.source[0], Var):
        return None
    for renaming in _renamings(rule, builder) if all(one.bounds == ANY for one in rule.conditions) else ():
        try:
            return _Lifting(builder, renaming, rule.conditions).compile(rule)
        except NotLiftable:
            continue
    if len(rule.source) > 1:
        return None
    try:
        return _Lifting(builder, Renaming(), rule.conditions).compile(rule)
    except NotLiftable:
        return None


def compile_together(rule: Rule, builder: Builder) -> Iterator[CompiledRule]:
    """The forms of a rule about several results that match any one of them that tells what the others are.

    Parts of one split are no such results: what takes a merge back is said of one part alone.
    """
    told = mentioned(rule.source)
    for at, leader in enumerate(rule.source):
        is_part = isinstance(leader, Item) and leader.term.operator == "Split"
        if mentioned((leader,)) == told and not is_part and not isinstance(leader, Var):
            order = (at, *(other for other in range(len(rule.source)) if other != at))
            source, target = (tuple(side[place] for place in order) for side in (rule.source, rule.target))
            yield _Lifting(builder, Renaming(), rule.conditions).compile_together(
                replace(rule, source=source, target=target)
            )


def compile_fold(rule: Rule, builder: Builder) -> CompiledRule | None:
    """The form of a rule about the sum (or product) of two that takes any number of operands; None if it has none."""
    (first, *others) = rule.source
    if others or rule.conditions or not isinstance(first, Apply) or first.operator not in FOLDABLE:
        return None
    left, right = first.args
    for one, other in ((left, right), (right, left)):
        for renaming in correspondences(one, other, Renaming(), builder):
            try:
                return _Lifting(builder, renaming).compile_fold(rule)
            except NotLiftable:
                continue
    return None


def _renamings(rule: Rule, builder: Builder) -> Iterator[Renaming]:
    """Renamings that could carry one half of the rule into the other."""
    if len(rule.source) == 2:
        first, second = rule.source
        yield from correspondences(first, second, Renaming(), builder)
        yield from correspondences(second, first, Renaming(), builder)
        return
    for term in rule.applications:
        if term.operator == "Concat" and len(term.args) == 2:
            yield from correspondences(*term.args, Renaming(), builder)
    (target, *others) = rule.target
    if not others and isinstance(target, Apply) and target.operator in FOLDABLE:  # a sum over the parts of a split
        for one, other in (target.args, target.args[::-1]):
            yield from correspondences(one, other, Renaming(), builder)


def _depends_on_count(source: Pattern, target: Pattern) -> bool:
    """Whether a target has more of something shared than a source, so that it grows with the number of elements."""
    return bool(shared_leaves(target, with_elements=False) - shared_leaves(source, with_elements=True))


class _Lifting:
    """Turns the terms of one rule into patterns under one renaming."""

    def __init__(self, builder: Builder, renaming: Renaming, conditions: Sequence[Condition] = ()) -> None:
        self._builder, self._renaming = builder, renaming
        self._bounds = {one.variable: one.bounds for one in conditions}
        moved = {u: v for u, v in renaming.terms.items() if u is not v}
        if set(moved) & {v for u, v in renaming.terms.items() if u is not v and isinstance(v, Var)}:
            raise NotLiftable
        self._private = frozenset(term for term in moved if isinstance(term, Var))
        self._other_half = frozenset(term for term in moved.values() if isinstance(term, Var))
        self._moves_parts = any(isinstance(term, Item) for term in moved)
        self._sizes = {u: v for u, v in renaming.sizes.items() if u != v}
        self._private_names = frozenset((*self._sizes, *self._sizes.values()))
        self._image: dict[Term, Term] = {}
        self._converted: dict[tuple[Term, bool, bool], Pattern] = {}
        self._split_inputs: set[Term] = set()
        self._lifted = False
        self._lifted_join = False

    def compile(self, rule: Rule) -> CompiledRule:
        merges = len(rule.source) == 2
        if merges and self._rename(rule.source[0]) is not rule.source[1]:
            raise NotLiftable
        self._check_target(rule)
        for term in rule.applications:
            if term.operator == "Split":
                self._split_inputs.add(term.args[0])
        source = self._convert(rule.source[0], merges, in_source=True)
        if merges and self._lifted_join:
            raise NotLiftable
        target = self._convert(rule.target[0], merges, in_source=False)
        lifted = merges or self._lifted
        if not lifted and (self._private or self._moves_parts):
            raise NotLiftable
        if lifted and _depends_on_count(source, target):
            raise NotLiftable
        return CompiledRule(rule, source, target, merges, lifted, frozenset(self._sizes))

    def compile_together(self, rule: Rule) -> CompiledRule:
        """The rule as one about its first result, which tells the others."""
        (source, *sources), (target, *targets) = (
            [self._convert(root, False, in_source) for root in side]
            for side, in_source in ((rule.source, True), (rule.target, False))
        )
        others = tuple(zip(sources, targets, strict=True))
        return CompiledRule(rule, source, target, False, False, frozenset(), others)

    def compile_fold(self, rule: Rule) -> CompiledRule:
        """The rule with the two operands of its source as two of any number."""
        (source,) = rule.source
        assert isinstance(source, Apply)
        element = self._pair(source)
        if not isinstance(element, Apply) or element.operator == source.operator or self._moves_parts:
            raise NotLiftable
        operand = self._convert(element, True, in_source=True)
        target = self._convert(rule.target[0], False, in_source=False)
        fold = Fold(source.operator, operand)
        if _depends_on_count(fold, target):
            raise NotLiftable
        return CompiledRule(rule, fold, target, False, True, frozenset(self._sizes))

    def _check_target(self, rule: Rule) -> None:
        if len(rule.target) == 2 and self._rename_output(rule.target[0]) is not rule.target[1]:
            raise NotLiftable

    def _rename_output(self, term: Term) -> Term:
        """The second output that corresponds to the first: item 1 where the first takes item 0 of a merged split."""
        if isinstance(term, Item) and term.term.operator == "Split":
            return Item(term.term, 1 - term.index)
        if isinstance(term, Apply):
            return self._with_operands(term, tuple(self._rename_output(child) for child in term.args))
        return self._rename(term)

    def _convert(self, term: Term, element: bool, in_source: bool) -> Pattern:
        place = term, element, in_source
        if place not in self._converted:
            self._converted[place] = self._as_pattern(*place)
        return self._converted[place]

    def _as_pattern(self, term: Term, element: bool, in_source: bool) -> Pattern:
        match term:
            case Var():
                return self._variable(term, element)
            case Const():
                value = literal_value(term)
                if value is None:
                    raise NotLiftable
                return Literal(value)
            case Item():
                return self._item(term, element, in_source)
        pair = self._pair(term) if self._renaming.terms else None
        if pair is not None and term.operator == "Concat":
            self._lifted = self._lifted_join = True
            return Join(self._convert(pair, True, in_source), int(str(term.attribute("axis"))))
        if pair is not None and not in_source and term.operator in FOLDABLE and not element:
            return Fold(term.operator, self._convert(pair, True, in_source))
        attributes = term.attributes if element else self._totals(term.attributes, in_source)
        args = tuple(self._convert(argument, element, in_source) for argument in term.args)
        operator = self._builder.operator(term)
        private = element and self._mentions_private_sizes(term.attributes)
        return Application(term.operator, args, attributes, operator is not None and operator.commutative, private)

    def _totals(self, attributes: Attributes, in_source: bool) -> tuple[tuple[str, Summed], ...]:
        """Attributes of what stands outside the elements: private sizes occur only summed up, and only in targets."""
        return tuple((name, self._summed(value, in_source)) for name, value in attributes)

    def _summed(self, value: Attribute, in_source: bool) -> Summed:
        if not self._mentions_private_sizes(value):
            return value
        if isinstance(value, tuple):
            return tuple(self._summed(part, in_source) for part in value)
        if in_source or not isinstance(value, Size):
            raise NotLiftable
        mine = total(Size((term,)) for term in value.terms if any(factor in self._sizes for factor in term[0]))
        if total((mine, self._renamed_size(mine))) != value:
            raise NotLiftable
        return Total(mine)

    def _pair(self, term: Apply) -> Term | None:
        """The operand for the first element when the two operands correspond, else None."""
        if len(term.args) != 2:
            return None
        first, second = term.args
        if first is not second and self._rename(first) is second:
            return first
        operator = self._builder.operator(term)
        if operator is not None and operator.commutative and first is not second and self._rename(second) is first:
            return second
        return None

    def _item(self, term: Item, element: bool, in_source: bool) -> Pattern:
        split = term.term
        if not element or split.operator != "Split" or not self._renaming.terms:
            return Output(self._convert(split, element, in_source), term.index)
        sizes = split.attribute("sizes")
        assert isinstance(sizes, tuple)
        if len(sizes) != 2 or self._renamed_attribute(sizes[term.index]) != sizes[1 - term.index]:
            raise NotLiftable
        size = sizes[term.index]
        assert isinstance(size, int | Size)
        self._lifted = True
        return Part(self._convert(split.args[0], False, in_source), int(str(split.attribute("axis"))), size)

    def _variable(self, term: Var, element: bool) -> Variable:
        private = term in self._private
        if term in self._other_half or (private and not element):
            raise NotLiftable
        shape: tuple[Dim | None, ...] = term.type.shape
        if not private and any(self._mentions_private_sizes(dim) for dim in term.type.shape):
            if term not in self._split_inputs:
                raise NotLiftable
            shape = tuple(None if self._mentions_private_sizes(dim) else dim for dim in term.type.shape)
        kind = TensorType(term.type.dtype, term.type.shape)
        return Variable(term.name, kind, shape, private, self._bounds.get(term.name))

    def _rename(self, term: Term) -> Term:
        """The image of a term under the renaming."""
        for part in postorder((term,)):
            if part in self._image:
                continue
            fixed = self._renaming.terms.get(part) if isinstance(part, Var | Item) else None
            if fixed is None and isinstance(part, Item) and part.term.operator == "Split" and self._is_swapped(part):
                fixed = Item(part.term, 1 - part.index)
            self._image[part] = self._rebuilt(part) if fixed is None else fixed
        return self._image[term]

    def _is_swapped(self, item: Item) -> bool:
        sizes = item.term.attribute("sizes")
        assert isinstance(sizes, tuple)
        other = self._renamed_attribute(sizes[item.index])
        return len(sizes) == 2 and self._moves_parts and other == sizes[1 - item.index] and self._is_shared(item.term)

    def _is_shared(self, term: Term) -> bool:
        return not any(part in self._private for part in postorder((term,)))

    def _rebuilt(self, term: Term) -> Term:
        new = tuple(self._image[child] for child in term.children)
        if isinstance(term, Item):
            return self._builder.item(new[0], term.index)
        if not isinstance(term, Apply):
            return term
        return self._with_operands(term, new)

    def _with_operands(self, term: Apply, new: tuple[Term, ...]) -> Term:
        """The renamed operator over other operands; ill-typed results are fine, they equal nothing in the rule."""
        operator = self._builder.operator(term)
        ordered = tuple(sorted(new)) if operator is not None and operator.commutative else new
        attributes = {name: self._renamed_attribute(value) for name, value in term.attributes}
        return Apply(term.operator, ordered, attributes_of(attributes))

    def _renamed_attribute(self, value: Attribute) -> Attribute:
        if isinstance(value, tuple):
            return tuple(self._renamed_attribute(part) for part in value)
        return self._renamed_size(value) if isinstance(value, Size) else value

    def _renamed_size(self, size: Dim) -> Dim:
        return substitute(size, lambda name: symbol(self._sizes[name]) if name in self._sizes else None)

    def _mentions_private_sizes(self, value: object) -> bool:
        if not self._private_names:
            return False
        if isinstance(value, tuple):
            return any(self._mentions_private_sizes(part) for part in value)
        return isinstance(value, Size) and not self._private_names.isdisjoint(value.symbols())
