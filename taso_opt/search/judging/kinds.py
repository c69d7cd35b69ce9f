"""Which kind of random inputs a model's outputs say something on.

A detector of text finds none in plain noise: what it gives is zero but for the last digits of a sigmoid, which the
runtime's own optimizations change. Equal outputs would prove nothing there, and unequal ones neither.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile

from taso_opt.errors import TasoError
from taso_opt.onnx_io import Model, computes_in_singles, seeded
from taso_opt.runtime import RunSettings, RuntimeProcess, compare_outputs, run_feeds, sensitivity, yardstick
from taso_opt.runtime.inputs import Array
from taso_opt.search.judging.feeds import KINDS, NOISE, sample_feeds
from taso_opt.search.judging.samples import Sample

ENOUGH = 2
"""How many sets of inputs of a kind are tried."""

TRIAL_LIMIT_S = 30.0
"""For running a model on inputs of one kind."""

PATIENCE_S = 10.0
"""After that no further kind is tried."""

OF_ANOTHER_KIND = "on plain noise the outputs say nothing: the models were compared on {}"


def telling_kind(
    process: RuntimeProcess,
    model: Model,
    samples: Sequence[Sample],
    settings: RunSettings,
) -> str:
    """The first kind of random inputs on which the outputs react and do not hang on the runtime's optimizations.

    Noise where there is none, where no float is drawn, where the model draws random numbers itself, and where it does
    not run.
    """
    drawn = [entry for entry in model.inputs if entry.dtype.startswith("float")]
    if all(entry.name in sample for entry in drawn for sample in samples or ({},)) or seeded(model.proto) is not None:
        return NOISE
    started = time.monotonic()
    in_time = takewhile(lambda _: time.monotonic() - started < PATIENCE_S, KINDS)
    with suppress(TasoError):
        return next((kind for kind in in_time if _tells(process, model, samples, settings, kind)), NOISE)
    return NOISE


def remark(kind: str) -> tuple[str, ...]:
    """What a user is told of the kind."""
    return () if kind == NOISE else (OF_ANOTHER_KIND.format(kind),)


def _tells(process: RuntimeProcess, model: Model, samples: Sequence[Sample], settings: RunSettings, kind: str) -> bool:
    feeds = sample_feeds(model.inputs, samples, settings.seed, ENOUGH, kind)[:ENOUGH]
    found = run_feeds(process, model.path, feeds, settings.judge, timeout_s=TRIAL_LIMIT_S)
    if not _react(found):
        return False
    singles = computes_in_singles(model.proto)
    plain = run_feeds(process, model.path, feeds, settings.judge, "none", TRIAL_LIMIT_S)
    return all(_is_the_same(*outputs, singles) for outputs in zip(found, plain, strict=True))


def _react(runs: Sequence[Sequence[Array]]) -> bool:
    """Whether every output of floats differs between two sets of inputs."""
    first, last = runs[0], runs[-1]
    if len(first) != len(last):  # sequences of other lengths
        return True
    found = sensitivity(first, last)
    return all(one.reacts or array.dtype.kind != "f" for one, array in zip(found, first, strict=True))


def _is_the_same(optimized: Sequence[Array], plain: Sequence[Array], singles: bool) -> bool:
    """Whether outputs with all and with no optimizations of the runtime are as near as those of a rewriting must be."""
    return compare_outputs(optimized, plain, yardstick(optimized, plain, singles)).agrees
