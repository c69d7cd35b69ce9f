"""What the runtime's child process answers: plain records of times, ratios and failures."""

import math
from dataclasses import dataclass

from taso_opt.runtime.inputs import InputSpec


@dataclass(frozen=True)
class ModelDescription:
    """Inputs (without overridable initializers) and outputs of a model, as the runtime sees them."""

    inputs: tuple[InputSpec, ...]
    outputs: tuple[InputSpec, ...]


@dataclass(frozen=True)
class Timing:
    """Seconds of one run: median of `samples` samples, and their spread (1.4826 * median absolute deviation).

    `quiet_s` is the lower quartile: what disturbs a kernel only adds to its time, so that it repeats better. `beside_s`
    is that of the model that was timed beside it in the same rounds, where there was one. `layouts` are those of the
    inputs and outputs where only a part of a model was timed (see onnx_io.blocked).
    """

    median_s: float
    spread_s: float
    samples: int
    quiet_s: float
    beside_s: float | None = None
    layouts: str = ""

    @property
    def median_ms(self) -> float:
        """The median in milliseconds."""
        return self.median_s * 1e3

    @property
    def spread_ms(self) -> float:
        """The spread in milliseconds."""
        return self.spread_s * 1e3


@dataclass(frozen=True)
class Failed:
    """A model that could not be measured, and why, in one sentence."""

    reason: str


@dataclass(frozen=True)
class Absent:
    """The runtime makes nothing of a model that the part to be timed could be."""


Measured = Timing | Failed | Absent


@dataclass(frozen=True)
class Ratio:
    """Time of the original divided by time of the other, with its 95% interval; above 1 the other is faster."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Latency:
    """One model's time on both clocks: that of the processor (see sampling.py), and wall."""

    cpu: Timing
    wall: Timing


@dataclass(frozen=True)
class Contestant:
    """A model measured against the original, paired round by round, as it is and divided by the control's ratio."""

    latency: Latency
    cpu_ratio: Ratio
    wall_ratio: Ratio
    cpu_speedup: Ratio
    wall_speedup: Ratio


@dataclass(frozen=True)
class LatencyComparison:
    """Candidates against the original, with an A/A control: a second session of the original treated as a candidate.

    `clock` names the clock that decides: 'cpu' at one thread on the CPU, otherwise 'wall'. `rounds` and `recreations`
    are those really done, which a time limit may have cut. `candidates` keeps the order of the request.
    """

    clock: str
    original: Latency
    control: Contestant
    candidates: tuple[Contestant | Failed, ...]
    rounds: int
    recreations: int

    def ratio(self, contestant: Contestant) -> Ratio:
        """The contestant's ratio on the clock that decides."""
        return contestant.cpu_ratio if self.clock == "cpu" else contestant.wall_ratio

    def timing(self, latency: Latency) -> Timing:
        """The timing on the clock that decides."""
        return latency.cpu if self.clock == "cpu" else latency.wall

    @property
    def noise(self) -> float:
        """The factor (>= 1) that the original gains or loses against itself: the far end of the control's interval."""
        control = self.ratio(self.control)
        return math.exp(max(abs(math.log(control.low)), abs(math.log(control.high))))

    def speedup(self, contestant: Contestant) -> Ratio:
        """The ratio divided by the control's ratio, which takes out what the original's own session was off."""
        return contestant.cpu_speedup if self.clock == "cpu" else contestant.wall_speedup

    def corrected(self, contestant: Contestant) -> float:
        """The value of the speed-up."""
        return self.speedup(contestant).value

    def is_ahead(self, contestant: Contestant) -> bool:
        """Whether the whole interval lies above 1 and the speed-up exceeds the noise of the control."""
        return self.speedup(contestant).low > 1.0 and self.corrected(contestant) > self.noise
