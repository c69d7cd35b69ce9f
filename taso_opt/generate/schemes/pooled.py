"""Candidates about the greatest of several elements: that of what a map gives is what the map gives for the greatest.

Behind a pooling the map has only a part of the elements to compute. Each element-wise operator of one operand, or of an
operand and a constant that is the same all over a window, is tried; of a constant, with the weakest condition under
which both sides agree in floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from taso_opt.core.condition import ALL_BOUNDS, Condition
from taso_opt.core.dims import symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute, Var
from taso_opt.core.types import parse_scheme
from taso_opt.errors import TypeMismatch
from taso_opt.generate.equations.confirm import holds_in_floats
from taso_opt.generate.scalar.functions import SPREAD, operations
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Operator
from taso_opt.spec.text import format_rule

CONSTANT = "s"
WINDOWS: Mapping[str, Attribute] = {
    **{
        name: tuple(map(symbol, names.split()))
        for name, names in (("kernel", "k_h k_w"), ("pads", "p_t p_l p_b p_r"), ("strides", "s_h s_w"))
    },
    "dilations": (1, 1),
}
"""Any window whose taps lie side by side: of others, all may lie in padding."""

CONSTANTS = ("", "c 1 1")
"""One number for all elements, or one for each channel."""

GREATEST: Mapping[str, tuple[tuple[str, Mapping[str, Attribute]], ...]] = {
    "GlobalMaxPool": (("n c h w", {}),),
    "MaxPool": (("n c h w", WINDOWS),),
    "ReduceMax": (("*b m", {"axes": (-1,)}), ("*b m k", {"axes": (-2,)}), ("*b m k", {"axes": (-2, -1)})),
}
"""What takes the greatest of several elements, and of which operands it is tried."""

INSTANCES = 24
POINTS = 64


def discover_pooled(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which a pooling meets one of the named operators, in the order of their text form."""
    builder = library.builder()
    greatest = [name for name in GREATEST if name in operators]
    maps = [library.operators[name] for name in sorted(operators) if library.operators[name].elementwise]
    defined = [operator for operator in maps if _is_defined(operator)] if greatest else []
    rules = (rule for name in greatest for operator in defined for rule in _candidates(builder, name, operator))
    found = {format_rule(rule): rule for rule in _holding(rules, builder, seed)}
    return tuple(found[text] for text in sorted(found))


def _is_defined(operator: Operator) -> bool:
    """Whether every number has an image: of the numbers in a window the greatest one may have one alone."""
    points = np.linspace(-SPREAD, SPREAD, POINTS)
    images = (choice.values(*(points,) * int(operator.arity or 1)) for choice in operations(operator))
    return all(bool(np.isfinite(image).all()) for image in images)


def _candidates(builder: Builder, greatest: str, operator: Operator) -> Iterator[Rule]:
    """The operator on both sides of what takes the greatest, for every choice of its parameters and of a constant."""
    constants = [()] if operator.arity == 1 else [(Var(CONSTANT, parse_scheme(scheme)),) for scheme in CONSTANTS]
    for (scheme, attributes), choice, others in product(GREATEST[greatest], operations(operator), constants):
        x = Var("x", parse_scheme(scheme))
        try:
            image = builder.apply(operator.name, (x, *others), choice.attributes)
            source = builder.apply(greatest, (image,), attributes)
            lone = builder.apply(greatest, (x,), attributes)
            target = builder.apply(operator.name, (lone, *others), choice.attributes)
            fits = builder.type(image) == x.type and builder.type(source) == builder.type(target)
        except TypeMismatch:
            continue
        if fits:
            yield Rule((source,), (target,))


def _holding(rules: Iterator[Rule], builder: Builder, seed: int) -> Iterator[Rule]:
    """Each rule as it is if it holds, else under the weakest condition on its constant under which it does."""
    for rule in rules:
        has_constant = any(variable.name == CONSTANT for variable in rule.variables)
        under = [rule.under([Condition(CONSTANT, bounds)]) for bounds in ALL_BOUNDS] if has_constant else []
        yield from [form for form in (rule, *under) if holds_in_floats(form, builder, seed, INSTANCES)][:1]
