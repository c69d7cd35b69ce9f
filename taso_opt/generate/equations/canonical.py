"""Names: every equation gets the same text, whatever its variables and sizes were called before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count

from taso_opt.core.dims import STAR, Size, symbols_in
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Attribute, Item, Term, Var, operator_count
from taso_opt.generate.equations.retype import flat, with_names
from taso_opt.spec.builder import Builder
from taso_opt.spec.shared.windows import ANY_KERNEL, ANY_WINDOWS
from taso_opt.spec.text import format_rule

VARIABLES = "xyzwvutrqponmlkjih"
MATRIX_SIZES = ("m", "k", "n", "p", "q", "l", "j", "i", "h", "c", "d", "e", "f", "a", "o", "u", "v", "t")
IMAGE_SIZES = ("n", "c", "h", "w", "m", "i", "j", "d", "q", "p", "l", "k", "e", "f", "a", "o", "u", "v", "t")
STARS = ("*b", "*s", "*r", "*q")
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    **{name: tuple(map(str, values)) for name, values in {**ANY_WINDOWS, **ANY_KERNEL}.items()},
    "group": ("g",),
}
"""What the sizes in attributes of windows are called, in their order."""

MAX_ORDERS = 32
"""How many orders of equal-looking commutative operands are tried."""


def canonical(rule: Rule, builder: Builder) -> Rule:
    """The equation with its shorter side first and names in order of occurrence, scalars last.

    Where several orders are equally good the one with the least text is taken.
    """
    named = (_named(turned, order, builder) for turned in _orientations(rule) for order in _orders(turned, builder))
    return min(named, key=lambda one: (_parts_out_of_order(one), len(format_rule(one)), format_rule(one)))


def _parts_out_of_order(rule: Rule) -> int:
    """How many sides take the parts of a split in another order than theirs."""
    sides = (rule.source, rule.target)
    return sum(
        all(isinstance(term, Item) for term in side)
        and [term.index for term in side if isinstance(term, Item)] == [1, 0]
        for side in sides
    )


def _orientations(rule: Rule) -> list[Rule]:
    left, right = operator_count(rule.source), operator_count(rule.target)
    sides = [(rule.source, rule.target)] if left <= right else []
    sides += [(rule.target, rule.source)] if right <= left else []
    orders = (slice(None), slice(None, None, -1)) if len(rule.source) == 2 else (slice(None),)
    return [Rule(source[order], target[order]) for source, target in sides for order in orders]


Reading = tuple["Var | tuple[str, Attribute]", ...]
"""What is met in a term from left to right: its variables and the attributes of its operators, with repetitions."""


def _orders(rule: Rule, builder: Builder) -> list[Reading]:
    """Orders in which a rule can be read, taking commutative operands that look equal either way."""
    readings: dict[Term, list[Reading]] = {}
    looks: dict[Term, str] = {}
    for term in rule.terms:
        looks[term] = _look(term, looks)
        readings[term] = _readings(term, readings, looks, builder)
    orders = _joined([readings[output] for output in rule.roots])
    return list(dict.fromkeys(tuple(dict.fromkeys(order)) for order in orders))


def _look(term: Term, looks: Mapping[Term, str]) -> str:
    """A description of a term that leaves out all names."""
    if isinstance(term, Apply):
        settings = [
            (name, *("" if isinstance(part, Size) else part for part in flat(value))) for name, value in term.attributes
        ]
        return f"{term.operator}{settings}({','.join(looks[operand] for operand in term.args)})"
    if isinstance(term, Item):
        return f"{looks[term.term]}[{term.index}]"
    return "".join("." if isinstance(dim, Size) and not dim.is_star else str(dim)[0] for dim in term.type.shape) + "|"


def _readings(
    term: Term, below: Mapping[Term, list[Reading]], looks: Mapping[Term, str], builder: Builder
) -> list[Reading]:
    if isinstance(term, Var):
        return [(term,)]
    if isinstance(term, Item):
        return below[term.term]
    if not isinstance(term, Apply):
        return [()]
    operator = builder.operator(term)
    settings: list[Reading] = [term.attributes]
    if operator is None or not operator.commutative:
        return _joined([*(below[operand] for operand in term.args), settings])
    first, second = sorted(term.args, key=lambda operand: looks[operand])
    forward = _joined([below[first], below[second], settings])
    if looks[first] != looks[second]:
        return forward
    return list(dict.fromkeys([*forward, *_joined([below[second], below[first], settings])]))[:MAX_ORDERS]


def _joined(parts: Sequence[list[Reading]]) -> list[Reading]:
    """Every way to read several terms one after the other."""
    joined: list[Reading] = [()]
    for part in parts:
        joined = [before + after for before in joined for after in part][:MAX_ORDERS]
    return joined


def _named(rule: Rule, order: Reading, builder: Builder) -> Rule:
    variables = sorted((one for one in order if isinstance(one, Var)), key=lambda variable: variable.type.rank == 0)
    names = {variable.name: VARIABLES[place] for place, variable in enumerate(variables)}
    return with_names(rule, names, _size_names(order), builder)


def _size_names(order: Reading) -> dict[str, str]:
    """New names of all sizes: parameters of windows by what they are, the others as they are met.

    The symbols of a sum have no order of their own, so they are named where they are met alone, if anywhere.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for name, value in (one for one in order if not isinstance(one, Var)):
        for wanted, size in zip(_parameters(name, value), flat(value), strict=False):
            if isinstance(size, Size) and size.symbol is not None and size.symbol not in names:
                names[size.symbol] = _fresh([wanted], taken)
    letters = IMAGE_SIZES if any(isinstance(one, Var) and one.type.rank > 3 for one in order) else MATRIX_SIZES
    dims = [dim for one in order for dim in (one.type.shape if isinstance(one, Var) else flat(one[1]))]
    lone = [dim for dim in dims if isinstance(dim, Size) and dim.symbol is not None]
    for size in symbols_in((*lone, *dims)):
        if size not in names:
            names[size] = _fresh(STARS if size.startswith(STAR) else letters, taken)
    return names


def _parameters(name: str, value: Attribute) -> tuple[str, ...]:
    """What the sizes in an attribute are called; windows over one axis slide along it as over the columns of two."""
    names = PARAMETERS.get(name, ())
    return names[1::2] if isinstance(value, tuple) and 2 * len(value) == len(names) else names


def _fresh(names: Sequence[str], taken: set[str]) -> str:
    """The first name that is not taken, or the last with a number where all are; it is taken then."""
    numbered = (f"{names[-1]}{number}" for number in count(2))
    name = next(name for name in chain(names, numbered) if name not in taken)
    taken.add(name)
    return name
