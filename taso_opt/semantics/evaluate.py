"""Evaluates terms under an interpretation of the array primitives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from taso_opt.core.literal import literal_value
from taso_opt.core.term import Apply, Item, Term, postorder
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array, ArrayModule

DIRECT = {
    "Abs": "magnitude",
    "Clip": "clipped",
    "Less": "less",
    "LessOrEqual": "at_most",
    "Max": "larger",
    "Min": "smaller",
    "Where": "chosen",
}
"""What arrays of plain numbers compute themselves, where they have a method of that name."""


def evaluate(builder: Builder, xp: ArrayModule, roots: Sequence[Term], leaves: Mapping[Term, Array]) -> list[Array]:
    """The values of `roots`; every array carries the interpretation's sample axis in front.

    `leaves` gives the values of variables and constants; literals need none. Sizes in attributes must be numbers.
    """
    values: dict[Term, Any] = dict(leaves)
    for term in postorder(roots):
        if term in values:
            continue
        number = literal_value(term)
        if number is not None:
            values[term] = xp.constant(number)
            continue
        if isinstance(term, Item):
            values[term] = values[term.term][term.index]
            continue
        assert isinstance(term, Apply), f"expected a value for the leaf {term!r}"
        operator = builder.operator(term)
        assert operator is not None, f"expected an operator with a meaning, found {term.operator}"
        arguments = [values[argument] for argument in term.args]
        # max(x, y) means y + relu(x - y), which infinities and numbers that wrap around do not obey.
        direct = getattr(xp, DIRECT.get(term.operator, ""), None)
        compute = partial(operator.evaluate, xp) if direct is None else direct
        values[term] = compute(*arguments, **builder.bound_attributes(term))
    return [values[root] for root in roots]


def evaluate_arrays(
    builder: Builder, xp: ArrayModule, roots: Sequence[Term], leaves: Mapping[Term, Array]
) -> list[Array]:
    """As `evaluate`, for plain arrays without a sample axis."""
    results = evaluate(builder, xp, roots, {term: np.asarray(value)[None] for term, value in leaves.items()})
    return [result[0] for result in results]
