"""How reports spell the quantities that an objective may be about."""

from __future__ import annotations

OBJECTIVES = {
    "flops": "floating-point operations",
    "launches": "kernel launches",
    "memory": "peak memory (estimate)",
    "weights": "weights",
}
"""Their names for people; latency is reported with its noise instead."""


def amount(value: float, quantity: str) -> str:
    """A quantity of an objective as people read it."""
    if quantity in ("memory", "weights"):
        return f"{value / 1e6:.3f} MB"
    return f"{value / 1e6:.3f} million" if quantity == "flops" else f"{value:.0f}"
