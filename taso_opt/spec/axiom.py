"""Axioms: laws of operators that proofs start from, written as two expressions over an operator builder."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from taso_opt.core.term import Attribute, Term, Var
from taso_opt.core.types import parse_scheme
from taso_opt.errors import SpecError

if TYPE_CHECKING:
    from taso_opt.spec.builder import Builder

Sides = tuple["Term | tuple[Term, ...]", "Term | tuple[Term, ...]"]
Law = Callable[..., Any]


@dataclass(frozen=True)
class Axiom:
    """A law, the schemes of its variables (several alternatives are allowed) and the values of its attributes.

    `respelled` tells of a definition that models may have in other words.
    """

    name: str
    law: Law
    schemes: tuple[Mapping[str, str], ...]
    attributes: Mapping[str, Sequence[Attribute]]
    respelled: bool = True

    def instances(self, op: Builder) -> Iterator[AxiomInstance]:
        """The law at every combination of schemes and attribute values."""
        for schemes in self.schemes:
            for values in product(*self.attributes.values()):
                yield self._instance(op, schemes, dict(zip(self.attributes, values, strict=True)))

    def _instance(self, op: Builder, schemes: Mapping[str, str], values: Mapping[str, Attribute]) -> AxiomInstance:
        axis = values.get("axis", -1)
        assert isinstance(axis, int), f"axiom {self.name}: expected an integer axis, found {axis!r}"
        arguments = {name: Var(name, parse_scheme(at_axis(scheme, axis))) for name, scheme in schemes.items()}
        left, right = self.law(op, **arguments, **values)
        return AxiomInstance(self.name, tuple(arguments.values()), _tuple(left), _tuple(right))


@dataclass(frozen=True)
class AxiomInstance:
    """An axiom at one choice of schemes and attributes: both sides are tuples of output terms."""

    name: str
    variables: tuple[Var, ...]
    left: tuple[Term, ...]
    right: tuple[Term, ...]


def axiom(*alternatives: str, **attributes: Sequence[Attribute]) -> Callable[[Law], Law]:
    """Declare the decorated function as an axiom of the operator whose file it stands in.

    Its parameters after `op` are the quantifier. A parameter's annotation is its scheme (`x: "*b m k"`); further
    schemes are given as `alternatives`, each of the form `"y: k n; z: k n"`, replacing the named ones. Keywords list
    the attribute values that the law is stated for; `@n` in a scheme puts the size n at the attribute `axis`.
    """

    def declare(law: Law) -> Law:
        law.__axiom__ = _stated(law, alternatives, attributes)  # type: ignore[attr-defined]
        return law

    return declare


def definition(*alternatives: str, respelled: bool = True, **attributes: Sequence[Attribute]) -> Callable[[Law], Law]:
    """Declare the decorated function as a definition: what the standard says an operator is, in other operators.

    It is written like an axiom, the operator on the left. `generate` offers it as a candidate rule, `verify` proves
    it from the meanings; no proof rests on it. `respelled` is False where other words would be rules without a use:
    where models have most of it as weights, which are computed ahead of time, where all wordings are on the right, or
    where one converter says it so and no other does: what turns an operator into its words is tried at each of them.
    """

    def declare(law: Law) -> Law:
        stated = _stated(law, alternatives, attributes)
        law.__definition__ = replace(stated, respelled=respelled)  # type: ignore[attr-defined]
        return law

    return declare


def _stated(law: Law, alternatives: Sequence[str], attributes: Mapping[str, Sequence[Attribute]]) -> Axiom:
    parameters = list(inspect.signature(law).parameters.values())[1:]
    names = [parameter.name for parameter in parameters if parameter.name not in attributes]
    base = {name: law.__annotations__[name] for name in names if name in law.__annotations__}
    if len(base) != len(names):
        raise SpecError(f"axiom {law.__name__}: expected a scheme for each variable, found only {sorted(base)}")
    schemes = (base, *({**base, **_alternative(law, text)} for text in alternatives))
    return Axiom(law.__name__, law, schemes, attributes)


def at_axis(scheme: str, axis: int) -> str:
    """Resolve `@n` in a scheme: the size n at `axis`, counted from the end, and as many sizes after it as needed."""
    trailing = " ".join(f"t{place}" for place in range(-axis - 1, 0, -1))
    return re.sub(r"@([\w+]+)", lambda found: f"{found[1]} {trailing}".rstrip(), scheme)


def _alternative(law: Law, text: str) -> dict[str, str]:
    pairs = [part.split(":", 1) for part in text.split(";")]
    if any(len(pair) != 2 for pair in pairs):
        raise SpecError(f"axiom {law.__name__}: expected schemes such as 'y: k n; z: k n', found {text!r}")
    return {name.strip(): scheme.strip() for name, scheme in pairs}


def _tuple(side: Term | tuple[Term, ...]) -> tuple[Term, ...]:
    return side if isinstance(side, tuple) else (side,)
