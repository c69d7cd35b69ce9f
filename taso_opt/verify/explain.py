"""Says in words under which conditions a rule holds and what the axioms of its proof state."""

from __future__ import annotations

from collections import defaultdict

from taso_opt.core.condition import ANY, Condition
from taso_opt.core.dims import Dim, Size, sizes_in, symbols_in
from taso_opt.core.rule import FpClass, Rule
from taso_opt.core.types import FLOATS, PLACES, WHOLE_NUMBERS, TensorType
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.shapes import ANY_SHAPE
from taso_opt.spec.text import format_rule

FP_CLASSES = {
    FpClass.E0: "bit-exact: only data moves",
    FpClass.E1: "every element is computed by the same operations",
    FpClass.E2: "sums or products are associated or distributed differently",
    FpClass.E3: "as E2, with constants folded and rounded ahead of time",
    FpClass.E4: "may create an infinity or NaN that the source did not have",
}


def commutativity_name(operator: str) -> str:
    """The name under which certificates list that an operator commutes."""
    return f"{operator.lower()}_is_commutative"


def commutativity_laws(library: SpecLibrary) -> dict[str, str]:
    """The commutative operators by the name of their law."""
    return {commutativity_name(name): name for name, operator in library.operators.items() if operator.commutative}


def statements(library: SpecLibrary, name: str) -> list[str]:
    """What an axiom states, one equation for each choice of its schemes and attributes; empty when there is none."""
    operator = commutativity_laws(library).get(name)
    if operator is not None:
        return [f"{operator}(x, y) = {operator}(y, x) for all shapes that broadcast"]
    axiom = library.axioms.get(name)
    if axiom is None:
        return []
    return [format_rule(Rule(one.left, one.right)) for one in axiom.instances(library.builder())]


def _condition_in_words(condition: Condition) -> str:
    constant = f"{condition.variable} is a constant of the model"
    return constant if condition.bounds == ANY else f"{constant}, all values of which satisfy {condition}"


def preconditions(rule: Rule) -> list[str]:
    """What a match must satisfy, one sentence each."""
    found = [
        f"{variable.name} {_type_in_words(variable.type)}" for variable in sorted(rule.variables, key=lambda v: v.name)
    ]
    found += map(_condition_in_words, rule.conditions)
    found += _shared_sizes(rule)
    found += _fixed_attributes(rule)
    others = " but those of places" if any(one.type.dtype == PLACES for one in rule.variables) else ""
    found.append(f"all variables{others} have one element type, {' or '.join(sorted(FLOATS))}")
    return found


def _type_in_words(kind: TensorType) -> str:
    names_places = f", and names places ({' or '.join(sorted(WHOLE_NUMBERS))})" if kind.dtype == PLACES else ""
    return f"{_shape_in_words(kind)}{names_places}"


def _shape_in_words(kind: TensorType) -> str:
    if not kind.shape:
        return "has one element"
    first, rest = kind.shape[0], kind.shape[1:]
    if str(first).startswith(ANY_SHAPE):
        return "has any shape that broadcasts with those of the other variables"
    if not (isinstance(first, Size) and first.is_star):
        return f"has rank {kind.rank} with the sizes {_list(kind.shape)}"
    return f"has any shape {first}" if not rest else f"has any number of axes {first}, then {_list(rest)}"


def _shared_sizes(rule: Rule) -> list[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for variable in rule.variables:
        for name in dict.fromkeys(symbols_in(variable.type.shape)):
            places[name].append(variable.name)
    return [f"{name} is the same in {_list(owners)}" for name, owners in sorted(places.items()) if len(owners) > 1]


def _fixed_attributes(rule: Rule) -> list[str]:
    found: dict[str, None] = {}
    for term in rule.applications:
        for name, value in term.attributes:
            if not sizes_in(value):
                found[f"{name} of {term.operator} is {value}"] = None
    return list(found)


def _list(parts: tuple[Dim, ...] | list[str]) -> str:
    names = [str(part) for part in parts]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
