"""Builds well-typed terms: `op.MatMul(x, y)`; the one place where operator applications are made and normalised."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias

from taso_opt.core.dims import Size, bind
from taso_opt.core.term import OPAQUE, Apply, Attribute, Attributes, Const, Item, Term, Var, attributes_of, bottom_up
from taso_opt.core.types import TensorType
from taso_opt.errors import SpecError, TypeMismatch
from taso_opt.spec.operator import Operator

Types: TypeAlias = tuple[TensorType, ...]
"""Of all outputs of a term."""


class Builder:
    """Makes terms over a table of operators and knows the type of every term it has seen."""

    def __init__(self, operators: Mapping[str, Operator], bindings: Mapping[str, int] | None = None) -> None:
        self._operators = operators
        self._bindings = dict(bindings or {})
        self._types: dict[Term, Types] = {}
        self._inferred: dict[Hashable, Types] = {}
        self._shared: dict[Types, Types] = {}

    def __getattr__(self, name: str) -> Callable[..., Apply]:
        if name not in self._operators:
            raise AttributeError(f"expected the name of an operator, found {name}")

        def build(*args: Term, **attributes: Attribute) -> Apply:
            return self.apply(name, args, attributes)

        return build

    def apply(self, name: str, args: Sequence[Term], attributes: Mapping[str, Attribute]) -> Apply:
        """Apply an operator; TypeMismatch when the operands do not fit.

        Arguments of commutative operators are put in the order of their digests, so that interning identifies both.
        """
        return self._applied(name, args, attributes_of(attributes))

    def _applied(self, name: str, args: Sequence[Term], attributes: Attributes, types: Types | None = None) -> Apply:
        """The same; `types` are those of the outputs where they are known."""
        operator = self._operators.get(name)
        if operator is None:
            raise SpecError(f"expected an operator that specs/ declares, found {name}")
        if operator.arity is not None and len(args) != operator.arity:
            raise TypeMismatch(f"expected {operator.arity} operands for {name}, found {len(args)}")
        ordered = tuple(sorted(args)) if operator.commutative else tuple(args)
        term = Apply(name, ordered, attributes)
        if types is None:
            self.types(term)
        else:
            self._types.setdefault(term, types)
        return term

    def item(self, term: Term, index: int) -> Item:
        """One output of an operator with several."""
        assert isinstance(term, Apply), f"an item is taken of an operator application, found {term!r}"
        return Item(term, index)

    def rebuild(self, term: Term, new: tuple[Term, ...]) -> Term:
        """The same node over other children, normalised and typed like a new one."""
        if isinstance(term, Apply):
            if term.operator == OPAQUE:
                return Apply(OPAQUE, new, term.attributes)
            return self._applied(term.operator, new, term.attributes, self._types_over(term, new))
        if isinstance(term, Item):
            return self.item(new[0], term.index)
        return term

    def _types_over(self, term: Apply, new: tuple[Term, ...]) -> Types | None:
        """The types of a term, which it keeps over other children of the same types; None for any others."""
        if len(new) != len(term.args):
            return None
        for one, other in zip(term.args, new, strict=True):
            if one is not other and self.types(one) is not self.types(other):
                return None
        return self.types(term)

    def operator(self, term: Apply) -> Operator | None:
        """The declared operator of an application, or None for an opaque one."""
        return self._operators.get(term.operator)

    def moves_data(self, term: Term) -> bool:
        """Whether a term has its elements from its operands, or is a leaf: nothing is computed."""
        operator = self.operator(term) if isinstance(term, Apply) else None
        return not isinstance(term, Apply) or (operator is not None and not operator.arithmetic)

    def type(self, term: Term) -> TensorType:
        """The type of a term with one output."""
        types = self.types(term)
        if len(types) != 1:
            raise TypeMismatch(f"expected a term with one output, found {len(types)} outputs")
        return types[0]

    def types(self, term: Term) -> Types:
        """The types of all outputs of a term, inferred once, without recursion; equal ones are one object."""
        known = self._types.get(term)
        return bottom_up(self._types, term, self._once) if known is None else known

    def _once(self, term: Term) -> Types:
        types = self._infer(term)
        return self._shared.setdefault(types, types)

    def _infer(self, term: Term) -> Types:
        if isinstance(term, Var | Const):
            return (term.type.bind(self._bindings) if self._bindings else term.type,)
        if isinstance(term, Item):
            types = self._types[term.term]
            if not 0 <= term.index < len(types):
                raise TypeMismatch(f"expected an output below {len(types)}, found {term.index}")
            return (types[term.index],)
        if term.operator == OPAQUE:
            return tuple(kind.bind(self._bindings) for kind in opaque_types(term))
        operator = self._operators.get(term.operator)
        if operator is None:
            raise SpecError(f"expected an operator that specs/ declares, found {term.operator}")
        arguments = []
        for argument in term.args:
            types = self._types[argument]
            if len(types) != 1:
                raise TypeMismatch(f"expected an operand with one output, found {len(types)} outputs")
            arguments.append(types[0])
        place = term.operator, term.attributes, *arguments
        known = self._inferred.get(place)
        if known is None:
            known = self._inferred[place] = operator.result_types(arguments, self.bound_attributes(term))
        return known

    def bound_attributes(self, term: Apply) -> dict[str, Attribute]:
        """The attributes of a term with symbolic sizes replaced as the bindings say."""
        if not self._bindings:
            return dict(term.attributes)
        return {name: bind_attribute(value, self._bindings) for name, value in term.attributes}


def opaque_types(term: Apply) -> tuple[TensorType, ...]:
    """The result types that an opaque application carries."""
    types = term.attribute("types")
    assert isinstance(types, tuple), f"an opaque term carries a tuple of types, found {types!r}"
    return tuple(kind for kind in types if isinstance(kind, TensorType))


def bind_attribute(value: Attribute, bindings: Mapping[str, int]) -> Attribute:
    """An attribute with numbers in the place of the symbols that have one."""
    if isinstance(value, tuple):
        return tuple(bind_attribute(part, bindings) for part in value)
    return bind(value, bindings) if isinstance(value, Size) else value
