"""Takes the sizes of an equation apart, occurrence by occurrence, and puts it together again with other ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from taso_opt.core.dims import Dim, Size, sizes_in, symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import TensorType
from taso_opt.spec.builder import Builder
from taso_opt.spec.restating import restated

Rename = Callable[[str], Dim]


@dataclass(frozen=True)
class Schemes:
    """New types and names for variables and new attributes for applications; what is not mentioned stays."""

    types: Mapping[Var, TensorType]
    attributes: Mapping[Term, Mapping[str, Attribute]]
    names: Mapping[str, str] = field(default_factory=dict)


def rebuild(rule: Rule, schemes: Schemes, builder: Builder) -> Rule:
    """The same equation under other schemes; TypeMismatch unless both sides get the same types again."""

    def variable(old: Var) -> Var:
        return Var(schemes.names.get(old.name, old.name), schemes.types.get(old, old.type))

    return restated(builder, rule, variable, lambda term: {**dict(term.attributes), **schemes.attributes.get(term, {})})


def occurrences(rule: Rule) -> list[str]:
    """The symbol at every place where a size is written: in types of variables, then in attributes."""
    found: list[str] = []

    def note(name: str) -> Dim:
        found.append(name)
        return symbol(name)

    _renamed(rule, note)
    return found


def with_symbols(rule: Rule, names: list[str], builder: Builder) -> Rule:
    """The same equation with the symbols at its occurrences renamed; TypeMismatch when that does not type-check."""
    following = iter(names)
    return rebuild(rule, _renamed(rule, lambda _: symbol(next(following))), builder)


def with_names(rule: Rule, names: Mapping[str, str], sizes: Mapping[str, str], builder: Builder) -> Rule:
    """The same equation with variables and symbols renamed everywhere."""
    schemes = _renamed(rule, lambda name: symbol(sizes.get(name, name)))
    return rebuild(rule, Schemes(schemes.types, schemes.attributes, names), builder)


def _renamed(rule: Rule, rename: Rename) -> Schemes:
    types: dict[Var, TensorType] = {}
    for variable in sorted(rule.variables, key=lambda one: one.name):
        shape = tuple(_rename_dim(dim, rename) for dim in variable.type.shape)
        types[variable] = TensorType(variable.type.dtype, shape)
    attributes: dict[Term, dict[str, Attribute]] = {}
    for term in rule.applications:
        if any(sizes_in(value) for _, value in term.attributes):
            attributes[term] = {name: _rename_attribute(value, rename) for name, value in term.attributes}
    return Schemes(types, attributes)


def _rename_dim(dim: Dim, rename: Rename) -> Dim:
    """Every term of a sum counts as often as its coefficient says: 2*n is n+n, and may become n+p."""
    if isinstance(dim, int):
        return dim
    total: Dim = 0
    for monomial, coefficient in dim.terms:
        for _ in range(abs(coefficient)) if monomial else ():
            factor: Dim = 1 if coefficient > 0 else -1
            for name in monomial:
                factor = rename(name) * factor
            total = total + factor
        if not monomial:
            total = total + coefficient
    return total


def _rename_attribute(value: Attribute, rename: Rename) -> Attribute:
    if isinstance(value, tuple):
        return tuple(_rename_attribute(part, rename) for part in value)
    return _rename_dim(value, rename) if isinstance(value, Size) else value


def flat(value: object) -> Iterator[Any]:
    """The scalars of an attribute value."""
    if isinstance(value, tuple):
        for part in value:
            yield from flat(part)
    else:
        yield value
