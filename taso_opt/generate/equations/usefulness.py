"""Judges whether an equation can ever make a graph cheaper, by what the cost of any device grows with.

A library of larger equations has to be selective: the search tries every rule at every place. An equation is useful
when, read in one direction in which it can be applied, it lessens work: there are sizes at which the target computes
with fewer operators or fewer floating-point operations, and with no more of the other; or computes just as much and
moves less data, with fewer operators or fewer elements, and no more of the other. Computing goes first because one
product in place of two is worth a join and a split of their operands, which often are weights or mere views. What
stands under an operator that is for weights only is computed ahead of time and costs nothing. No network and no
measured time has a say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from taso_opt.core.dims import STAR
from taso_opt.core.rule import Rule, RuleSet
from taso_opt.core.term import Apply, Term, Var, postorder, variables
from taso_opt.cost.quantities import term_flops
from taso_opt.errors import TypeMismatch
from taso_opt.semantics.instances import PAD, Symbols, instantiate, symbols_of
from taso_opt.spec.builder import Builder
from taso_opt.spec.text import format_rule

INSTANCES = 8
"""At so many choices of sizes the two sides are compared."""

ATTEMPTS = 400
LARGEST = 7
"""Sizes are powers of two with exponents below this one, so that products of sizes differ by much when they differ."""


@dataclass(frozen=True)
class Work:
    """What a graph does: operators that compute, floating-point operations, operators that move, elements moved."""

    computing: int
    flops: int
    moving: int
    elements: int

    def is_less_than(self, other: Work) -> bool:
        """Whether this is less computing, or as much computing and less moving; neither count may be worse."""
        ours, theirs = (self.computing, self.flops), (other.computing, other.flops)
        if ours == theirs:
            ours, theirs = (self.moving, self.elements), (other.moving, other.elements)
        return ours != theirs and all(one <= two for one, two in zip(ours, theirs, strict=True))


def is_useful(rule: Rule, builder: Builder) -> bool:
    """Whether an equation, read in a direction in which it can be applied, lessens the work of some graph."""
    directions = list(RuleSet((rule,)).directed())
    sides = [(one.source, one.target) for one in directions]
    for roots in _instances(rule, builder):
        width = len(rule.source)
        concrete = {rule.source: roots[:width], rule.target: roots[width:]}
        weights = _weights(roots, builder)
        work = {side: work_of(terms, weights, builder) for side, terms in concrete.items()}
        if any(work[target].is_less_than(work[source]) for source, target in sides):
            return True
    return False


def work_of(roots: Sequence[Term], weights: Collection[Term], builder: Builder) -> Work:
    """The work of a graph of known sizes with some variables as weights: what depends on these alone is none."""
    constant: dict[Term, bool] = {}
    computing = flops = moving = elements = 0
    for term in postorder(roots):
        constant[term] = term in weights if isinstance(term, Var) else all(constant[child] for child in term.children)
        if constant[term] or not isinstance(term, Apply):
            continue
        if builder.moves_data(term):
            moving += 1
            elements += sum(kind.elements or 0 for kind in builder.types(term))
        else:
            computing += 1
            flops += term_flops(term, builder)
    return Work(computing, flops, moving, elements)


def _weights(roots: Sequence[Term], builder: Builder) -> frozenset[Term]:
    """The variables that can only be weights: those under operators that are computed ahead of time."""
    ahead = [term for term in postorder(roots) if isinstance(term, Apply) and _is_ahead(term, builder)]
    return frozenset(variables(ahead))


def _is_ahead(term: Apply, builder: Builder) -> bool:
    operator = builder.operator(term)
    return operator is not None and operator.weights_only


def _instances(rule: Rule, builder: Builder) -> Iterator[tuple[Term, ...]]:
    """Both sides at a few well-typed choices of sizes, which the rule alone decides."""
    seed = int.from_bytes(blake2b(format_rule(rule).encode(), digest_size=8).digest(), "little")
    generator = np.random.default_rng(seed)
    roots = rule.roots
    symbols = symbols_of(roots)
    found = 0
    for _ in range(ATTEMPTS):
        try:
            instance = instantiate(builder, roots, _sizes(symbols, generator), "float32")
            for root in instance:
                builder.types(root)
        except TypeMismatch:
            continue
        yield instance
        found += 1
        if found == INSTANCES:
            return


def _sizes(symbols: Symbols, generator: np.random.Generator) -> dict[str, int | tuple[int, ...]]:
    """Sizes for all symbols: powers of two in types, small numbers in attributes, pads among them perhaps none."""
    sizes: dict[str, int | tuple[int, ...]] = {}
    for name in (*symbols.sizes, *symbols.parameters):
        if name.startswith(STAR):
            sizes[name] = (2 ** int(generator.integers(1, LARGEST)),)
        elif name in symbols.sizes:
            sizes[name] = 2 ** int(generator.integers(1, LARGEST))
        else:
            sizes[name] = int(generator.integers(0, 2) if name.startswith(PAD) else generator.integers(1, 4))
    return sizes
