"""Candidates about what only moves elements, around operators that residues cannot evaluate or that few pools have.

The enumeration finds how joins, transpositions and reshapes pass the operators that take part in it. A quotient, an
activation or a normalization lets them pass as well: each of these operators is applied to operands of which one axis
is cut, as for slices, and to what is joined along that axis; what type-checks and agrees in floats is a candidate.
Sums, means and the greatest are also taken along the axes of what is transposed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from taso_opt.core.dims import Dim, symbol, total
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Attribute, Term, Var
from taso_opt.core.types import REAL, parse_scheme
from taso_opt.generate.equations.canonical import VARIABLES
from taso_opt.generate.schemes.cuts import CUT, Cut, cuts, mapped, parameters, sized
from taso_opt.generate.schemes.passing import DOES_NOT_FIT, confirmed
from taso_opt.generate.schemes.pixels import TO_BACK, TO_FRONT
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Operator
from taso_opt.spec.shared.elementwise import SWAP

SIZES = (symbol("u"), symbol("v"))
"""What is joined along the cut axis."""

MOVEMENTS: tuple[tuple[str, str, Mapping[str, Attribute]], ...] = (
    ("Transpose", "*b m n", {"perm": SWAP}),
    ("Transpose", "*b l m n", {"perm": (-2, -3, -1)}),
    ("Reshape", "*a", {"shape": (symbol("*s"),)}),
)
"""Movements of one operand, of which all others that are enumerated consist."""

TAKEN = ("ReduceMax", "ReduceMean", "ReduceSum")
TURNS = (("*b m n", SWAP), ("*b l m n", TO_FRONT), ("*b l m n", TO_BACK))
ALONG = ((-3,), (-2,), (-1,), (-2, -1), (-3, -2))
"""What is taken of all elements, how axes are turned before, and along which of them it is taken."""


def discover_moved(library: SpecLibrary, seed: int, operators: frozenset[str]) -> tuple[Rule, ...]:
    """Candidates in which a movement meets one of the named operators, in the order of their text form."""
    builder = library.builder()
    maps = (rule for name in sorted(operators) for rule in _candidates(builder, library.operators[name]))
    rules = (*maps, *_reduced(builder))
    fitting = (rule for rule in rules if len(rule.variables) <= len(VARIABLES) and _gives_numbers(rule, builder))
    return confirmed(fitting, builder, seed, operators)


def _gives_numbers(rule: Rule, builder: Builder) -> bool:
    """What is true or false is read by choices between two tensors alone, which other rules replace."""
    return all(builder.type(root).dtype == REAL for root in rule.source)


def _candidates(builder: Builder, operator: Operator) -> Iterator[Rule]:
    if (operator.is_enumerated and not operator.defined) or not operator.arithmetic:
        return
    for cut in cuts(operator):
        yield from _joined(builder, operator, cut)
    if operator.elementwise and operator.arity:
        for values, movement in product(parameters(operator), MOVEMENTS):
            yield from _moved(builder, operator, values, *movement)


def _reduced(builder: Builder) -> Iterator[Rule]:
    """What is taken of all elements along axes of what is turned: what is turned of that along the axes before."""
    for name, (scheme, perm) in product(TAKEN, TURNS):
        x = Var("x", parse_scheme(scheme))
        turned = builder.apply("Transpose", (x,), {"perm": perm})
        for axes in ALONG:
            try:
                before = tuple(sorted(perm[axis] for axis in axes))
                source = builder.apply(name, (turned,), {"axes": axes})
                target = builder.apply("Transpose", (builder.apply(name, (x,), {"axes": before}),), {"perm": perm})
            except DOES_NOT_FIT:
                continue
            yield Rule((source,), (target,))


def _joined(builder: Builder, operator: Operator, cut: Cut) -> Iterator[Rule]:
    """Results joined as the result of what is joined, and two results as the parts of that."""
    try:
        pairs = [_pair(scheme, at) for at, scheme in enumerate(cut.schemes)]
        results = [
            builder.apply(operator.name, operands, _attributes(cut, size))
            for operands, size in zip(zip(*pairs, strict=True), SIZES, strict=True)
        ]
        joined = _join(builder, results)
        operands = [pair[0] if pair[0] is pair[1] else _join(builder, pair) for pair in pairs]
        whole = builder.apply(operator.name, operands, _attributes(cut, total(SIZES)))
        fits = builder.type(joined) == builder.type(whole)
    except DOES_NOT_FIT:
        return
    if fits:
        split = builder.apply("Split", (whole,), {"axis": joined.attribute("axis"), "sizes": SIZES})
        yield Rule((joined,), (whole,))
        yield Rule(tuple(results), tuple(builder.item(split, at) for at in range(len(SIZES))))


def _pair(scheme: str, place: int) -> tuple[Var, Var]:
    """The operands at one place of both results, which share what is not cut."""
    first, second = (
        Var(f"x{place}" if CUT not in scheme else f"x{place}_{size}", parse_scheme(scheme.replace(CUT, str(size))))
        for size in SIZES
    )
    return first, second


def _join(builder: Builder, parts: Sequence[Term]) -> Apply:
    """Two terms joined along the axis that has the sizes of the parts; ValueError where that is none or several."""
    shapes = [builder.type(part).shape for part in parts]
    (axis,) = (at - len(shapes[0]) for at, sizes in enumerate(zip(*shapes, strict=True)) if sizes == SIZES)
    return builder.apply("Concat", parts, {"axis": axis})


def _attributes(cut: Cut, size: Dim) -> dict[str, Attribute]:
    return {name: sized(value, size) for name, value in cut.attributes.items()}


def _moved(
    builder: Builder,
    operator: Operator,
    values: Mapping[str, Attribute],
    movement: str,
    scheme: str,
    attributes: Mapping[str, Attribute],
) -> Iterator[Rule]:
    """What is moved before or behind a map, of which the operands but the first are numbers."""
    x, *numbers = (Var(f"x{at}", parse_scheme(one)) for at, one in enumerate(mapped(operator, scheme)))
    try:
        source = builder.apply(movement, (builder.apply(operator.name, (x, *numbers), values),), attributes)
        target = builder.apply(operator.name, (builder.apply(movement, (x,), attributes), *numbers), values)
    except DOES_NOT_FIT:
        return
    yield Rule((source,), (target,))
