"""Places that tensors name: symbols for an index that an element of a tensor says, named after that element.

What place a number names is left open but for its bounds: some function of the number and of the size of the axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from taso_opt.core.dims import Dim, symbol

LOOKUP = "place["
"""How the names of symbols begin that stand for looked-up places."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """The place on an axis of some size that the element of a tensor at some indices names."""

    tensor: str
    indices: tuple[Dim, ...]
    size: Dim

    def moved(self, replaced: Callable[[Dim], Dim]) -> Lookup:
        """The place that the element at other indices names."""
        return Lookup(self.tensor, tuple(map(replaced, self.indices)), self.size)


_LOOKUPS: dict[str, Lookup] = {}


def place_of(lookup: Lookup) -> Dim:
    """The symbol that stands for a place."""
    name = f"{LOOKUP}{lookup.tensor}: {', '.join(map(str, lookup.indices))} of {lookup.size}]"
    _LOOKUPS[name] = lookup
    return symbol(name)


def lookup(name: str) -> Lookup | None:
    """What a symbol of this process stands for; None for any other symbol."""
    return _LOOKUPS.get(name) if name.startswith(LOOKUP) else None
