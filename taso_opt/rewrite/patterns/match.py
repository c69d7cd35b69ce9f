"""Finds where a pattern fits: bindings of its variables to terms and of its sizes to numbers or symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from taso_opt.core.condition import ANY, Bounds
from taso_opt.core.dims import Dim, Size, divide, substitute, symbol
from taso_opt.core.literal import literal_value
from taso_opt.core.term import Apply, Item, Term, variables
from taso_opt.core.types import FLOATS, PLACES, WHOLE_NUMBERS
from taso_opt.rewrite.patterns.pattern import Application, Fold, Join, Literal, Output, Part, Pattern, Variable
from taso_opt.spec.builder import Builder

Binding = Mapping[str, Any]
"""Terms by variable name (`&x`) and sizes by symbol; private names carry the element's number (`&x@2`).

`#count` is the number of elements, `#sizes` what the split gives each, `#part@2` which part element 2 takes, `#dtype`
the element type, `#owed` the equations between sizes that can only be checked once every symbol is bound.
"""

ValueOf = Callable[[Term], Fraction | None]
Within = Callable[[Term, Bounds], bool]
EMPTY: Binding = {"#owed": ()}


def key(name: str, private: bool, element: int) -> str:
    """The name under which a binding keeps a variable or size."""
    return f"{name}@{element}" if private else name


def term_key(name: str, private: bool, element: int) -> str:
    """The name under which a binding keeps the term of a variable: sizes may have the same names as variables."""
    return key(f"&{name}", private, element)


def literal_within(term: Term, bounds: Bounds) -> bool:
    """Whether a term is a literal within bounds: all that is known of constants without a model."""
    value = literal_value(term)
    return value is not None and all(bounds.comparisons(value))


IsConstant = Callable[[Term], bool]


def is_made_of_constants(term: Term) -> bool:
    """Whether a term depends on no input."""
    return not variables((term,))


class Matcher:
    """Matches the source of one compiled rule against terms whose types `builder` knows."""

    def __init__(
        self,
        builder: Builder,
        private_sizes: frozenset[str],
        value_of: ValueOf = literal_value,
        within: Within = literal_within,
        is_constant: IsConstant = is_made_of_constants,
    ) -> None:
        """`value_of` tells the value of a constant of one element, `within` whether a term is a constant in bounds.

        `is_constant` tells whether a term depends on constants alone.
        """
        self._builder, self._private_sizes, self._value_of = builder, private_sizes, value_of
        self._within, self._is_constant = within, is_constant

    def match(self, pattern: Pattern, term: Term, element: int = 0) -> Iterator[Binding]:
        """Every way in which the pattern fits the term."""
        for binding in self._match(pattern, term, EMPTY, element):
            solved = self._solved(binding)
            if self._settled(solved):
                yield solved

    def fits(self, pattern: Pattern, term: Term, binding: Binding, element: int) -> Iterator[Binding]:
        """Every way to extend a binding so that a part of the pattern fits; owed equations stay owed."""
        return self._match(pattern, term, binding, element)

    def unsettled(self, binding: Binding) -> tuple[tuple[Size, Dim, Dim], ...]:
        """The owed equations that do not hold: the size wanted, its value, and the size found."""
        known = self._solved(binding)
        owed = ((wanted, self._value(wanted, known, element), found) for wanted, found, element in known["#owed"])
        return tuple((wanted, value, found) for wanted, value, found in owed if value != found)

    def takes_parts_in_order(self, binding: Binding) -> bool:
        """Whether a join takes every part of its split, in order, where there are both."""
        sizes, count = binding.get("#sizes"), binding.get("#count")
        if sizes is None or count is None:
            return True
        return count == len(sizes) and all(binding.get(f"#part@{at}", at) == at for at in range(count))

    def admits(self, pattern: Variable, term: Term) -> bool:
        """Whether a term is a constant, and one within bounds, where a variable asks for that."""
        if pattern.bounds == ANY:
            return self._is_constant(term)
        return pattern.bounds is None or self._within(term, pattern.bounds)

    def _match(self, pattern: Pattern, term: Term, binding: Binding, element: int) -> Iterator[Binding]:
        match pattern:
            case Variable():
                yield from self._variable(pattern, term, binding, element)
            case Literal(value):
                if self._is_constant(term) and self._has_value(term, value, binding):
                    yield binding
            case Application():
                yield from self._application(pattern, term, binding, element)
            case Output(inner, index):
                if isinstance(term, Item) and term.index == index:
                    yield from self._match(inner, term.term, binding, element)
            case Part():
                yield from self._part(pattern, term, binding, element)
            case Join():
                yield from self._join(pattern, term, binding)
            case Fold():
                raise AssertionError("the matcher is given what a fold is of, not the fold")

    def _variable(self, pattern: Variable, term: Term, binding: Binding, element: int) -> Iterator[Binding]:
        name = term_key(pattern.name, pattern.private, element)
        known = binding.get(name)
        if known is not None:
            if known is term:
                yield binding
            return
        types = self._builder.types(term)
        if len(types) != 1 or not pattern.may_fit(types[0].shape):
            return
        (kind,) = types
        if pattern.scheme.dtype == PLACES:
            fits, bound = kind.dtype in WHOLE_NUMBERS, {**binding, name: term}
        else:
            fits = kind.dtype in FLOATS and binding.get("#dtype", kind.dtype) == kind.dtype
            bound = {**binding, name: term, "#dtype": kind.dtype}
        if not fits or not self.admits(pattern, term):
            return
        if self._fit(pattern, kind.shape, element, bound):
            yield bound

    def _fit(self, pattern: Variable, shape: tuple[Dim, ...], element: int, binding: dict[str, Any]) -> bool:
        """Note the sizes of a shape that may fit; False when one of them is bound to another already."""
        scheme, at = pattern.shape, pattern.star
        if not scheme:
            return True
        if at is not None:
            star = scheme[at]
            assert isinstance(star, Size) and star.symbol is not None
            after = len(shape) - (len(scheme) - at - 1)
            middle = shape[at:after]
            if binding.setdefault(star.symbol, middle) != middle:
                return False
            scheme, shape = (*scheme[:at], *scheme[at + 1 :]), (*shape[:at], *shape[after:])
        return all(
            wanted is None or self._bind(wanted, found, element, binding)
            for wanted, found in zip(scheme, shape, strict=True)
        )

    def _bind(self, wanted: Dim, found: Dim, element: int, binding: dict[str, Any]) -> bool:
        """Note that a size of the pattern is this size; sums wait until their symbols are bound."""
        if isinstance(wanted, int):
            return wanted == found
        name = wanted.symbol
        if name is None:
            binding["#owed"] = (*binding["#owed"], (wanted, found, element))
            return True
        return bool(binding.setdefault(key(name, name in self._private_sizes, element), found) == found)

    def _has_value(self, term: Term, value: Fraction, binding: Binding) -> bool:
        dtype = self._builder.type(term).dtype
        return binding.get("#dtype", dtype) == dtype and self._value_of(term) == value

    def _application(self, pattern: Application, term: Term, binding: Binding, element: int) -> Iterator[Binding]:
        if not isinstance(term, Apply) or term.operator != pattern.operator:
            return
        bound = dict(binding)
        if not self._attributes(pattern.attributes, term.attributes, element, bound):
            return
        if len(term.args) != len(pattern.args):
            for pair in self.halves(pattern, term):
                yield from self._operands(pattern.args, pair, bound, element)
            return
        yield from self._operands(pattern.args, term.args, bound, element)
        if pattern.commutative and term.args[0] is not term.args[1]:
            yield from self._operands(pattern.args, term.args[::-1], bound, element)

    def halves(self, pattern: Application, join: Apply) -> list[tuple[Term, ...]]:
        """The two operands of a join of more than two, where a pattern asks for a join of two; none for other patterns.

        All operands but the first, or all but the last, are joined before.
        """
        if pattern.operator != "Concat" or not 2 == len(pattern.args) < len(join.args):
            return []
        (first, *middle, last) = join.args
        pairs = ((first,), (*middle, last)), ((first, *middle), (last,))
        return [tuple(self._joined(join, parts) for parts in pair) for pair in pairs]

    def _joined(self, join: Apply, parts: Sequence[Term]) -> Term:
        return parts[0] if len(parts) == 1 else self._builder.apply("Concat", parts, dict(join.attributes))

    def _operands(
        self, patterns: tuple[Pattern, ...], terms: tuple[Term, ...], binding: Binding, element: int
    ) -> Iterator[Binding]:
        if not patterns:
            yield binding
            return
        for bound in self._match(patterns[0], terms[0], dict(binding), element):
            yield from self._operands(patterns[1:], terms[1:], bound, element)

    def _attributes(self, wanted: Any, found: Any, element: int, binding: dict[str, Any]) -> bool:
        if isinstance(wanted, Size):
            return isinstance(found, int | Size) and self._bind(wanted, found, element, binding)
        if isinstance(wanted, tuple):
            if not isinstance(found, tuple):
                return False
            if wanted and isinstance(wanted[0], Size) and wanted[0].is_star:
                axes = len(found) - (len(wanted) - 1)
                if axes < 0 or binding.setdefault(wanted[0].symbol or "", found[:axes]) != found[:axes]:
                    return False
                wanted, found = wanted[1:], found[axes:]
            return len(wanted) == len(found) and all(
                self._attributes(a, b, element, binding) for a, b in zip(wanted, found, strict=True)
            )
        return bool(wanted == found)

    def _part(self, pattern: Part, term: Term, binding: Binding, element: int) -> Iterator[Binding]:
        if not isinstance(term, Item) or term.term.operator != "Split" or term.term.attribute("axis") != pattern.axis:
            return
        sizes = term.term.attribute("sizes")
        assert isinstance(sizes, tuple)
        bound = dict(binding)
        if bound.setdefault("#sizes", sizes) != sizes or bound.setdefault(f"#part@{element}", term.index) != term.index:
            return
        size = sizes[term.index]
        assert isinstance(size, int | Size)
        if self._bind(pattern.size, size, element, bound):
            yield from self._match(pattern.inner, term.term.args[0], bound, element)

    def _join(self, pattern: Join, term: Term, binding: Binding) -> Iterator[Binding]:
        if not isinstance(term, Apply) or term.operator != "Concat" or term.attribute("axis") != pattern.axis:
            return
        bound = dict(binding)
        count = len(term.args)
        if count >= 2 and bound.setdefault("#count", count) == count:
            yield from self._elements(pattern.inner, term.args, bound)

    def _elements(self, inner: Pattern, terms: tuple[Term, ...], binding: Binding) -> Iterator[Binding]:
        """Every way in which all elements match, one after the other; there may be thousands of them."""
        ways = [self._match(inner, terms[0], dict(binding), 0)]
        while ways:
            bound = next(ways[-1], None)
            if bound is None:
                ways.pop()
            elif len(ways) == len(terms):
                yield bound
            else:
                ways.append(self._match(inner, terms[len(ways)], dict(bound), len(ways)))

    def _solved(self, binding: Binding) -> Binding:
        """The binding with the symbols found that are alone in a product, as m in g*m, or left of a sum of numbers.

        A number that does not divide is noticed when the equations are checked.
        """
        for _ in binding["#owed"]:
            before = binding
            for wanted, found, element in binding["#owed"]:
                keys = {name: key(name, name in self._private_sizes, element) for name in wanted.symbols()}
                unknown = [name for name in keys if keys[name] not in binding]
                if len(unknown) == 1:
                    value = self._open_size(wanted, found, unknown[0], binding, element)
                    binding = binding if value is None else {**binding, keys[unknown[0]]: value}
            if binding is before:
                break
        return binding

    def _open_size(self, wanted: Size, found: Dim, name: str, binding: Binding, element: int) -> Dim | None:
        """The value of the only symbol of a size that is not bound; None when it cannot be told."""
        if len(wanted.terms) == 1:
            factor = divide(wanted, symbol(name))
            if isinstance(factor, Size):
                factor = self._value(factor, binding, element)
            return divide(found, factor) if factor != 0 else None
        factor = next((scale for names, scale in wanted.terms if names == (name,)), 0)
        rest = wanted - symbol(name) * factor
        rest = self._value(rest, binding, element) if isinstance(rest, Size) else rest
        if factor < 1 or not (isinstance(found, int) and isinstance(rest, int)) or rest > found:
            return None
        value = (found - rest) // factor
        return value if factor == 1 or value > 0 else None

    def _settled(self, binding: Binding) -> bool:
        """Whether owed equations hold and a join takes every part of its split, in order."""
        for wanted, found, element in binding["#owed"]:
            if self._value(wanted, binding, element) != found:
                return False
        return self.takes_parts_in_order(binding)

    def _value(self, wanted: Size, binding: Binding, element: int) -> Dim:
        def replacement(name: str) -> Dim | None:
            value = binding.get(key(name, name in self._private_sizes, element))
            return value if isinstance(value, int | Size) else None

        return substitute(wanted, replacement)
