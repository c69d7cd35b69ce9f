"""Forecasts of series by linear layers.

dlinear (Zeng et al., "Are Transformers Effective for Time Series Forecasting?", AAAI 2023): input [8, 336, 7], so many
    steps of so many series; the trend is the mean over 25 steps, where the first and the last step stand for those that
    lie beyond; a linear layer of the trend and one of what remains, from 336 to 96 steps, added up: [8, 96, 7].
Deviation 1/sqrt(fan-in), biases 0.1.
"""

import onnx

from .builder import GraphBuilder, linear

LAST = 2**31 - 1


def dlinear(batch: int = 8, steps: int = 336, ahead: int = 96, series: int = 7, window: int = 25) -> onnx.ModelProto:
    """A linear forecast of trend and remainder; output [batch, ahead, series]."""
    b = GraphBuilder("dlinear")
    x = b.graph_input("series", (batch, steps, series))
    before, behind = (_repeated(b, x, start, end, window // 2) for start, end in ((0, 1), (-1, LAST)))
    lines = _turned(b, b.node("Concat", before, x, behind, axis=1))
    trend = _turned(b, b.node("AveragePool", lines, kernel_shape=[window], strides=[1]))
    rest = b.node("Sub", x, trend)
    parts = [linear(b, _turned(b, part), steps, ahead) for part in (rest, trend)]
    b.graph_output(_turned(b, b.node("Add", *parts)), (batch, ahead, series))
    return b.build()


def _turned(b: GraphBuilder, value: str) -> str:
    """Steps behind series, or the other way round."""
    return b.node("Transpose", value, perm=[0, 2, 1])


def _repeated(b: GraphBuilder, value: str, start: int, end: int, times: int) -> str:
    """One of the steps so many times, as exporters write `repeat`."""
    step = b.node("Slice", value, b.integers([start]), b.integers([end]), b.integers([1]))
    return b.node("Tile", step, b.integers([1, times, 1]))
