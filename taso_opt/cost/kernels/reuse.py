"""What reading weights costs in one graph beyond what it costs in another, by how far away they lie when they are read.

A product of one row waits for its weights, and these come from the nearest cache that still has them. Which one that
is depends on the bytes of other weights that were read since the same weights were read last: the reuse distance
(Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal, 1970). A unit's cost is measured
with copies that have one distance for all. Where a plan makes weights of its own for a few places only, they lie
farther away than that, and where steps in turn share fewer weights they lie nearer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log2
from typing import NamedTuple

import numpy as np

from taso_opt.core.term import Term

Packed = tuple[Term, frozenset[str]]
"""Weights and the kind of kernel that they are packed for, as the operators that it computes."""


class Read(NamedTuple):
    """Weights that a kernel waits for, and their size in bytes.

    The runtime packs weights when it loads a model, once for each kind of kernel: `weights` says for which.
    """

    weights: Packed
    size: int


@dataclass(frozen=True)
class ReadTimes:
    """Seconds for each byte of weights by their reuse distance in bytes, from measured points, nearest first."""

    points: tuple[tuple[int, float], ...]

    def per_byte(self, distance: int) -> float:
        """Seconds for each byte at a distance: between two points by the logarithm, never less than nearer by."""
        distances, seconds = zip(*self.points, strict=True)
        rising = np.maximum.accumulate(seconds)
        return float(np.interp(log2(max(distance, 1)), np.log2(distances), rising))


class Reading(NamedTuple):
    """A kernel that waits for weights: what it took when there lay `reach` bytes from one read of them to the next."""

    reads: Sequence[Read]
    seconds: float
    reach: int


def excess_seconds(readings: Sequence[Reading], bounds: tuple[int, int], times: Callable[[], ReadTimes]) -> float:
    """What the kernels of a graph, in their order, take beyond what they took when they were measured.

    Distances outside of the bounds, the nearest and the farthest that are told apart, count as these; `times` is asked
    only where some distance is another than when it was measured. No kernel gets shorter by more than if reading were
    all that it does.
    """
    nearest, farthest = bounds
    reads = [read for one in readings for read in one.reads]
    distances = [max(nearest, distance) for distance in reuse_distances(reads, farthest)]
    reaches = [min(max(nearest, one.reach), farthest) for one in readings for _ in one.reads]
    if distances == reaches:
        return 0.0
    per_byte = {distance: times().per_byte(distance) for distance in {*distances, *reaches}}
    places = zip(reads, distances, reaches, strict=True)
    total = 0.0
    for one in readings:
        now = then = 0.0
        for read, distance, reach in islice(places, len(one.reads)):
            now += read.size * per_byte[distance]
            then += read.size * per_byte[reach]
        total += now - then if now >= then else max(now - then, one.seconds * (now / then - 1))
    return total


def reuse_distances(reads: Sequence[Read], farthest: int) -> list[int]:
    """For each read the bytes of different weights read from its weights' last read to itself, these included.

    A graph runs over and over, so the first read of some weights follows their last one in the run before. Distances
    of at least `farthest` are not told apart.
    """
    sizes = dict(reads)
    total = min(sum(sizes.values()), farthest)
    times_read: dict[Packed, int] = {}
    for read in reads:
        times_read[read.weights] = times_read.get(read.weights, 0) + 1
    recent: dict[Packed, None] = {}
    for read in reads:  # the run before
        recent.pop(read.weights, None)
        recent[read.weights] = None
    found = []
    for read in reads:
        found.append(total if times_read[read.weights] == 1 else _since(read.weights, recent, sizes, farthest))
        del recent[read.weights]
        recent[read.weights] = None
    return found


def _since(weights: Packed, recent: dict[Packed, None], sizes: dict[Packed, int], farthest: int) -> int:
    distance = 0
    for other in reversed(recent):
        distance += sizes[other]
        if other == weights or distance >= farthest:
            break
    return min(distance, farthest)
