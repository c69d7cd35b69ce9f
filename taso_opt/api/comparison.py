"""Compares two models: the same outputs, and which one is faster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from taso_opt.api.reporting.summary import measured_latency, measured_speedup
from taso_opt.api.session import BY_PARTS, Progress, obstacle, require_loadable, running, silent
from taso_opt.api.settings import CompareSettings
from taso_opt.api.sizes import assumption, at_sizes_that_run, given_bytes, read_with_samples
from taso_opt.core.machine.scratch import scratch_folder
from taso_opt.errors import RuntimeFailure
from taso_opt.onnx_io import (
    Cutout,
    Model,
    computes_in_singles,
    cut_out,
    needs_libraries,
    read_model,
    save_atomically,
    seeded,
)
from taso_opt.report.record import Comparison
from taso_opt.runtime import (
    CompareLatency,
    Contestant,
    Failed,
    LatencyComparison,
    RuntimeProcess,
    compare_latency,
    require_runtime,
)
from taso_opt.search.judging.agreement import Agreement, agreement
from taso_opt.search.judging.feeds import sample_feeds, timing_feeds
from taso_opt.search.judging.kinds import remark, telling_kind
from taso_opt.spec import load_specs


def compare_files(
    first: str | Path, second: str | Path, settings: CompareSettings | None = None, progress: Progress | None = None
) -> Comparison:
    """Whether two models with the same inputs compute the same, and which is faster.

    Raises InvalidInputError for a model that cannot be read, UnsupportedError when the runtime cannot run here.
    """
    chosen, tell = settings or CompareSettings(), progress or silent
    require_runtime(chosen.runtime)
    tell("reading the models")
    reference, samples = read_with_samples(Path(first), chosen.dims, chosen.inputs)
    other = read_model(Path(second), load_specs(), chosen.dims)
    with RuntimeProcess() as process, scratch_folder() as folder:
        info, run = running(process, chosen)
        for model in (reference, other):
            require_loadable(model, info)
        reference = at_sizes_that_run(reference, chosen.dims, samples, process, run)
        kind = telling_kind(process, reference, samples, run)
        feeds = sample_feeds(reference.inputs, samples, chosen.seed, kind=kind)
        timing = timing_feeds(reference.inputs, samples, chosen.seed, given_bytes(reference))
        why = obstacle(reference, process, run) if needs_libraries(reference.proto) else ""
        if why:
            cut, paths = _cut_apart(reference, other, why, folder)
            feeds = sample_feeds(cut.inputs, cut.feeds(samples), chosen.seed)
            timing = timing_feeds(cut.inputs, cut.feeds(samples), chosen.seed, given_bytes(reference))
        else:
            paths = _seeded(reference, folder / "first.onnx"), _seeded(other, folder / "second.onnx")
        tell("comparing outputs")
        found = agreement(process, *paths, feeds, run, computes_in_singles(reference.proto))
        if found.failure:
            raise RuntimeFailure(found.failure)
        tell("timing both models")
        request = CompareLatency(paths[0], (paths[1],), timing, run, rounds=chosen.rounds)
        latency = compare_latency(process, request)
    (contestant,) = latency.candidates
    if isinstance(contestant, Failed):
        raise RuntimeFailure(contestant.reason)
    told = (*((f"{BY_PARTS}: {why}",) if why else ()), *assumption(reference, chosen.dims, samples), *remark(kind))
    answer = _answer(str(first), str(second), replace(found, warnings=(*told, *found.warnings)), latency, contestant)
    return replace(answer, timed_by=info.timed_by)


def _seeded(model: Model, file: Path) -> Path:
    """A file of the model in which every random operator has a seed, by its place among them; its own if all have."""
    proto = seeded(model.proto)
    if proto is None:
        return model.path
    save_atomically(proto, file, original=model.path, durable=False)
    return file


def _cut_apart(first: Model, second: Model, why: str, folder: Path) -> tuple[Cutout, tuple[Path, Path]]:
    """Files with what is left of both models without the nodes that no specification covers: the same in both."""
    cut = cut_out(first)
    if cut is None:
        raise RuntimeFailure(why)
    cut.require_the_same(first.proto, second.proto)
    paths = (folder / "first.onnx", folder / "second.onnx")
    for model, path in zip((first, second), paths, strict=True):
        save_atomically(cut.apply(model.proto), path, original=model.path, durable=False)
    return cut, paths


def _answer(
    first: str, second: str, found: Agreement, latency: LatencyComparison, contestant: Contestant
) -> Comparison:
    reasons = (*found.reasons, *found.elsewhere)
    return Comparison(
        first=first,
        second=second,
        agrees=not reasons,
        reasons=reasons,
        max_abs_error=found.max_abs,
        max_rel_error=found.max_rel,
        clock=latency.clock,
        latency_first=measured_latency(latency, latency.original),
        latency_second=measured_latency(latency, contestant.latency),
        speedup=measured_speedup(latency, contestant),
        warnings=found.warnings,
    )
