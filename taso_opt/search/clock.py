"""Tells a search when its time is up."""

from __future__ import annotations

import time


class Clock:
    """Counts from its making."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """How many have passed."""
        return time.monotonic() - self._started

    def is_past(self, seconds: float) -> bool:
        """Whether so many have passed."""
        return self.seconds > seconds
