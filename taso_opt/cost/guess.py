"""What kernels that nobody has measured may cost, by what others of the same operators took.

Most changes that rules offer lose, many of them by far, and each that is measured takes as long as one that gains. A
guess tells those by far from the others: it counts what a kernel moves and multiplies (see `work`), and how much longer
than that count says kernels of the same operators took on this device. It decides what is measured and nothing else.

How long a convolution of groups takes for what it counts depends on the channels of a group, which runtimes compute in
blocks: there only kernels with as many of them tell.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import defaultdict

from taso_opt.core.term import Apply
from taso_opt.cost.kernels.units import Unit
from taso_opt.cost.kernels.work import rough_seconds
from taso_opt.spec.builder import Builder

LOWER = 0.25
"""The share of the kernels of the same operators that took even less for what they count: a guess is an early one."""

_Kind = tuple[str, ...]


class Guesses:
    """Learns from kernels of known cost, in the order in which a search asks for them."""

    def __init__(self, builder: Builder) -> None:
        """`builder` has bindings that give every size a number."""
        self._builder = builder
        self._known: dict[str, float] = {}
        self._ratios: dict[_Kind, list[float]] = defaultdict(list)

    def learn(self, unit: Unit, seconds: float) -> None:
        """Remember what a kernel costs, whether it was measured or found in a table."""
        if unit.key in self._known:
            return
        self._known[unit.key] = seconds
        rough = rough_seconds(unit, self._builder)
        if 0 < seconds < math.inf and rough > 0:
            insort(self._ratios[self._kind(unit)], seconds / rough)

    def seconds(self, unit: Unit) -> float | None:
        """The cost of a kernel as it was learnt, or as others of its operators let it seem; None without any."""
        known = self._known.get(unit.key)
        if known is not None:
            return known
        ratios = self._ratios.get(self._kind(unit))
        if not ratios:
            return None
        return ratios[int(LOWER * len(ratios))] * rough_seconds(unit, self._builder)

    def _kind(self, unit: Unit) -> _Kind:
        return tuple(sorted(self._operator(member) for member in unit.members if isinstance(member, Apply)))

    def _operator(self, term: Apply) -> str:
        if term.operator != "Conv" or term.attribute("group") == 1:
            return term.operator
        return f"{term.operator} of {self._builder.type(term.args[1]).shape[1]} channels a group"
