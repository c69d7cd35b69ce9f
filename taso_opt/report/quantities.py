"""How reports spell quantities: times, and what an objective may be about."""

from __future__ import annotations

OBJECTIVES = {
    "flops": "floating-point operations",
    "launches": "kernel launches",
    "memory": "peak memory (estimate)",
    "weights": "weights",
}
"""Their names for people; latency is reported with its noise instead."""


SHORT_MS = 0.1
"""Milliseconds below which a time is told in microseconds."""


def duration(ms: float) -> str:
    """A time as people read it: `2.447 ms`, `8.12 µs`, `0`."""
    if ms == 0:
        return "0"
    return f"{ms:.3f} ms" if ms >= SHORT_MS else f"{ms * 1e3:.2f} µs"


def duration_with_spread(ms: float, spread: float) -> str:
    """A time and how far its samples spread, in one unit: `2.447 ms ± 0.077`."""
    return f"{duration(ms)} ± {spread:.3f}" if ms >= SHORT_MS else f"{duration(ms)} ± {spread * 1e3:.2f}"


def times(ratio: float) -> str:
    """How many times as fast something is: `1.63`, with a third digit where two would say that nothing changes."""
    return f"{ratio:.3f}" if f"{ratio:.2f}" == "1.00" else f"{ratio:.2f}"


def saving(ms: float) -> str:
    """How much time a change saves, below zero where it costs time: `+0.125 ms`, `-8.12 µs`."""
    if abs(ms) >= SHORT_MS:
        return f"{ms:+.3f} ms"
    return f"{round(ms * 1e3, 2) or 0.0:+.2f} µs"


def amount(value: float, quantity: str) -> str:
    """A quantity of an objective as people read it."""
    if quantity in ("memory", "weights"):
        return f"{value / 1e6:.3f} MB"
    return f"{value / 1e6:.3f} million" if quantity == "flops" else f"{value:.0f}"
