"""Tells a search when its time is up, and can tell a later search on the same question the same.

Where time cuts a search depends on how busy the machine is and on how many kernels it had to measure. What the clock
said is therefore worth remembering: a search that is told the same goes as far and no farther.
"""

from __future__ import annotations

import time

from taso_opt.cost import Cut

OVERTIME = 2
"""How many times the seconds it is asked about a clock that repeats itself may let pass: it may be asked elsewhere."""


class Clock:
    """Counts from its making; says what an earlier one said where it is given the `cut` of that."""

    def __init__(self, cut: Cut | None = None) -> None:
        self._cut, self._started = cut, time.monotonic()
        self._asked = 0
        self._past: list[int] = []

    @property
    def seconds(self) -> float:
        """How many have passed."""
        return time.monotonic() - self._started

    @property
    def repeats(self) -> bool:
        """Whether it says what an earlier one said."""
        return self._cut is not None

    @property
    def cut(self) -> Cut | None:
        """What it has said so far, None where time was never up."""
        return Cut(self._asked, tuple(self._past)) if self._past else None

    def is_past(self, seconds: float) -> bool:
        """Whether so many have passed."""
        self._asked += 1
        answer = self.seconds > seconds if self._cut is None else self._repeated(self._cut, seconds)
        if answer:
            self._past.append(self._asked)
        return answer

    def _repeated(self, cut: Cut, seconds: float) -> bool:
        """The answer of then; yes to what was not asked then and to what takes far too long."""
        return self._asked in cut.past or self._asked > cut.asked or self.seconds > OVERTIME * seconds
