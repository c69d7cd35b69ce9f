"""The numbers behind the page's plots: scales, ticks, intervals and lines, in pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from taso_opt.report.evidence import Place, SearchPoint
from taso_opt.report.quantities import duration, duration_with_spread
from taso_opt.report.record import Record

WIDTH = 420.0
LEFT, RIGHT = 86.0, 18.0
ROW = 40.0
CHARACTER = 7.6
"""Pixels that a character takes in the figures above the points, in the larger font of narrow windows."""
LINE_HEIGHT = 200.0
LINE_TOP, LINE_BOTTOM = 12.0, 40.0
HEAT_BINS = 12
FEW_TICKS = 5


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Interval:
    """One row of an interval plot: a point between its ends."""

    label: str
    text: str
    y: float
    low: float
    middle: float
    high: float
    kind: str

    @property
    def text_at(self) -> float:
        """The middle of the figures above the point, moved to where all of them are inside."""
        half = CHARACTER * len(self.text) / 2
        return min(max(self.middle, LEFT + half), WIDTH - 4 - half)


@dataclass(frozen=True)
class IntervalPlot:
    """Rows over one axis; `unity` is where 1 lies on an axis of ratios."""

    width: float
    height: float
    rows: tuple[Interval, ...]
    ticks: tuple[Tick, ...]
    unit: str
    unity: float | None = None


@dataclass(frozen=True)
class LinePlot:
    """A falling staircase with axes to the left and below."""

    width: float
    height: float
    path: str
    points: tuple[tuple[float, float, str], ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    left: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Heat:
    """How often a rule was applied in each part of the model, and how strong that is against the most (0 to 1)."""

    counts: tuple[int, ...]
    shades: tuple[float, ...]


def latency_plot(record: Record) -> IntervalPlot | None:
    """Median milliseconds before and after with their spread; None when nothing was measured."""
    before, after = record.latency_before, record.latency_after
    if before is None or after is None:
        return None
    label = "after" if record.result == "improved" else "candidate"
    rows = [
        (name, duration_with_spread(found.median_ms, found.spread_ms), found.median_ms, found.spread_ms, kind)
        for name, found, kind in (("before", before, "before"), (label, after, "after"))
    ]
    scale = _Scale(0.0, max(middle + spread for _, _, middle, spread, _ in rows))
    placed = [
        Interval(name, text, _row(at), scale(max(0.0, middle - spread)), scale(middle), scale(middle + spread), kind)
        for at, (name, text, middle, spread, kind) in enumerate(rows)
    ]
    return IntervalPlot(WIDTH, _row(len(rows)) + 28, tuple(placed), scale.ticks(), "ms")


def ratio_plot(record: Record) -> IntervalPlot | None:
    """The speed-up and its A/A control with their 95% intervals; None when nothing was measured."""
    found = record.speedup
    if found is None:
        return None
    rows = (
        ("speed-up", found.ratio, found.low, found.high, "after"),
        ("A/A control", found.control, found.control_low, found.control_high, "before"),
    )
    low, high = min(1.0, *(row[2] for row in rows)), max(1.0, *(row[3] for row in rows))
    margin = max(0.02, 0.08 * (high - low))
    scale = _Scale(low - margin, high + margin)
    placed = [
        Interval(name, f"{middle:.3f} ({a:.3f} to {b:.3f})", _row(at), scale(a), scale(middle), scale(b), kind)
        for at, (name, middle, a, b, kind) in enumerate(rows)
    ]
    return IntervalPlot(WIDTH, _row(len(rows)) + 28, tuple(placed), scale.ticks(), "times as fast", scale(1.0))


def progress_plot(points: Sequence[SearchPoint]) -> LinePlot | None:
    """The best predicted cost against the graphs explored; None when the search went nowhere."""
    if len(points) < 2 or points[-1].explored <= 1:
        return None
    costs = [point.best_ms for point in points if math.isfinite(point.best_ms)]
    if len(costs) != len(points):
        return None
    margin = max(0.1 * (costs[0] - costs[-1]), 0.01 * costs[0])
    x = _Scale(0.0, float(points[-1].explored))
    y = _Scale(max(0.0, costs[-1] - margin), costs[0] + margin, LINE_HEIGHT - LINE_BOTTOM, LINE_TOP)
    places = [(x(point.explored), y(point.best_ms)) for point in points]
    path = f"M{places[0][0]:.1f} {places[0][1]:.1f}" + "".join(f" H{a:.1f} V{b:.1f}" for a, b in places[1:])
    marks = tuple(
        (a, b, f"{duration(point.best_ms)} after {point.explored} graphs, {point.seconds:.1f} s")
        for (a, b), point in zip(places, points, strict=True)
    )
    x_ticks = tuple(tick for tick in x.ticks() if "." not in tick.label)
    return LinePlot(WIDTH, LINE_HEIGHT, path, marks, x_ticks, y.ticks(), LEFT, WIDTH - RIGHT, LINE_HEIGHT - LINE_BOTTOM)


def heat_map(places: Sequence[Place]) -> dict[str, Heat]:
    """For each rule how often it was applied from the inputs to the outputs (after Figure 2.10 of the paper)."""
    counts: dict[str, list[int]] = {}
    for place in places:
        row = counts.setdefault(place.rule, [0] * HEAT_BINS)
        row[min(HEAT_BINS - 1, int(place.position * HEAT_BINS))] += 1
    most = max((count for row in counts.values() for count in row), default=1)
    return {rule: Heat(tuple(row), tuple(count / most for count in row)) for rule, row in counts.items()}


class _Scale:
    """Maps values to pixels along one axis."""

    def __init__(self, low: float, high: float, start: float = LEFT, end: float = WIDTH - RIGHT) -> None:
        self._low, self._high = low, high if high > low else low + 1.0
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> tuple[Tick, ...]:
        """Round values within the scale."""
        step = _round_step((self._high - self._low) / FEW_TICKS)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first = math.ceil(self._low / step - 1e-9)
        last = math.floor(self._high / step + 1e-9)
        return tuple(Tick(self(at * step), f"{at * step:.{digits}f}") for at in range(first, last + 1))


def _round_step(rough: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))


def _row(at: int) -> float:
    return 14 + ROW * (at + 0.5)
