"""Finds under which weaker preconditions a proved rule still holds: more ranks, other windows, any literal size.

Candidates are found on tensors of few shapes, so their types say too much: `x[m, k]` where any batch would do,
strides of 2 where any stride would do. Each step here states a rule more generally; a step counts only when the wider
rule is proved and evaluated like every other. Steps that type inference refuses cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from taso_opt.core.dims import Dim, Size, sizes_in, substitute, symbol, symbols_in
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Attribute, Var
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.semantics.instances import symbols_in_attributes, symbols_of
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.restating import restated
from taso_opt.verify.conditions.side_by_side import places_and_types

BATCH = symbol("*b")
Key = tuple[str, str, Attribute]
"""An attribute of a rule: operator, name and value."""

Holds = Callable[[Rule], bool]
Symbolic = Mapping[tuple[str, str, int], Attribute]
"""The symbols with which axioms state a tuple attribute, by operator, attribute and length."""


@dataclass(frozen=True)
class Change:
    """New types for variables and new values for attributes: of an operator wherever it stands, or of one place."""

    types: Mapping[Var, TensorType] = field(default_factory=dict)
    attributes: Mapping[Key, Attribute] = field(default_factory=dict)
    places: Mapping[Apply, Mapping[str, Attribute]] = field(default_factory=dict)


def widen(builder: Builder, symbolic: Symbolic, rule: Rule, holds: Holds) -> list[Rule]:
    """The most general forms of a rule that hold; the rule itself when there is none."""

    def widened(rule: Rule, changes: Iterable[Change], useful: Holds = lambda form: True) -> Rule:
        """The rule after the first change that holds and is of use."""
        forms = (apply_change(builder, rule, change) for change in changes)
        return next((form for form in forms if form is not None and useful(form) and holds(form)), rule)

    rule = widened(rule, (*_side_by_side_changes(rule), *_group_changes(rule)))
    rule = widened(rule, _kernel_changes(rule))
    for keys in _literal_windows(symbolic, rule):
        whole = widened(rule, [_window_change(symbolic, rule, keys)], _applies_both_ways)
        if whole is rule:  # what several operators share by accident is widened for one after the other
            for key in keys if len(keys) > 1 else ():
                rule = widened(rule, [_window_change(symbolic, rule, [key])], _applies_both_ways)
        else:
            rule = whole
    forms = list(_with_batch(builder, rule, holds)) or [rule]
    return [_closed(builder, form, holds) for form in forms]


def apply_change(builder: Builder, rule: Rule, change: Change) -> Rule | None:
    """The rule with other types and attributes, None when it is no longer well-typed."""

    def attributes(term: Apply) -> Mapping[str, Attribute]:
        values = {name: change.attributes.get((term.operator, name, value), value) for name, value in term.attributes}
        return {**values, **change.places.get(term, {})}

    try:
        new = restated(builder, rule, lambda old: Var(old.name, change.types.get(old, old.type)), attributes)
    except TypeMismatch:
        return None
    return new if new.source != new.target else None


def _group_changes(rule: Rule) -> Iterator[Change]:
    """Read a literal number of groups and the same factor in channels as one symbol."""
    groups = {value for _, name, value in _attributes(rule) if name == "group" and isinstance(value, int) and value > 1}
    yield from _multiplied_groups(rule)
    for count in groups:
        name = _fresh(rule, "g")
        types = {
            variable: TensorType(
                variable.type.dtype, tuple(_with_factor(dim, count, name) for dim in variable.type.shape)
            )
            for variable in rule.variables
        }
        values = {key: symbol(name) for key in _attributes(rule) if key[1:] == ("group", count)}
        yield Change(types, values)


def _side_by_side_changes(rule: Rule) -> Iterator[Change]:
    """Read two convolutions of one group each as of any number of groups, and the one of two groups as of their sum."""
    names = _fresh(rule, "g"), _fresh(rule, "e")
    found = places_and_types(rule, *map(symbol, names))
    if found is not None:
        yield Change(types=found[1], places=found[0])


def _multiplied_groups(rule: Rule) -> Iterator[Change]:
    """Read every number of groups as that many times a symbol, and channels that are an even number likewise."""
    counts = {key: key[2] for key in _attributes(rule) if key[1] == "group"}
    if {1, 2} != set(counts.values()):
        return
    factor = symbol(_fresh(rule, "g"))
    types = {
        variable: TensorType(
            variable.type.dtype, tuple(dim * factor if _is_even(dim) else dim for dim in variable.type.shape)
        )
        for variable in rule.variables
    }
    yield Change(types, {key: factor * count for key, count in counts.items() if isinstance(count, int)})


def _is_even(dim: Dim) -> bool:
    return isinstance(dim, Size) and all(coefficient % 2 == 0 for _, coefficient in dim.terms)


def _with_factor(dim: Dim, count: int, name: str) -> Dim:
    if isinstance(dim, Size) and all(coefficient == count for _, coefficient in dim.terms):
        return (dim // count) * symbol(name)
    return dim


def _kernel_changes(rule: Rule) -> Iterator[Change]:
    """Read literal sizes of variables as symbols, one for each number and axis; sizes of 1 are left in a second try."""
    for least in (1, 2):
        types = {}
        for variable in rule.variables:
            shape = variable.type.shape
            named = (
                symbol(_fresh(rule, f"k{dim}_{len(shape) - at}")) if isinstance(dim, int) and dim >= least else dim
                for at, dim in enumerate(shape)
            )
            types[variable] = TensorType(variable.type.dtype, tuple(named))
        if any(kind != variable.type for variable, kind in types.items()):
            yield Change(types)


def _literal_windows(symbolic: Symbolic, rule: Rule) -> list[list[Key]]:
    """Literal strides, pads and the like that axioms state with symbols, those of equal value together."""
    groups: dict[tuple[str, Attribute], list[Key]] = {}
    for key in _attributes(rule):
        if not sizes_in(key[2]) and _form(*key) in symbolic:
            groups.setdefault(key[1:], []).append(key)
    return list(groups.values())


def _window_change(symbolic: Symbolic, rule: Rule, keys: Sequence[Key]) -> Change:
    """Read literal attributes of equal value as the symbols with which axioms state them."""
    names = symbolic[_form(*keys[0])]
    assert isinstance(names, tuple)
    fresh = tuple(symbol(_fresh(rule, str(name))) for name in names)
    return Change(attributes=dict.fromkeys(keys, fresh))


def stated_with_symbols(library: SpecLibrary) -> Symbolic:
    """For each tuple attribute that some axiom states with symbols, those symbols."""
    found: dict[tuple[str, str, int], Attribute] = {}
    builder = library.builder()
    for axiom in library.axioms.values():
        for instance in axiom.instances(builder):
            for key in _attributes(Rule(instance.left, instance.right)):
                if isinstance(key[2], tuple) and all(isinstance(part, Size) and not part.is_star for part in key[2]):
                    found.setdefault(_form(*key), key[2])
    return {key: value for key, value in found.items() if key[:2] != ("Split", "sizes")}


def _applies_both_ways(rule: Rule) -> bool:
    """Whether no side alone has parameters that a match of the other could not tell."""
    source, target = (set(symbols_of(side).parameters) for side in (rule.source, rule.target))
    return bool(source - target) == bool(target - source)


def _form(operator: str, name: str, value: Attribute) -> tuple[str, str, int]:
    return operator, name, len(value) if isinstance(value, tuple) else 0


def _closed(builder: Builder, rule: Rule, holds: Holds) -> Rule:
    """Give parameters that stand on one side only, as the dilations of a pointwise kernel, the same names on both.

    A match of one side could not tell what to write on the other.
    """
    source, target = (symbols_of(side).parameters for side in (rule.source, rule.target))
    alone = [name for name in source if name not in target], [name for name in target if name not in source]
    if not alone[0] or len(alone[0]) != len(alone[1]):
        return rule
    names = dict(zip(alone[1], alone[0], strict=True))
    values = {
        key: tuple(_renamed(part, names) for part in key[2]) if isinstance(key[2], tuple) else _renamed(key[2], names)
        for key in _attributes(rule)
    }
    closed = apply_change(builder, rule, Change(attributes=values))
    return closed if closed is not None and holds(closed) else rule


def _renamed(value: Attribute, names: Mapping[str, str]) -> Attribute:
    renaming = {name: symbol(new) for name, new in names.items()}
    return substitute(value, renaming.get) if isinstance(value, Size) else value


def _with_batch(builder: Builder, rule: Rule, holds: Holds) -> Iterator[Rule]:
    """The rule with any number of leading axes on as many variables as possible.

    Choices of variables are tried from large to small; one inside another that holds is skipped only where the wider
    rule covers it, which pruning finds out.
    """
    ranked = [variable for variable in rule.variables if variable.type.rank and BATCH not in variable.type.shape]
    if any(variable.type.has_star for variable in rule.variables):
        return
    for count in range(len(ranked), 0, -1):
        for chosen in combinations(ranked, count):
            for prefixed in (_absorbing(rule, chosen), _prefixed(chosen)):
                wider = None if prefixed is None else apply_change(builder, rule, Change(prefixed))
                if wider is not None and holds(wider):
                    yield wider
                    break


def _prefixed(chosen: tuple[Var, ...]) -> dict[Var, TensorType]:
    return {variable: TensorType(variable.type.dtype, (BATCH, *variable.type.shape)) for variable in chosen}


def _absorbing(rule: Rule, chosen: tuple[Var, ...]) -> dict[Var, TensorType] | None:
    """The star in place of a first size that all chosen variables share and that occurs nowhere else."""
    firsts = {variable.type.shape[0] for variable in chosen}
    (first, *others) = firsts
    if others or not isinstance(first, Size) or first.symbol is None:
        return None
    elsewhere = [one.type.shape[1:] if one in chosen else one.type.shape for one in rule.variables]
    if first.symbol in symbols_in(tuple(elsewhere)) or first.symbol in symbols_in_attributes(rule.roots):
        return None
    return {variable: TensorType(variable.type.dtype, (BATCH, *variable.type.shape[1:])) for variable in chosen}


def _attributes(rule: Rule) -> list[Key]:
    """Every attribute of a rule with its operator, each once."""
    found = ((term.operator, name, value) for term in rule.applications for name, value in term.attributes)
    return list(dict.fromkeys(found))


def _fresh(rule: Rule, name: str) -> str:
    known = symbols_of(rule.roots)
    taken = {*known.sizes, *known.parameters}
    while name in taken:
        name += "_"
    return name
