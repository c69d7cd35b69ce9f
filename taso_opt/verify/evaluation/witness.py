"""Numeric witnesses: the sizes and the values of one instance of a rule, so that a change of meaning is noticed.

Elements are made from hashes, not by a generator of random numbers, so that a witness means the same everywhere. Where
the meanings of both sides change alike, the rule stays true and is worth another look all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import shake_128
from math import isclose, prod

import numpy as np

from taso_opt.core.condition import Condition
from taso_opt.core.dims import STAR
from taso_opt.core.rule import Rule
from taso_opt.core.term import Const, Term, Var, postorder, variables
from taso_opt.errors import TypeMismatch
from taso_opt.semantics.arrays import FloatArrays, ModularArrays
from taso_opt.semantics.bounds import bounds_of_sizes
from taso_opt.semantics.conditions import broken, conditioned
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import instantiate, random_assignment, symbols_of
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array
from taso_opt.verify.scalar_rules import is_scalar, rests_on_order

ATTEMPTS = 2_000
MAX_ELEMENTS = 2**16
BYTES = 4
TOLERANCE = 1e-6
Sizes = Mapping[str, int | tuple[int, ...]]


@dataclass(frozen=True)
class Witness:
    """The sizes of an instance, and a weighted sum of the elements of each output.

    `without` has the sums of source and target where one of the rule's conditions after the other does not hold: they
    differ, so that the condition is needed.
    """

    sizes: tuple[tuple[str, int | tuple[int, ...]], ...]
    values: tuple[float, ...]
    without: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = ()


def make_witness(builder: Builder, rule: Rule) -> Witness | None:
    """A witness at sizes that the text of the rule decides; None when small sizes do not fit."""
    generator = np.random.default_rng(0)
    symbols, empty = symbols_of(rule.roots), bounds_of_sizes(rule.roots).least
    for _ in range(ATTEMPTS):
        sizes = random_assignment(symbols, generator, empty)
        try:
            values = _values(builder, rule, sizes)
        except TypeMismatch:
            continue
        if values is None or not any(values[0]):
            continue
        without = tuple(_without(builder, rule, sizes))
        if all(not _alike(*sides) for sides in without):
            return Witness(tuple(sizes.items()), values[0], without)
    return None


def _without(builder: Builder, rule: Rule, sizes: Sizes) -> Iterator[tuple[tuple[float, ...], tuple[float, ...]]]:
    """The sums of both sides of the rule where each of its conditions is broken everywhere and the others hold."""
    for condition in rule.conditions:
        values = _values(builder, rule, sizes, condition)
        assert values is not None, "expected as many elements as the rule has with all conditions"
        yield values


def replay(builder: Builder, rule: Rule, witness: Witness) -> str | None:
    """None when both sides still give the recorded values, and differ without each condition; else what is wrong."""
    symbols = symbols_of(rule.roots)
    sizes = dict(witness.sizes)
    if set(sizes) != {*symbols.sizes, *symbols.parameters}:
        return "its witness is for other sizes"
    if any(isinstance(size, tuple) is not name.startswith(STAR) for name, size in sizes.items()):
        return "its witness has axes where a size is expected, or a size for axes"
    try:
        values = _values(builder, rule, sizes)
    except TypeMismatch as error:
        return f"its witness does not fit any more: {error}"
    if values is None:
        return "its witness is too large"
    for found in values:
        if not _alike(found, witness.values):
            return f"its witness gives other values: expected {list(witness.values)}, found {list(found)}"
    without = tuple(_without(builder, rule, sizes))
    if len(without) != len(witness.without):
        return f"its witness is for {len(witness.without)} conditions, expected {len(without)}"
    for condition, sides, recorded in zip(rule.conditions, without, witness.without, strict=True):
        if _alike(*sides) or not all(map(_alike, sides, recorded)):
            return f"its witness does not tell that {condition} is needed: expected {recorded}, found {sides}"
    return None


def _alike(some: Sequence[float], others: Sequence[float]) -> bool:
    return len(some) == len(others) and all(map(_close, some, others))


def _close(found: float, expected: float) -> bool:
    if isinstance(found, int) or isinstance(expected, int):
        return found == expected
    return isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _values(
    builder: Builder, rule: Rule, sizes: Sizes, without: Condition | None = None
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Weighted sums of the outputs of both sides; None when a tensor is large or has no elements.

    They are of residues where these tell that the sides are equal: of a function of the opposite number, as of a gate
    that is turned round, they know nothing. One condition may be broken by all values of its variable.
    """
    if not (is_scalar(builder, rule) or rests_on_order(builder, rule) or _compares(builder, rule)):
        values = _sums(builder, rule, sizes, without, scalar=False)
        if values is None or values[0] == values[1]:
            return values
    return _sums(builder, rule, sizes, without, scalar=True)


def _sums(
    builder: Builder, rule: Rule, sizes: Sizes, without: Condition | None, scalar: bool
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    roots = instantiate(builder, rule.roots, sizes, "float64")
    shapes = [kind.static_shape for term in postorder(roots) for kind in builder.types(term)]
    if any(min(shape, default=1) < 1 or prod(shape) > MAX_ELEMENTS for shape in shapes):
        return None
    arithmetic = FloatArrays() if scalar else ModularArrays()
    leaves: dict[Term, Array] = {leaf: _elements(leaf, scalar) for leaf in variables(roots)}
    values = conditioned(rule.conditions, leaves, ends=False)
    for leaf in leaves:
        if without is not None and isinstance(leaf, Var) and leaf.name == without.variable:
            values[leaf] = broken(without.bounds, leaves[leaf])
    with np.errstate(all="ignore"):
        results = evaluate_arrays(builder, arithmetic, roots, values)
    sums = tuple(_weighted(result, scalar) for result in results)
    return sums[: len(rule.source)], sums[len(rule.source) :]


def _compares(builder: Builder, rule: Rule) -> bool:
    """Whether an operator takes its operands in any order only because numbers have one, as a maximum does."""
    operators = [builder.operator(term) for term in rule.applications]
    return any(operator is not None and operator.scalar and operator.commutative for operator in operators)


def _elements(leaf: Var | Const, scalar: bool) -> Array:
    """Residues modulo the prime, or numbers from -4 to 4, that the name of the variable and the places decide."""
    shape = leaf.type.static_shape
    data = shake_128(leaf.name.encode()).digest(BYTES * prod(shape))
    residues = np.frombuffer(data, dtype="<u4").astype(np.int64).reshape(shape) % ModularArrays.prime
    return 8.0 * residues / ModularArrays.prime - 4.0 if scalar else residues


def _weighted(result: Array, scalar: bool) -> float:
    """A sum that tells elements apart by their places."""
    elements = np.asarray(result).ravel().tolist()
    if scalar:
        finite = [value if np.isfinite(value) else 0.0 for value in elements]
        return float(sum((at % 7 + 1) * value for at, value in enumerate(finite)))
    return sum((at + 1) * int(value) for at, value in enumerate(elements)) % ModularArrays.prime
