"""Lays out a small drawn graph in layers, inputs above, outputs below, for an inline SVG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from taso_opt.report.evidence import Drawing, DrawnNode

CHARACTER = 7.3
"""Pixels that a character of the drawing's font takes."""

LONGEST_LABEL, LONGEST_DETAIL = 26, 34
PADDING, MARGIN = 10.0, 6.0
GAP_X, GAP_Y = 14.0, 30.0
HEIGHT_ONE, HEIGHT_TWO = 24.0, 38.0
LEAST_WIDTH = 48.0
SWEEPS = 4


@dataclass(frozen=True)
class Box:
    """A node with its place in pixels; `label` and `detail` are shortened to fit, the node has them whole."""

    node: DrawnNode
    x: float
    y: float
    width: float
    height: float
    label: str
    detail: str
    is_output: bool

    @property
    def middle(self) -> float:
        """Where edges start and end."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Edge:
    """A curve from the lower side of an operand to the upper side of what uses it."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def path(self) -> str:
        """The curve as SVG writes it."""
        bend = (self.y2 - self.y1) / 2
        return (
            f"M{self.x1:.1f} {self.y1:.1f} C{self.x1:.1f} {self.y1 + bend:.1f} "
            f"{self.x2:.1f} {self.y2 - bend:.1f} {self.x2:.1f} {self.y2:.1f}"
        )


@dataclass(frozen=True)
class Placed:
    """A drawing with all places, in a picture of this size."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]


def place(drawing: Drawing) -> Placed:
    """Put every node in the layer below its operands, and order the layers so that few edges cross."""
    layers = _ordered(drawing, _layers(drawing))
    widths = [_width(node) for node in drawing.nodes]
    heights = [HEIGHT_TWO if node.detail else HEIGHT_ONE for node in drawing.nodes]
    total = max(sum(widths[at] for at in layer) + GAP_X * (len(layer) - 1) for layer in layers)
    boxes: dict[int, Box] = {}
    top = MARGIN
    for layer in layers:
        tallest = max(heights[at] for at in layer)
        left = MARGIN + (total - sum(widths[at] for at in layer) - GAP_X * (len(layer) - 1)) / 2
        for at in layer:
            upper = top + (tallest - heights[at]) / 2
            boxes[at] = _box(drawing, at, left, upper, widths[at], heights[at])
            left += widths[at] + GAP_X
        top += tallest + GAP_Y
    edges = [_edge(boxes[operand], boxes[at]) for at in boxes for operand in drawing.nodes[at].operands]
    return Placed(total + 2 * MARGIN, top - GAP_Y + MARGIN, tuple(boxes[at] for at in sorted(boxes)), tuple(edges))


def cut(text: str, longest: int) -> str:
    """A text with its end left out where it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def shortened(text: str, longest: int = LONGEST_LABEL) -> str:
    """A text with its middle left out where it is too long: the ends of names tell them apart."""
    if len(text) <= longest:
        return text
    tail = longest // 2
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def _layers(drawing: Drawing) -> list[int]:
    """The layer of each node: one below the lowest operand; what has no operands stands right above its first use."""
    depth: list[int] = []
    for node in drawing.nodes:
        depth.append(1 + max((depth[operand] for operand in node.operands), default=-1))
    uses: dict[int, list[int]] = defaultdict(list)
    for at, node in enumerate(drawing.nodes):
        for operand in node.operands:
            uses[operand].append(depth[at])
    return [_layer(node, depth, at, uses[at]) for at, node in enumerate(drawing.nodes)]


def _layer(node: DrawnNode, depth: Sequence[int], at: int, uses: Sequence[int]) -> int:
    if node.operands:
        return depth[at]
    if uses:
        return min(uses) - 1
    return max(depth) if node.kind == "more" else depth[at]  # what stands for more outputs stands beside the others


def _ordered(drawing: Drawing, depth: list[int]) -> list[list[int]]:
    """The nodes of each layer from left to right, by the middle of their neighbours (Sugiyama's heuristic)."""
    layers = [[at for at, level in enumerate(depth) if level == wanted] for wanted in sorted(set(depth))]
    neighbours: dict[int, list[int]] = defaultdict(list)
    for at, node in enumerate(drawing.nodes):
        for operand in node.operands:
            neighbours[at].append(operand)
            neighbours[operand].append(at)
    place = {at: (column + 0.5) / len(layer) for layer in layers for column, at in enumerate(layer)}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=lambda at: _mean([place[other] for other in neighbours[at]], place[at]))
            place.update({at: (column + 0.5) / len(layer) for column, at in enumerate(layer)})
    return layers


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _width(node: DrawnNode) -> float:
    longest: float = max(len(shortened(node.label)), len(cut(node.detail, LONGEST_DETAIL)) * 0.85)
    return max(LEAST_WIDTH, longest * CHARACTER + 2 * PADDING)


def _box(drawing: Drawing, at: int, x: float, y: float, width: float, height: float) -> Box:
    node = drawing.nodes[at]
    return Box(
        node, x, y, width, height, shortened(node.label), cut(node.detail, LONGEST_DETAIL), at in drawing.outputs
    )


def _edge(operand: Box, user: Box) -> Edge:
    return Edge(operand.middle, operand.y + operand.height, user.middle, user.y)
