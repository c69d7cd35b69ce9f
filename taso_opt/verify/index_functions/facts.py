"""What is known of sizes and indices, and proofs of inequalities from it: simple bounds first, then Z3."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import z3

from taso_opt.core.dims import Dim, Size, symbol, terms_of
from taso_opt.core.quotients import QUOTIENT, quotient
from taso_opt.verify.index_functions.indices import divided, names_of, replaced, split_at
from taso_opt.verify.lookups import lookup
from taso_opt.verify.sizes import write_dim

RESOURCE_LIMIT = 300_000
"""What Z3 may spend on one inequality, in its own units: some tens of milliseconds."""

MAX_QUESTIONS = 100
"""How often one proof may ask Z3; axioms ask a few times."""

MAX_STEPS = 64
"""How many names are put in one after the other; sizes have far fewer."""


@dataclass(frozen=True)
class Condition:
    """A size that is known not to be negative, and the reason in words."""

    margin: Dim
    reason: str


class Facts:
    """Bounds of all symbols, ranges of the index variables made so far, and what operators need to be defined.

    A name that `least` does not hold is at least 1, and so are some sums of names (see `semantics.bounds`).
    """

    def __init__(self, least: Mapping[str, int], at_least_one: Sequence[Dim] = ()) -> None:
        self._least = dict(least)
        self._known = [size - 1 for size in at_least_one]
        self._ranges: dict[str, Dim] = {}
        self._proved: set[Dim] = set()
        self._unproved: set[Dim] = set()
        self._margins: set[Dim] = set()
        self._questions = 0
        self.conditions: dict[Condition, None] = {}

    def fresh(self, size: Dim) -> Dim:
        """A new index variable that runs from 0 to size - 1; the index 0 where that is the only one."""
        if size == 1:
            return 0
        name = f"i~{len(self._ranges)}"
        self._ranges[name] = size
        return symbol(name)

    def suppose(self, margin: Dim, reason: str) -> None:
        """Take for granted that a size is not negative, because an operator is defined only then."""
        if not self._bounded(margin):
            self._margins.add(margin)
            self._unproved.clear()
            self.conditions[Condition(margin, reason)] = None

    def surely(self, margin: Dim) -> bool:
        """Whether simple bounds alone show that an index is never negative; quick."""
        if isinstance(margin, int):
            return margin >= 0
        if margin not in self._proved and self._bounded(margin):
            self._proved.add(margin)
        return margin in self._proved

    def proves(self, margin: Dim) -> bool:
        """Whether an index is never negative, by simple bounds or by Z3 over the integers."""
        if margin in self._unproved:
            return False
        if self.surely(margin):
            return True
        if isinstance(margin, int) or not self._by_z3(margin):
            self._unproved.add(margin)
            return False
        self._proved.add(margin)
        return True

    def _bounded(self, margin: Dim) -> bool:
        """Put the worst value for one name after the other; what is left must have no negative coefficient."""
        for _ in range(MAX_STEPS):
            name = self._next_name(margin)
            if name is None:
                return self._without_negative_terms(margin)
            lower = self._worst(margin, name)
            if lower is None:
                return False
            margin = lower
        return False

    def _next_name(self, margin: Dim) -> str | None:
        """An index variable, then a quotient, which may have come with its range."""
        names = margin.symbols() if isinstance(margin, Size) else ()
        variables = [name for name in names if self._range(name) is not None]
        return next(iter(variables or [name for name in names if name.startswith(QUOTIENT)]), None)

    def _worst(self, margin: Dim, name: str) -> Dim | None:
        """A lower bound of the margin that does not mention the name."""
        parts = split_at(margin, name)
        if parts is None:
            return None
        rest, factor = parts
        size = self._range(name)
        if not (size is not None or self._is_natural(name)) or not all(map(self._is_natural, names_of(factor))):
            return None
        if _all_nonnegative(factor):
            return rest
        if not _all_nonnegative(-1 * factor):
            return None
        if size is None:
            return _less_quotient(rest, factor, name)
        last = size - 1
        lone = last.symbol if isinstance(last, Size) else None
        if lone is not None and lone.startswith(QUOTIENT) and self._is_natural(lone):
            lower = _less_quotient(rest, factor, lone)
            if lower is not None:
                return lower
        return rest + last * factor

    def _range(self, name: str) -> Dim | None:
        """The number of values of an index variable or of a place that is looked up; each runs from 0."""
        told = lookup(name)
        return self._ranges.get(name) if told is None else told.size

    def _is_natural(self, name: str) -> bool:
        """Whether a name cannot be negative: quotients are the only ones that might."""
        if not name.startswith(QUOTIENT):
            return True
        dividend, divisor = quotient(name)
        return self._bounded(divisor - 1) and (dividend in self._margins or self._bounded(dividend))

    def _without_negative_terms(self, margin: Dim) -> bool:
        names = margin.symbols() if isinstance(margin, Size) else ()
        shifted = replaced(margin, {name: symbol(name) + self._least.get(name, 1) for name in names})
        return _all_nonnegative(shifted)

    def _by_z3(self, margin: Dim) -> bool:
        self._questions += 1
        if self._questions > MAX_QUESTIONS:
            return False
        writer = _Writer(self._least, self._range)
        solver = z3.Solver()
        solver.set("rlimit", RESOURCE_LIMIT)
        claim = writer.write(margin) < 0
        supposed = [*self._known, *(condition.margin for condition in self.conditions)]
        known = [writer.write(one) >= 0 for one in supposed]
        solver.add(claim, *known, *writer.bounds())
        return bool(solver.check() == z3.unsat)


class _Writer:
    """Writes indices as Z3 integers and collects the bounds of every name that it meets."""

    def __init__(self, least: Mapping[str, int], range_of: Callable[[str], Dim | None]) -> None:
        self._least, self._range_of = least, range_of
        self._names: dict[str, z3.ArithRef] = {}

    def write(self, index: Dim) -> z3.ArithRef:
        return write_dim(index, self._symbol)

    def _symbol(self, name: str) -> z3.ArithRef:
        return self._names.setdefault(name, z3.Int(name))

    def bounds(self) -> list[z3.BoolRef]:
        found: list[z3.BoolRef] = []
        done: set[str] = set()
        while set(self._names) - done:
            name = min(set(self._names) - done)
            done.add(name)
            found += self._bounds_of(name)
        return found

    def _bounds_of(self, name: str) -> list[z3.BoolRef]:
        value = self._symbol(name)
        size = self._range_of(name)
        if size is None:
            return [value >= self._least.get(name, 1)]
        last = size - 1
        found = [value >= 0, value <= self.write(last)]
        lone = last.symbol if isinstance(last, Size) else None
        if lone is not None and lone.startswith(QUOTIENT):  # i <= a / b, said without the division
            dividend, divisor = quotient(lone)
            found.append(value * self.write(divisor) <= self.write(dividend))
            found.append(value * self.write(divisor) >= 0)
        return found


def _less_quotient(rest: Dim, factor: Dim, name: str) -> Dim | None:
    """A lower bound of rest + q * factor, where factor is not positive and a multiple of the divisor of q = a / b."""
    dividend, divisor = quotient(name)
    parts = divided(-1 * factor, divisor)
    if parts is None or parts[1] != 0:
        return None
    return rest - dividend * parts[0]


def _all_nonnegative(index: Dim) -> bool:
    return all(coefficient >= 0 for _, coefficient in terms_of(index))
