"""Whether one equation is an instance of another by renaming variables and choosing sizes (paper, section 2.5)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from taso_opt.core.dims import Dim, Size, substitute, terms_of
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Const, Item, Term, Var
from taso_opt.generate.equations.retype import flat
from taso_opt.spec.builder import Builder
from taso_opt.spec.text import format_rule

Bindings = Mapping[Any, Any]
"""Variables to variables, and names of sizes to sizes or, for stars, to runs of them."""


def subsumes(general: Rule, special: Rule, builder: Builder) -> bool:
    """Whether `special` says only what `general` says already, read in either direction and any order of outputs."""
    if len(general.source) != len(special.source):
        return False
    for source, target in ((special.source, special.target), (special.target, special.source)):
        for order in (slice(None), slice(None, None, -1)) if len(source) == 2 else (slice(None),):
            pairs = zip(general.roots, (*source[order], *target[order]), strict=True)
            if any(_settled(binding) for binding in _match_all(list(pairs), {}, builder)):
                return True
    return False


def most_general(rules: Iterable[Rule], builder: Builder) -> tuple[Rule, ...]:
    """The rules without those that are instances of others under the same conditions, sorted by size and text."""
    by_text = {format_rule(rule): rule for rule in rules}
    alike: dict[Hashable, list[Rule]] = defaultdict(list)
    for text in sorted(by_text):
        rule = by_text[text]
        alike[_operators(rule), rule.conditions].append(rule)
    kept = [
        rule
        for group in alike.values()
        for place, rule in enumerate(group)
        if not any(_replaces(group, other, place, builder) for other in range(len(group)))
    ]
    return tuple(sorted(kept, key=lambda rule: (rule.size, format_rule(rule))))


def _replaces(group: Sequence[Rule], other: int, place: int, builder: Builder) -> bool:
    """Whether another rule says all that one says; of two that say the same the first one stays."""
    if other == place or not subsumes(group[other], group[place], builder):
        return False
    return other < place or not subsumes(group[place], group[other], builder)


def _operators(rule: Rule) -> tuple[int, str]:
    """How many outputs there are and what operators each side is written with, in either order."""
    sides = [sorted(re.findall(r"\w+(?=\()", side)) for side in format_rule(rule).partition(" where ")[0].split(" = ")]
    return len(rule.source), str(sorted(sides))


def _match_all(pairs: list[tuple[Term, Term]], binding: Bindings, builder: Builder) -> Iterator[Bindings]:
    if not pairs:
        yield binding
        return
    for bound in _match(*pairs[0], binding, builder):
        yield from _match_all(pairs[1:], bound, builder)


def _match(general: Term, special: Term, binding: Bindings, builder: Builder) -> Iterator[Bindings]:
    match general, special:
        case Var(), Var():
            if general in binding:
                if binding[general] is special:
                    yield binding
                return
            bound = bind_shape(general.type.shape, special.type.shape, {**binding, general: special})
            if bound is not None:
                yield bound
        case Item(), Item():
            if general.index == special.index:
                yield from _match(general.term, special.term, binding, builder)
        case Apply(), Apply():
            yield from _match_application(general, special, binding, builder)
        case Const(), Const():
            if general is special:
                yield binding


def _match_application(general: Apply, special: Apply, binding: Bindings, builder: Builder) -> Iterator[Bindings]:
    if general.operator != special.operator or len(general.args) != len(special.args):
        return
    bound = _bind_attributes(general, special, binding)
    if bound is None:
        return
    yield from _match_all(list(zip(general.args, special.args, strict=True)), bound, builder)
    operator = builder.operator(general)
    if operator is not None and operator.commutative and special.args[0] is not special.args[1]:
        yield from _match_all(list(zip(general.args, special.args[::-1], strict=True)), bound, builder)


def _bind_attributes(general: Apply, special: Apply, binding: Bindings) -> Bindings | None:
    for (name, wanted), (other, found) in zip(general.attributes, special.attributes, strict=True):
        bound = bind_shape(tuple(flat(wanted)), tuple(flat(found)), binding) if name == other else None
        if bound is None:
            return None
        binding = bound
    return binding


def bind_shape(wanted: tuple[Any, ...], found: tuple[Any, ...], binding: Bindings) -> Bindings | None:
    """Bind the sizes of one shape to those of another; a star takes any run of sizes."""
    stars = [at for at, dim in enumerate(wanted) if isinstance(dim, Size) and dim.is_star]
    bound = dict(binding)
    if len(stars) == 1:
        (at,) = stars
        after = len(wanted) - at - 1
        if len(found) < len(wanted) - 1:
            return None
        middle = found[at : len(found) - after]
        if bound.setdefault(str(wanted[at]), middle) != middle:
            return None
        wanted, found = wanted[:at] + wanted[at + 1 :], found[:at] + found[len(found) - after :]
    if len(wanted) != len(found):
        return None
    for general, special in zip(wanted, found, strict=True):
        if not _bind(general, special, bound):
            return None
    return bound


def _bind(wanted: Any, found: Any, binding: dict[Any, Any]) -> bool:
    """Bind one size; an equation with several unknown sizes is owed until they are known.

    A single size never takes a star: it would say something for one axis only, not for any number.
    """
    if isinstance(found, Size) and found.is_star:
        return False
    if not isinstance(wanted, Size):
        return bool(wanted == found)
    if wanted.symbol is not None and wanted.symbol not in binding:
        binding[wanted.symbol] = found
        return True
    if any(name not in binding for name in wanted.symbols()):
        binding["#owed"] = (*binding.get("#owed", ()), (wanted, found))
        return True
    return bool(substitute(wanted, binding.get) == found)


def _settled(binding: Bindings) -> bool:
    """Whether what was owed holds; one unknown size is solved for where the equation is linear in it."""
    bound = dict(binding)
    for wanted, found in bound.pop("#owed", ()):
        unknown = [name for name in wanted.symbols() if name not in bound]
        if len(unknown) == 1:
            solved = _solve(wanted, unknown[0], found, bound)
            if solved is None:
                return False
            bound[unknown[0]] = solved
        elif unknown or substitute(wanted, bound.get) != found:
            return False
    return True


def _solve(wanted: Size, name: str, found: Dim, bound: Mapping[str, Dim]) -> Dim | None:
    """The size that `name` must have so that `wanted` becomes `found`, when there is one; nothing is smaller than 0."""
    rest = substitute(wanted, lambda other: 0 if other == name else bound.get(other))
    factor = substitute(wanted, lambda other: 1 if other == name else bound.get(other)) - rest
    difference = found - rest
    if factor == 0:
        return None
    quotient = difference // factor
    if all(coefficient < 0 for _, coefficient in terms_of(quotient)):
        return None
    becomes = substitute(wanted, lambda other: quotient if other == name else bound.get(other))
    return quotient if becomes == found else None  # where it is not linear in it, it becomes something else
