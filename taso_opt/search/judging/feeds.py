"""The inputs on which a rewritten model is compared with the original: seeded random ones, or the user's samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from taso_opt.onnx_io import ModelInput
from taso_opt.runtime import InputSpec, random_inputs
from taso_opt.runtime.inputs import Array
from taso_opt.search.judging.samples import Sample

SEEDS = 3
TIMING_SEEDS = 64
TIMING_BYTES = 32 << 20
"""So many sets of inputs are timed in turn, as far as they fit into so many bytes."""

NUDGE = 0.05
"""By how much of itself an input moves to see whether the outputs follow."""

TREMBLE = 2.0**-20
"""By how much of itself an input moves to see what rounding changes: the last few of the digits of float32."""

PATCH = 16
"""How many neighbours along each of the last two axes are equal in patches."""


def _patches(noise: Array) -> Array:
    for axis in range(max(noise.ndim - 2, 0), noise.ndim):
        at = np.arange(noise.shape[axis]) // PATCH
        noise = np.take(noise, at, axis)
    return noise


NOISE = "noise"
KINDS: Mapping[str, Callable[[Array], Array]] = {
    NOISE: lambda noise: noise,
    "patches of noise": _patches,
    "loud noise": lambda noise: noise * 4,
    "faint noise": lambda noise: noise / 4,
    "noise between 0 and 1": lambda noise: np.exp(-abs(noise)),
}
"""Kinds of random floats, made of normal ones; the first is what a model gets unless its outputs say nothing there."""


def timing_feeds(
    inputs: Sequence[ModelInput], samples: Sequence[Sample], seed: int, given_bytes: int = 0
) -> tuple[Sample, ...]:
    """Sets of inputs for the timing: as `sample_feeds`, but more of them where they are light.

    With each set the results of so many bytes are kept that a model gives for it.
    """
    (first, *_) = sample_feeds(inputs, samples[:1], seed, 1)
    each = given_bytes + sum(array.nbytes for array in first.values())
    draws = max(1, min(TIMING_SEEDS, TIMING_BYTES // max(each, 1)))
    return tuple(sample_feeds(inputs, samples, seed, draws)[:draws])


def sample_feeds(
    inputs: Sequence[ModelInput], samples: Sequence[Sample], seed: int, draws: int = SEEDS, kind: str = NOISE
) -> list[Sample]:
    """Sets of inputs for the comparison.

    Random ones are drawn at the bound shapes of the inputs, each set with a seed of its own, floats as one of the KINDS
    has them; what the samples give takes their place, sample by sample, and again from the first one where there are
    fewer samples than draws. Samples that give everything are taken as they are. Raises UnsupportedError for an input
    that cannot be drawn at random.
    """
    wanted = {entry.name for entry in inputs}
    complete = bool(samples) and all(wanted <= set(sample) for sample in samples)
    draws = len(samples) if complete else max(draws, len(samples))
    return [_drawn(inputs, samples[draw % len(samples)] if samples else {}, seed + draw, kind) for draw in range(draws)]


def other_sizes(inputs: Sequence[ModelInput]) -> Iterator[list[ModelInput]]:
    """The inputs with every size that the model leaves open one larger, then only those of the first axes.

    Equal names keep equal sizes; none where nothing is open.
    """
    for axes in (None, 1):
        changed = [_larger(entry, axes) for entry in inputs]
        if changed != list(inputs):
            yield changed


def _larger(entry: ModelInput, axes: int | None) -> ModelInput:
    if entry.bound is None:
        return entry
    open_axes = [not isinstance(dim, int) and (axes is None or at < axes) for at, dim in enumerate(entry.shape)]
    return replace(entry, bound=tuple(size + grows for size, grows in zip(entry.bound, open_axes, strict=True)))


def nudged(feed: Mapping[str, Array], seed: int, share: float = NUDGE) -> dict[str, Array] | None:
    """The same inputs with every floating-point number moved by a share of itself; None where there is none."""
    generator = np.random.default_rng([seed, len(feed)])
    if not any(array.dtype.kind == "f" and array.size for array in feed.values()):
        return None
    moved = {}
    for name, array in feed.items():
        if array.dtype.kind == "f":
            factor = 1 + share * generator.choice([-1.0, 1.0], array.shape)
            with np.errstate(over="ignore"):
                moved[name] = np.asarray(array * factor, array.dtype)
        else:
            moved[name] = array
    return moved


def _drawn(inputs: Sequence[ModelInput], sample: Sample, seed: int, kind: str) -> Mapping[str, Array]:
    specs = [
        input_spec(entry, entry.shape if entry.bound is None else entry.bound)
        for entry in inputs
        if entry.name not in sample
    ]
    return {**{name: _of_kind(kind, array) for name, array in random_inputs(specs, seed).items()}, **sample}


def input_spec(entry: ModelInput, shape: tuple[int | str | None, ...]) -> InputSpec:
    """What is drawn at random for an input, in some shape."""
    below = {} if entry.below is None else {"below": entry.below}
    return InputSpec(entry.name, entry.dtype, shape, **below)


def _of_kind(kind: str, array: Array) -> Array:
    return KINDS[kind](array).astype(array.dtype, copy=False) if array.dtype.kind == "f" else array
