"""Gives an equation its most general types: symbols for window attributes, one symbol for each size, leading stars.

Each step is taken only when both sides still get the same types and agree on random instances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from taso_opt.core.dims import Dim, Size, symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Attribute, Term, Var
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.generate.enumeration.moves import is_broadcasting
from taso_opt.generate.equations.canonical import canonical
from taso_opt.generate.equations.confirm import holds, holds_in_floats
from taso_opt.generate.equations.retype import Schemes, occurrences, rebuild, with_symbols
from taso_opt.generate.equations.symbols import PADS, is_wide, symbolic, window_values
from taso_opt.spec.builder import Builder

STEP_INSTANCES = 2
FINAL_INSTANCES = 12
FLOAT_INSTANCES = 2


@dataclass(frozen=True)
class Generaliser:
    """Generalises equations under one library of operators and one seed."""

    builder: Builder
    seed: int

    def forms(self, rule: Rule) -> list[Rule]:
        """The most general forms of an equation, canonically named; none when it fails a final test or has no types."""
        # 1. Window attributes, group counts and kernel sizes become symbols.
        rule = self._with_symbolic_windows(rule)
        rule = self._with_symbolic_group(rule)
        rule = self._with_symbolic_literals(rule)
        # 2. Sizes that need not be equal get different symbols.
        rule = self._with_atoms(rule)
        rule = self._with_fewest_equal_sizes(rule)
        if _has_quotients(rule):
            return []  # a variable of exactly the size of a strided window's result: no type says that
        # 3. Leading axes become stars, of all variables or of some.
        forms = [canonical(form, self.builder) for form in self._with_stars(rule) or [rule]]
        return [form for form in forms if self._is_confirmed(form)]

    def _is_confirmed(self, rule: Rule) -> bool:
        return holds(rule, self.builder, self.seed, FINAL_INSTANCES) and holds_in_floats(
            rule, self.builder, self.seed, FLOAT_INSTANCES
        )

    def _attempt(self, rule: Rule, schemes: Schemes) -> Rule | None:
        """The equation under other schemes, if it type-checks and is true."""
        try:
            new = rebuild(rule, schemes, self.builder)
        except TypeMismatch:
            return None
        return new if holds(new, self.builder, self.seed, STEP_INSTANCES) else None

    def _with_symbolic_windows(self, rule: Rule) -> Rule:
        """All attributes of windows become symbols, or those of one name, or those of each operator that can."""
        everything = window_values(rule)
        general = self._attempt(rule, symbolic(rule, everything)) if everything else rule
        if general is not None:
            return general
        for attribute in dict.fromkeys(name for _, name, _ in everything):
            rule = self._attempt(rule, symbolic(rule, [one for one in everything if one[1] == attribute])) or rule
        for operator in dict.fromkeys(operator for operator, _, _ in everything):
            own = [one for one in everything if one[0] == operator]
            for chosen in (own, *([one] for one in own)):
                rule = self._attempt(rule, symbolic(rule, chosen)) or rule
        return self._with_symbolic_pads(rule)

    def _with_symbolic_pads(self, rule: Rule) -> Rule:
        """Beside padding, pads that are not zero become symbols: all that are left together, or those of one value.

        Elsewhere, as in a kernel that is enlarged, a number is what lets a search make them up.
        """
        if "Pad" not in rule.operators:
            return rule
        wide = [one for one in window_values(rule) if one[1] == PADS and is_wide(one[2])]
        values = list(dict.fromkeys(value for _, _, value in wide))
        for chosen in (values, *([value] for value in values if len(values) > 1)):
            rule = self._attempt(rule, symbolic(rule, [one for one in wide if one[2] in chosen])) or rule
        return rule

    def _with_symbolic_group(self, rule: Rule) -> Rule:
        """A group count above one that multiplies sizes of variables becomes a symbol there and in the attribute."""
        groups = {dict(one.attributes).get("group", 1) for one in rule.applications} - {1}
        if len(groups) != 1:
            return rule
        (group,) = groups
        if not isinstance(group, int):
            return rule
        factor = symbol("group")
        types = {
            variable: TensorType(
                variable.type.dtype, tuple(_multiplied(dim, group, factor) for dim in variable.type.shape)
            )
            for variable in rule.variables
        }
        attributes: dict[Term, dict[str, Attribute]] = {
            one: {
                name: factor if name == "group" and value == group else _grown(value, group, factor)
                for name, value in one.attributes
            }
            for one in rule.applications
        }
        return self._attempt(rule, Schemes(types, attributes)) or rule

    def _with_symbolic_literals(self, rule: Rule) -> Rule:
        """Sizes given as numbers become symbols, one for each number and axis; a 1 that broadcasts stays."""
        literals = {
            (dim, at - variable.type.rank)
            for variable in rule.variables
            for at, dim in enumerate(variable.type.shape)
            if isinstance(dim, int)
        }
        for number in sorted({number for number, _ in literals}, reverse=True):
            types = _unfixed(rule, number)
            general = self._attempt(rule, Schemes(types, {})) or self._attempt(
                rule, Schemes(types, _of_kernels(rule, number))
            )
            rule = general or rule
        return rule

    def _with_atoms(self, rule: Rule) -> Rule:
        """Sizes that are sums or quotients become one symbol wherever nothing looks inside them."""
        compound = {
            str(dim): dim
            for variable in rule.variables
            for dim in variable.type.shape
            if isinstance(dim, Size) and (dim.symbol is None or not dim.symbol.lstrip("*").isidentifier())
        }
        for number, (_, dim) in enumerate(sorted(compound.items())):
            places = [
                (variable.name, at)
                for variable in rule.variables
                for at, one in enumerate(variable.type.shape)
                if one == dim
            ]
            for chosen in _subsets(places):
                new = self._attempt(rule, Schemes(_exchanged(rule, chosen, symbol(f"whole{number}")), {}))
                if new is not None:
                    rule = new
                    break
        return rule

    def _with_fewest_equal_sizes(self, rule: Rule) -> Rule:
        """Split the occurrences of each symbol into as many different symbols as the types of both sides allow."""
        names = occurrences(rule)
        fresh = 0
        waiting = [[at for at, name in enumerate(names) if name == one] for one in dict.fromkeys(names)]
        while waiting:
            block = waiting.pop()
            for part in _parts(block):
                tried = list(names)
                for at in part:
                    tried[at] = f"{names[at].rstrip('0123456789_')}_{fresh}"
                if self._type_checks(rule, tried):
                    names, fresh = tried, fresh + 1
                    waiting += [part, [at for at in block if at not in part]]
                    break
        new = with_symbols(rule, names, self.builder)
        return new if holds(new, self.builder, self.seed, STEP_INSTANCES) else rule

    def _type_checks(self, rule: Rule, names: list[str]) -> bool:
        try:
            with_symbols(rule, names, self.builder)
        except TypeMismatch:
            return False
        return True

    def _with_stars(self, rule: Rule) -> list[Rule]:
        """The equation with a star before the axes of all or some of its variables, for every choice that is useful."""
        if any(one.type.has_star for one in rule.variables):
            return []
        rank = min(2, max(variable.type.rank for variable in rule.variables))
        able = [variable for variable in rule.variables if variable.type.rank >= max(rank, 1)]
        found: list[Rule] = []
        widest = max(variable.type.rank for variable in rule.variables)
        for count in range(len(able), 0, -1):
            for chosen in combinations(able, count):
                if any(one.type.rank == widest > 2 for one in able if one not in chosen):
                    continue  # weights without a batch are matrices
                starred = self._starred(rule, chosen)
                if starred is not None:
                    found.append(self._with_fewer_axes(starred))
        return found

    def _starred(self, rule: Rule, chosen: Sequence[Var]) -> Rule | None:
        types = {one: TensorType(one.type.dtype, (symbol("*b"), *one.type.shape)) for one in chosen}
        try:
            new = rebuild(rule, Schemes(types, {}), self.builder)
        except TypeMismatch:
            return None
        if not all(kind.has_star for term in new.source for kind in self.builder.types(term)):
            return None
        if not all(self._stars_in_order(one) for one in new.applications):
            return None
        return new if holds(new, self.builder, self.seed, STEP_INSTANCES) else None

    def _stars_in_order(self, term: Apply) -> bool:
        """Whether no operand without a star is broadcast over one that has it, but for factors of a product."""
        operator = self.builder.operator(term)
        kinds = [self.builder.type(operand) for operand in term.args]
        if operator is None or len(kinds) < 2 or not is_broadcasting(operator):
            return True
        ranks = [kind.rank - kind.has_star for kind in kinds]
        stars = [kind.has_star for kind in kinds]
        return stars[0] == stars[1] or ranks[stars.index(True)] > ranks[stars.index(False)]

    def _with_fewer_axes(self, rule: Rule) -> Rule:
        """Let the star take the axes after it, one by one from all variables that have it, as long as that is true."""
        while True:
            starred = [variable for variable in rule.variables if variable.type.has_star]
            if any(variable.type.rank < 2 for variable in starred):
                return rule
            types = {one: TensorType(one.type.dtype, (one.type.shape[0], *one.type.shape[2:])) for one in starred}
            fewer = self._attempt(rule, Schemes(types, {}))
            if fewer is None or not self._works_without_stars(fewer):
                return rule
            rule = fewer

    def _works_without_stars(self, rule: Rule) -> bool:
        types = {
            one: TensorType(one.type.dtype, one.type.shape[1:] if one.type.has_star else one.type.shape)
            for one in rule.variables
        }
        try:
            rebuild(rule, Schemes(types, {}), self.builder)
        except TypeMismatch:
            return False
        return True


def _has_quotients(rule: Rule) -> bool:
    """Whether a size of a variable is no polynomial in sizes of other axes."""
    dims = [dim for variable in rule.variables for dim in variable.type.shape if isinstance(dim, Size)]
    return any(not name.lstrip("*").isidentifier() for dim in dims for name in dim.symbols())


def _multiplied(dim: Dim, factor: int, by: Size) -> Dim:
    """A size with the given coefficient as a product with a symbol: 2*c as g*c."""
    if isinstance(dim, Size) and len(dim.terms) == 1 and dim.terms[0][1] == factor:
        return dim // factor * by
    return dim


def _grown(value: Attribute, factor: int, by: Size) -> Attribute:
    if isinstance(value, tuple):
        return tuple(_grown(part, factor, by) for part in value)
    return _multiplied(value, factor, by) if isinstance(value, Size) else value


def _unfixed(rule: Rule, number: int) -> dict[Var, TensorType]:
    """A number in the types of variables as symbols, one for each axis."""
    types = {}
    for variable in rule.variables:
        shape = variable.type.shape
        types[variable] = TensorType(variable.type.dtype, _without_number(shape, number))
    return types


def _of_kernels(rule: Rule, number: int) -> dict[Term, dict[str, Attribute]]:
    """The same symbols for sizes of pooling windows: those that are as large as the kernel of a convolution."""
    return {
        one: {"kernel": _without_number(value, number)}
        for one in rule.applications
        for name, value in one.attributes
        if name == "kernel" and isinstance(value, tuple)
    }


def _without_number(sizes: Sequence[Attribute], number: int) -> tuple[Any, ...]:
    places = len(sizes)
    return tuple(symbol(f"fixed{number}_{places - at}") if dim == number else dim for at, dim in enumerate(sizes))


def _exchanged(rule: Rule, places: Sequence[tuple[str, int]], new: Dim) -> dict[Var, TensorType]:
    """Another size at some places, each given by a variable and an axis."""
    return {
        one: TensorType(
            one.type.dtype, tuple(new if (one.name, at) in places else dim for at, dim in enumerate(one.type.shape))
        )
        for one in rule.variables
    }


def _subsets(places: Sequence[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], ...]]:
    """Every set of places, large ones first."""
    for count in range(len(places), 0, -1):
        yield from combinations(places, count)


def _parts(block: list[int]) -> Iterator[list[int]]:
    """Every way to take some occurrences out of a block, small parts first; the first one always stays."""
    for count in range(1, len(block)):
        for part in combinations(block[1:], count):
            yield list(part)
