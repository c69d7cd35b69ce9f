"""Says why a rule does not fit a term: the deepest place where pattern and term part, with the values of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from taso_opt.core.condition import ANY
from taso_opt.core.dims import symbols_in
from taso_opt.core.term import OPAQUE, Apply, Const, Item, Term, attribute_text
from taso_opt.core.types import FLOATS, PLACES, WHOLE_NUMBERS
from taso_opt.rewrite.patterns.match import EMPTY, Binding, Matcher, term_key
from taso_opt.rewrite.patterns.pattern import (
    Application,
    CompiledRule,
    Fold,
    Join,
    Literal,
    Output,
    Part,
    Pattern,
    Variable,
)
from taso_opt.spec.builder import Builder

MOST_BINDINGS = 16
OUT_OF_ORDER = "expected the parts of one split in order, found others"


@dataclass(frozen=True)
class Refusal:
    """Why a pattern does not fit: `kind` is structure (another operator) or precondition; deeper is nearer to a fit."""

    kind: str
    depth: int
    sentence: str


def refusal(rule: CompiledRule, matcher: Matcher, builder: Builder, term: Term) -> Refusal | None:
    """The deepest reason why the source of a rule does not fit a term; None when it fits."""
    fits, found = _Examination(matcher, builder).look(rule.source, term, [EMPTY], 0, 0)
    if found is not None:
        return found
    broken = [(matcher.unsettled(binding), matcher.takes_parts_in_order(binding)) for binding in fits]
    if any(not equations and in_order for equations, in_order in broken):
        return None
    equations = next((equations for equations, _ in broken if equations), None)
    if equations is None:
        return Refusal("precondition", 99, OUT_OF_ORDER)
    wanted, value, size = equations[0]
    return Refusal("precondition", 99, f"expected the size {wanted} to be {value}, found {size}")


class _Examination:
    """Goes through a pattern as the matcher does, and notes where nothing fits any more."""

    def __init__(self, matcher: Matcher, builder: Builder) -> None:
        self._matcher, self._builder = matcher, builder

    def look(
        self, pattern: Pattern, term: Term, bindings: Sequence[Binding], element: int, depth: int
    ) -> tuple[list[Binding], Refusal | None]:
        """The bindings that fit, or why none does."""
        fits = [
            fit
            for binding in bindings
            for fit in islice(self._matcher.fits(pattern, term, binding, element), MOST_BINDINGS)
        ]
        return (fits, None) if fits else ([], self._reason(pattern, term, bindings, element, depth))

    def _reason(self, pattern: Pattern, term: Term, bindings: Sequence[Binding], element: int, depth: int) -> Refusal:
        match pattern:
            case Variable():
                return self._variable(pattern, term, bindings[0], element, depth)
            case Literal(value):
                return _unmet(f"expected the constant {value}, found {_named(term)}", depth)
            case Application():
                return self._application(pattern, term, bindings, element, depth)
            case Output(inner, index):
                if isinstance(term, Item) and term.index == index:
                    return self._inner(inner, term.term, bindings, element, depth)
                return _other(f"output {index} of an operator", term, depth)
            case Part(inner, axis):
                return self._part(inner, axis, term, bindings, element, depth)
            case Join(inner, axis):
                return self._join(inner, axis, term, bindings, depth)
            case Fold():
                raise AssertionError("the matcher is given what a fold is of, not the fold")

    def _variable(self, pattern: Variable, term: Term, binding: Binding, element: int, depth: int) -> Refusal:
        name, types = pattern.name, self._builder.types(term)
        known = binding.get(term_key(name, pattern.private, element))
        if known is not None:
            both = f"{_named(known)} and {_named(term)}"
            return _unmet(f"expected the same value at both places of {name}, found {both}", depth)
        names_places = pattern.scheme.dtype == PLACES
        admitted = WHOLE_NUMBERS if names_places else FLOATS
        if len(types) != 1 or types[0].dtype not in admitted:
            found = types[0].dtype if len(types) == 1 else f"{len(types)} results"
            return _unmet(f"expected {' or '.join(sorted(admitted))} for {name}, found {found}", depth)
        if not names_places and binding.get("#dtype", types[0].dtype) != types[0].dtype:
            return _unmet(f"expected {binding['#dtype']} for {name}, found {types[0].dtype}", depth)
        if pattern.bounds is not None and pattern.may_fit(types[0].shape) and not self._matcher.admits(pattern, term):
            if pattern.bounds == ANY:
                return _unmet(f"expected a constant for {name}, found {_named(term)}", depth)
            near = isinstance(term, Const)
            found = "one with other values" if near else _named(term)
            return _unmet(f"expected a constant with {pattern.bounds.text.format(name)}, found {found}", depth + near)
        sizes = _sizes(pattern, binding, element)
        return _unmet(f"expected {name}{pattern.scheme}{sizes}, found {types[0]}", depth)

    def _application(
        self, pattern: Application, term: Term, bindings: Sequence[Binding], element: int, depth: int
    ) -> Refusal:
        if not isinstance(term, Apply) or term.operator != pattern.operator:
            return _other(pattern.operator, term, depth)
        orders = self._matcher.halves(pattern, term)
        if len(term.args) != len(pattern.args) and not orders:
            return _other(f"{pattern.operator} of {len(pattern.args)} operands", term, depth)
        bare = Application(pattern.operator, (), pattern.attributes, False, pattern.private)
        naked = Apply(term.operator, (), term.attributes)
        bound = [fit for binding in bindings for fit in self._matcher.fits(bare, naked, binding, element)]
        if not bound:
            wanted, found = _text(pattern.attributes), _text(term.attributes)
            return _unmet(f"expected {term.operator} with {wanted}, found {found}", depth)
        orders = orders or ([term.args, term.args[::-1]] if pattern.commutative else [term.args])
        reasons = [self._operands(pattern.args, order, bound, element, depth + 1) for order in orders]
        return max(reasons, key=lambda one: (one.depth, one.kind == "precondition"))

    def _operands(
        self,
        patterns: tuple[Pattern, ...],
        terms: tuple[Term, ...],
        bindings: Sequence[Binding],
        element: int,
        depth: int,
    ) -> Refusal:
        """The reason of the first operand for which no binding is left."""
        for pattern, term in zip(patterns, terms, strict=True):
            bindings, found = self.look(pattern, term, bindings, element, depth)
            if found is not None:
                return found
            depth += 1
        return _unmet("expected operands that fit together, found none", depth)

    def _inner(self, inner: Pattern, term: Term, bindings: Sequence[Binding], element: int, depth: int) -> Refusal:
        _, found = self.look(inner, term, bindings, element, depth)
        return found or _unmet("expected sizes that fit together, found others", depth)

    def _part(
        self, inner: Pattern, axis: int, term: Term, bindings: Sequence[Binding], element: int, depth: int
    ) -> Refusal:
        if not isinstance(term, Item) or term.term.operator != "Split":
            return _other("a part of Split", term, depth)
        if term.term.attribute("axis") != axis:
            return _unmet(f"expected Split along axis {axis}, found {term.term.attribute('axis')}", depth)
        return self._inner(inner, term.term.args[0], bindings, element, depth + 1)

    def _join(self, inner: Pattern, axis: int, term: Term, bindings: Sequence[Binding], depth: int) -> Refusal:
        if not isinstance(term, Apply) or term.operator != "Concat":
            return _other("Concat", term, depth)
        if term.attribute("axis") != axis:
            return _unmet(f"expected Concat along axis {axis}, found {term.attribute('axis')}", depth)
        count = len(term.args)
        left: list[Binding] = [{**binding, "#count": count} for binding in bindings]
        for element, operand in enumerate(term.args):
            left, found = self.look(inner, operand, left, element, depth + 1)
            if found is not None:
                return found
        return _unmet(OUT_OF_ORDER, depth)


def _other(wanted: str, term: Term, depth: int) -> Refusal:
    return Refusal("structure", depth, f"expected {wanted}, found {_named(term)}")


def _unmet(sentence: str, depth: int) -> Refusal:
    return Refusal("precondition", depth, sentence)


def _named(term: Term) -> str:
    match term:
        case Apply(operator):
            return "an operator that no specification covers" if operator == OPAQUE else operator
        case Item(inner, index):
            return f"output {index} of {_named(inner)}"
        case _:
            return term.name


def _sizes(pattern: Variable, binding: Binding, element: int) -> str:
    """The sizes of a variable's scheme that are bound already."""
    names = dict.fromkeys(symbols_in(pattern.scheme.shape))
    bound: dict[str, Any] = {}
    for name in names:
        for spelled in (name, f"{name}@{element}"):
            if spelled in binding:
                bound[name] = binding[spelled]
    return f" with {', '.join(f'{name} = {attribute_text(value)}' for name, value in bound.items())}" if bound else ""


def _text(attributes: Sequence[tuple[str, object]]) -> str:
    return ", ".join(f"{name} = {attribute_text(value)}" for name, value in attributes) or "no attributes"
