"""The paper's Algorithm 1, word for word and slow: the yardstick that the enumeration is compared with in the tests.

It builds every graph operator by operator, depth first, and knows nothing of representatives, of terms that need not
be extended or of splits that come in pairs. Two graphs are equal when their outputs are, as sets (equation 2.1), so
all that it has to say is which outputs of graphs are equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from taso_opt.core.dims import Dim, Size
from taso_opt.core.term import Apply, Attribute, Term, Var, postorder
from taso_opt.errors import TypeMismatch
from taso_opt.semantics.arrays import ModularArrays
from taso_opt.semantics.evaluate import evaluate
from taso_opt.semantics.instances import instantiate
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array

Graph = tuple[Term, ...]
"""The outputs of a graph."""


@dataclass(frozen=True)
class Problem:
    """The operators with attributes and number of operands, the inputs, sets of sizes to evaluate at, the limit.

    The `sizes` of a split are given as () and are those of the most recent join of its operand.
    """

    operators: Sequence[tuple[str, Mapping[str, Attribute], int]]
    inputs: Sequence[Var]
    sizes: Sequence[Mapping[str, int]]
    max_ops: int


def equal_outputs(problem: Problem, builder: Builder, built: Sequence[Graph] | None = None) -> list[list[Term]]:
    """Classes of equal terms among the inputs and the outputs of all graphs, if they are not given (step 2)."""
    built = graphs(problem, builder) if built is None else built
    classes: dict[tuple[object, ...], dict[Term, None]] = defaultdict(dict)
    outputs = dict.fromkeys([*problem.inputs, *(term for graph in built for term in graph)])
    values = [_evaluated(problem, builder, list(outputs), sizes) for sizes in problem.sizes]
    for term, *hashed in zip(outputs, *values, strict=True):
        classes[builder.type(term), *(value.tobytes() for value in hashed)][term] = None
    return [list(members) for members in classes.values() if len(members) > 1]


def graphs(problem: Problem, builder: Builder) -> list[Graph]:
    """Every graph of one to `max_ops` operators (Algorithm 1, step 1)."""
    found: dict[Graph, None] = {}

    def build(size: int, made: tuple[Apply, ...]) -> None:
        if made:
            found.setdefault(_outputs(made, builder))
        if size == problem.max_ops:
            return
        available = [*problem.inputs, *(value for term in made for value in _values(term, builder))]
        for term in _applications(problem, builder, available):
            if term not in made:  # a graph holds no computation twice
                build(size + 1, (*made, term))

    build(0, ())
    return list(found)


def _applications(problem: Problem, builder: Builder, available: Sequence[Term]) -> Iterator[Apply]:
    for name, attributes, arity in problem.operators:
        for operands in product(available, repeat=arity):
            for settings in _settings(attributes, operands, builder):
                try:
                    yield builder.apply(name, operands, settings)
                except TypeMismatch:
                    continue


def _settings(
    attributes: Mapping[str, Attribute], operands: Sequence[Term], builder: Builder
) -> Iterator[Mapping[str, Attribute]]:
    if attributes.get("sizes") != ():
        yield attributes
        return
    axis = attributes["axis"]
    assert isinstance(axis, int), f"expected an axis to split, found {axis!r}"
    if -axis <= builder.type(operands[0]).rank:
        sizes = _last_join(operands[0], axis, builder)
        if len(sizes) == 2:
            yield {**attributes, "sizes": sizes}


def _last_join(term: Term, axis: int, builder: Builder) -> tuple[Dim, ...]:
    """The sizes that the most recent join put together along an axis: the root of the split tree (section 2.3.1)."""
    size = builder.type(term).shape[axis]
    if isinstance(term, Apply):
        if term.operator == "Concat" and term.attribute("axis") == axis:
            return tuple(builder.type(part).shape[axis] for part in term.args)
        wide = [part for part in term.args if builder.type(part).rank >= -axis]
        origin = next((part for part in wide if builder.type(part).shape[axis] == size), None)
        return (size,) if origin is None else _last_join(origin, axis, builder)
    return tuple(Size((part,)) for part in size.terms) if isinstance(term, Var) and isinstance(size, Size) else (size,)


def _values(term: Apply, builder: Builder) -> list[Term]:
    count = len(builder.types(term))
    return [term] if count == 1 else [builder.item(term, index) for index in range(count)]


def _outputs(made: Sequence[Apply], builder: Builder) -> Graph:
    """What no operator of the graph takes as an operand."""
    used = {child for term in made for child in term.children}
    return tuple(value for term in made for value in _values(term, builder) if value not in used)


def _evaluated(problem: Problem, builder: Builder, terms: Sequence[Term], sizes: Mapping[str, int]) -> list[Array]:
    xp, generator = ModularArrays(), np.random.default_rng(0)
    values = {}
    for one in problem.inputs:
        shape = tuple(dim for dim in one.type.bind(sizes).shape if isinstance(dim, int))
        values[one.name] = xp.random(generator, (1, *shape))
    concrete = instantiate(builder, terms, sizes, "float64")
    leaves: dict[Term, Array] = {one: values[one.name] for one in postorder(concrete) if isinstance(one, Var)}
    return evaluate(builder, xp, concrete, leaves)
