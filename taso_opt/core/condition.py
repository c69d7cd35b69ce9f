"""Conditions on the values of a constant that a rule needs beside types: a scale that is not negative, a slope up to 1.

Each speaks of every element of one variable, and there are few of them, so that what a rule asks for can be read,
compared and looked up in a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Bounds:
    """Where every element lies: from `low` to `high`, as far as they are given; an `open` low end is left out itself.

    `text` is how a rule says it, with {} for the variable.
    """

    text: str
    low: int | None = None
    high: int | None = None
    open: bool = False

    def comparisons(self, value: Any) -> list[Any]:
        """What has to be true of a value: a number, an array element by element, or an unknown of a prover."""
        found = []
        if self.low is not None:
            found.append(value > self.low if self.open else value >= self.low)
        if self.high is not None:
            found.append(value <= self.high)
        return found

    def admit(self, values: Any) -> bool:
        """Whether all elements of an array lie within; what is no number never does."""
        return all(bool(comparison.all()) for comparison in self.comparisons(values))

    def within(self, other: Bounds) -> bool:
        """Whether whatever these bounds admit, the others admit as well."""
        above = other.low is None or (
            self.low is not None and (self.low > other.low or (self.low == other.low and self.open >= other.open))
        )
        return above and (other.high is None or (self.high is not None and self.high <= other.high))


AT_LEAST_0 = Bounds("{} >= 0", low=0)
AT_MOST_0 = Bounds("{} <= 0", high=0)
AT_MOST_1 = Bounds("{} <= 1", high=1)
AT_LEAST_MINUS_1 = Bounds("{} >= -1", low=-1)
POSITIVE = Bounds("{} > 0", low=0, open=True)
AT_LEAST_1 = Bounds("{} >= 1", low=1)
FROM_0_TO_1 = Bounds("0 <= {} <= 1", low=0, high=1)

ANY = Bounds("{} is constant")
"""Any value, as long as it is known before a model runs; asked for by compositions of rules, not by rules of a file."""

ALL_BOUNDS = (AT_LEAST_MINUS_1, AT_LEAST_0, AT_MOST_1, AT_MOST_0, POSITIVE, AT_LEAST_1, FROM_0_TO_1)
"""All that a rule may ask for; a weaker one stands before what is stronger."""


@dataclass(frozen=True)
class Condition:
    """One variable stands for a constant, all elements of which lie within the bounds."""

    variable: str
    bounds: Bounds

    def __str__(self) -> str:
        return self.bounds.text.format(self.variable)


def weaker(bounds: Bounds) -> list[Bounds]:
    """The other bounds that admit all that these admit, and more."""
    return [other for other in ALL_BOUNDS if other != bounds and bounds.within(other)]
