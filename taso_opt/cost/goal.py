"""What a search makes small, within which limits: one quantity or a weighted mix (section 2.6 of the paper)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from taso_opt.errors import UsageError

LATENCY, FLOPS, MEMORY, LAUNCHES, WEIGHTS = QUANTITIES = ("latency", "flops", "memory", "launches", "weights")
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMG]?i?B)?", re.IGNORECASE)
PERCENT = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*%?")


@dataclass(frozen=True)
class Goal:
    """Weights of the quantities to make small, each counted as a share of the original's, and limits.

    `memory_limit` bounds the estimated peak memory in bytes, `size_growth` the bytes of weights as a share of the
    original's that may be added. `allow_slower` lets a result be slower than the original.
    """

    weights: tuple[tuple[str, float], ...] = ((LATENCY, 1.0),)
    memory_limit: int | None = None
    size_growth: float | None = None
    allow_slower: bool = False

    @property
    def is_plain_latency(self) -> bool:
        """Whether latency is all that counts and nothing limits it."""
        return self.only == LATENCY and self.memory_limit is None and self.size_growth is None

    @property
    def only(self) -> str | None:
        """The one quantity that counts, None for a mix."""
        return self.weights[0][0] if len(self.weights) == 1 else None

    def weight(self, quantity: str) -> float:
        """The weight of a quantity, 0 for one that does not count."""
        return dict(self.weights).get(quantity, 0.0)

    def __str__(self) -> str:
        if self.only is not None:
            return self.only
        return ",".join(f"{name}={weight:g}" for name, weight in self.weights)


def parse_objective(text: str) -> tuple[tuple[str, float], ...]:
    """Read an objective: `flops`, or a mix such as `latency=1,memory=0.1`; UsageError for anything else."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, separator, number = part.strip().partition("=")
        weight = _weight(number) if separator else 1.0
        if name not in QUANTITIES or name in found or weight is None:
            known = ", ".join(QUANTITIES)
            raise UsageError(f"expected an objective among {known}, or a mix like latency=1,memory=0.1, found {text!r}")
        found[name] = weight
    return tuple((name, found[name]) for name in QUANTITIES if name in found)


def parse_bytes(text: str) -> int:
    """Read a size in bytes: `300000`, `64MB`, `1.5GiB`; UsageError for anything else."""
    match = SIZE.fullmatch(text.strip())
    if match is None or (size := int(float(match[1]) * UNITS[(match[2] or "").upper()])) < 1:
        raise UsageError(f"expected a size in bytes such as 300000, 64MB or 1.5GiB, found {text!r}")
    return size


def parse_percent(text: str) -> float:
    """Read a percentage such as `10%` or `10` in per cent; UsageError for anything else."""
    match = PERCENT.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"expected a percentage such as 10%, found {text!r}")
    return float(match[1])


def _weight(number: str) -> float | None:
    """A weight above zero, None for what is no such number."""
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", number):
        return None
    return float(number) or None
