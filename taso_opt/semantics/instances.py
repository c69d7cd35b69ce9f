"""Makes concrete instances of rules and axioms: symbols become numbers, star symbols become runs of axes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

import numpy as np

from taso_opt.core.dims import STAR, Dim, Size, substitute, symbols_in
from taso_opt.core.term import Apply, Attribute, Const, Item, Term, Var, postorder
from taso_opt.core.types import PLACES, TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.semantics.bounds import bounds_of_sizes
from taso_opt.spec.builder import Builder

ATTEMPTS_PER_INSTANCE = 200
PAD = "p_"
"""How the names of pads begin."""

NO_RANGES: Mapping[str, tuple[int, int]] = MappingProxyType({})

Assignment = Mapping[str, "Dim | tuple[Dim, ...]"]


@dataclass(frozen=True)
class Symbols:
    """The size symbols of some terms: those in the types of variables, and those in attributes alone."""

    sizes: tuple[str, ...]
    parameters: tuple[str, ...]


def symbols_of(roots: Iterable[Term]) -> Symbols:
    """Every size symbol in the types of variables and in attributes, in order of first occurrence."""
    sizes: dict[str, None] = {}
    for term in postorder(roots):
        if isinstance(term, Var | Const):
            sizes.update(dict.fromkeys(symbols_in(term.type.shape)))
    return Symbols(tuple(sizes), tuple(name for name in symbols_in_attributes(roots) if name not in sizes))


def symbols_in_attributes(roots: Iterable[Term]) -> tuple[str, ...]:
    """Every size symbol in attributes, in order of first occurrence."""
    found: dict[str, None] = {}
    for term in postorder(roots):
        if isinstance(term, Apply):
            found.update(dict.fromkeys(symbols_in(tuple(value for _, value in term.attributes))))
    return tuple(found)


def random_instances(
    builder: Builder,
    roots: Sequence[Term],
    count: int,
    generator: np.random.Generator,
    dtype: str = "float64",
    ranges: Mapping[str, tuple[int, int]] = NO_RANGES,
) -> Iterator[tuple[Term, ...]]:
    """Up to `count` well-typed instances of the terms at random sizes, drawn by rejection; deterministic.

    Symbols with a range, the least and the greatest number, are drawn from it.
    """
    symbols, empty = symbols_of(roots), bounds_of_sizes(roots).least
    terms = postorder(roots)
    for _ in range(count * ATTEMPTS_PER_INSTANCE):
        if count == 0:
            return
        assignment = random_assignment(symbols, generator, empty)
        assignment.update({name: int(generator.integers(low, high + 1)) for name, (low, high) in ranges.items()})
        try:
            rebuilt = _instantiated(builder, terms, assignment, dtype)
        except TypeMismatch:
            continue
        count -= 1
        yield tuple(rebuilt[root] for root in roots)


def instantiate(builder: Builder, roots: Sequence[Term], assignment: Assignment, dtype: str) -> tuple[Term, ...]:
    """The same terms with every symbol replaced; TypeMismatch when the numbers do not fit the operators."""
    rebuilt = _instantiated(builder, postorder(roots), assignment, dtype)
    return tuple(rebuilt[root] for root in roots)


def _instantiated(builder: Builder, terms: Sequence[Term], assignment: Assignment, dtype: str) -> dict[Term, Term]:
    """What each of the terms becomes; children come before parents."""
    rebuilt: dict[Term, Term] = {}
    for term in terms:
        if isinstance(term, Var | Const):
            kind = TensorType(PLACES if term.type.dtype == PLACES else dtype, _shape(term.type.shape, assignment))
            if any(isinstance(size, int) and size < 1 for size in kind.shape):
                raise TypeMismatch(f"expected a tensor with elements for {term.name}, found shape {kind}")
            rebuilt[term] = type(term)(term.name, kind)
        elif isinstance(term, Item):
            inner = rebuilt[term.term]
            assert isinstance(inner, Apply)
            rebuilt[term] = Item(inner, term.index)
        else:
            attributes = {name: instantiate_attribute(value, assignment) for name, value in term.attributes}
            rebuilt[term] = builder.apply(term.operator, [rebuilt[child] for child in term.children], attributes)
    return rebuilt


def random_assignment(
    symbols: Symbols, generator: np.random.Generator, empty: Container[str] = ()
) -> dict[str, int | tuple[int, ...]]:
    """Random numbers for symbols: sizes 1 to 7, parameters 1 to 3, stars runs of zero to two axes.

    Pads, and what else may be `empty`, are 0 to 2.
    A star that only attributes mention (the target of a reshape) becomes a rearrangement of a star that is known.
    """
    assignment: dict[str, int | tuple[int, ...]] = {}
    for name in symbols.sizes:
        if name.startswith(STAR):
            assignment[name] = tuple(generator.integers(1, 4, size=generator.integers(0, 3)).tolist())
        else:
            assignment[name] = _number(name, 7, generator, empty)
    known = [value for value in assignment.values() if isinstance(value, tuple)] or [()]
    for name in symbols.parameters:
        if name.startswith(STAR):
            assignment[name] = _rearranged(known[int(generator.integers(len(known)))], generator)
        else:
            assignment[name] = _number(name, 3, generator, empty)  # small ones fit most often
    return assignment


def _number(name: str, largest: int, generator: np.random.Generator, empty: Container[str]) -> int:
    """A random number for a symbol; strides, dilations and kernels are at least 1."""
    low, high = (0, 2) if name.startswith(PAD) or name in empty else (1, largest)
    return int(generator.integers(low, high + 1))


def _rearranged(shape: tuple[int, ...], generator: np.random.Generator) -> tuple[int, ...]:
    """Another shape of as many elements: permuted, flattened, or with an axis of size one."""
    choices = [tuple(generator.permutation(shape).tolist()), (prod(shape),), (*shape, 1), (1, *shape[::-1])]
    return choices[int(generator.integers(len(choices)))]


def instantiate_attribute(value: Attribute, assignment: Assignment) -> Attribute:
    """An attribute value with its symbols replaced; a star inside a tuple is spliced in."""
    if isinstance(value, tuple):
        spliced: list[Attribute] = []
        for part in value:
            star = assignment.get(part.symbol or "") if isinstance(part, Size) else None
            if isinstance(star, tuple):
                spliced.extend(star)
            else:
                spliced.append(instantiate_attribute(part, assignment))
        return tuple(spliced)
    return substituted(value, assignment) if isinstance(value, Size) else value


def _shape(shape: tuple[Dim, ...], assignment: Assignment) -> tuple[Dim, ...]:
    spliced = instantiate_attribute(shape, assignment)
    assert isinstance(spliced, tuple)
    return tuple(dim for dim in spliced if isinstance(dim, int | Size))


def substituted(dim: Size, assignment: Assignment) -> Dim:
    """A size with its symbols replaced; stars stand for several sizes, and stay."""

    def replacement(name: str) -> Dim | None:
        value = assignment.get(name)
        return None if isinstance(value, tuple) else value

    return substitute(dim, replacement)
