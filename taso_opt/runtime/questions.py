"""The questions that the rest of the package asks the runtime's child process, one function each.

All raise UnsupportedError where the runtime or the device is missing, and RuntimeFailure where the runtime refuses a
model, crashes or overruns its limit.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from taso_opt.errors import RuntimeFailure
from taso_opt.onnx_io import Tidied
from taso_opt.runtime.client import RuntimeProcess
from taso_opt.runtime.inputs import Array, InputSpec
from taso_opt.runtime.requests import (
    DEFAULT_PLAN,
    CompareLatency,
    Describe,
    FindSizes,
    MeasureItem,
    MeasureMany,
    MeasurePlan,
    Model,
    Probe,
    RunDoubles,
    RunOutputs,
    Tidy,
)
from taso_opt.runtime.results import Failed, LatencyComparison, Measured, ModelDescription
from taso_opt.runtime.settings import ONE_CPU_THREAD, ONNXRUNTIME, RunSettings, RuntimeInfo

LOAD_LIMIT_S = 120.0
RUN_LIMIT_S = 600.0
TIDY_LIMIT_S = 60.0
SESSIONS_WITH_THREADS = 8
SESSIONS_ON_GPU = 16  # each takes 150 MB there, whatever its model
BATCH_LIMIT_S, ITEM_LIMIT_S, ITEM_ON_GPU_LIMIT_S = 20.0, 1.0, 10.0
"""How long a batch may take, and for each of its models beyond that, beside the time for samples: on a GPU algorithms
are tried out for each convolution before its first run."""

Progress = Callable[[int, int], None]


def probe(process: RuntimeProcess, runtime: str = ONNXRUNTIME) -> RuntimeInfo:
    """Which ONNX Runtime this is, which providers really answer, the newest IR version and opset that it loads.

    With another `runtime`, which is to measure, also the version of that one, which is imported for it.
    """
    return cast(RuntimeInfo, process.request(Probe(runtime), LOAD_LIMIT_S))


def describe(
    process: RuntimeProcess, model: Model, settings: RunSettings = ONE_CPU_THREAD, optimization: str = "none"
) -> ModelDescription:
    """Inputs and outputs of a model as the runtime sees them."""
    return cast(ModelDescription, process.request(Describe(model, settings, optimization), LOAD_LIMIT_S))


def tidy(process: RuntimeProcess, model: str | Path, timeout_s: float = TIDY_LIMIT_S) -> Tidied | None:
    """A model file cleaned up, None where nothing is to be cleaned; UnsupportedError also where the library fails."""
    return cast(Tidied | None, process.request(Tidy(model), timeout_s))


def run_outputs(
    process: RuntimeProcess,
    model: Model,
    inputs: Mapping[str, Array],
    settings: RunSettings = ONE_CPU_THREAD,
    optimization: str = "all",
    timeout_s: float = RUN_LIMIT_S,
) -> list[Array]:
    """The model's outputs on one set of inputs, in the model's order; sequences and maps are flattened."""
    return run_feeds(process, model, [inputs], settings, optimization, timeout_s)[0]


def run_feeds(
    process: RuntimeProcess,
    model: Model,
    feeds: Sequence[Mapping[str, Array]],
    settings: RunSettings = ONE_CPU_THREAD,
    optimization: str = "all",
    timeout_s: float = RUN_LIMIT_S,
) -> list[list[Array]]:
    """The model's outputs on several sets of inputs from one session, which saves loading it again."""
    request = RunOutputs(model, tuple(feeds), optimization, settings)
    return cast(list[list[Array]], process.request(request, timeout_s))


def find_sizes(
    process: RuntimeProcess,
    model: Model,
    candidates: Sequence[tuple[InputSpec, ...]],
    settings: RunSettings = ONE_CPU_THREAD,
) -> int | None:
    """The number of the first of several sets of input shapes that the model runs on; None if there is none in time."""
    request = FindSizes(model, tuple(candidates), settings)
    return cast(int | None, process.request(request, request.limit_s + LOAD_LIMIT_S))


def run_in_doubles(
    process: RuntimeProcess,
    model: str | Path,
    feeds: Sequence[Mapping[str, Array]],
    settings: RunSettings = ONE_CPU_THREAD,
    timeout_s: float = RUN_LIMIT_S,
) -> list[list[Array]]:
    """The outputs of a model file on several sets of inputs as they are when all is computed in float64.

    The runtime computes them where it has kernels for that, else ONNX's reference implementation. Raises
    UnsupportedError also for a model that cannot be copied in float64.
    """
    request = RunDoubles(model, tuple(feeds), settings)
    return cast(list[list[Array]], process.request(request, timeout_s))


def compare_latency(process: RuntimeProcess, request: CompareLatency, grace_s: float = 120.0) -> LatencyComparison:
    """Candidates against the original with an A/A control (see requests.CompareLatency and results).

    The measurement stops by itself at the request's time limit; the child is ended `grace_s` seconds later, which
    leaves room for loading large models and for the rounds that are always done.
    """
    return cast(LatencyComparison, process.request(request, request.time_limit_s + grace_s))


def measure_many(
    process: RuntimeProcess,
    items: Sequence[MeasureItem],
    settings: RunSettings = ONE_CPU_THREAD,
    plan: MeasurePlan = DEFAULT_PLAN,
    optimization: str = "all",
    progress: Progress | None = None,
    beside: MeasureItem | None = None,
) -> dict[str, Measured]:
    """Seconds of one run for each key, in the order of the items; or Failed with the reason, or Absent.

    Items go to the child in random batches (by the seed of the settings). Where a batch crashes or hangs the child, its
    members are measured one at a time, so that only the guilty one fails. `progress` is called with the numbers done
    and in all after each batch. The model `beside` is timed in every batch (see Timing). Keys must differ. Raises
    UnsupportedError only.
    """
    assert len({item.key for item in items}) == len(items), "expected different keys"
    start = time.monotonic()
    results: dict[str, Measured] = {}
    for batch in _batches(_shuffled(items, settings.seed), settings, plan):
        if plan.total_s is not None and time.monotonic() - start >= plan.total_s:
            results.update((item.key, Failed("not measured: the time for measuring is used up")) for item in batch)
        else:
            request = MeasureMany(tuple(batch), plan, optimization, settings, beside)
            results.update(_measure_batch(process, request))
        if progress is not None:
            progress(len(results), len(items))
    return {item.key: results[item.key] for item in items}


def _shuffled(items: Sequence[MeasureItem], seed: int) -> list[MeasureItem]:
    return [items[place] for place in np.random.default_rng(seed).permutation(len(items))]


def _batches(items: Sequence[MeasureItem], settings: RunSettings, plan: MeasurePlan) -> Iterator[list[MeasureItem]]:
    """Consecutive items, as many as may live at once in one child."""
    most = plan.batch_size if settings.threads == 1 else min(plan.batch_size, SESSIONS_WITH_THREADS)
    most = min(most, SESSIONS_ON_GPU) if settings.on_gpu else most
    batch: list[MeasureItem] = []
    used = 0
    for item in items:
        size = item.weight_bytes + item.value_bytes + (len(item.model) if isinstance(item.model, bytes) else 0)
        if batch and (len(batch) >= most or used + size > plan.batch_bytes):
            yield batch
            batch, used = [], 0
        batch.append(item)
        used += size
    if batch:
        yield batch


def _measure_batch(process: RuntimeProcess, request: MeasureMany) -> dict[str, Measured]:
    item_s = ITEM_ON_GPU_LIMIT_S if request.settings.on_gpu else ITEM_LIMIT_S
    timeout_s = BATCH_LIMIT_S + len(request.items) * (item_s + 2.0 * request.plan.model_s)
    try:
        return cast(dict[str, Measured], process.request(request, timeout_s))
    except RuntimeFailure as error:
        if len(request.items) == 1:
            return {request.items[0].key: Failed(str(error))}
    results: dict[str, Measured] = {}
    for item in request.items:
        results.update(_measure_batch(process, replace(request, items=(item,))))
    return results
