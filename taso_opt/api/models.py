"""Functions on models, for scripts and notebooks: keyword options, files or models in memory, progress to the log."""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import numpy as np

from taso_opt.api.comparison import compare_files
from taso_opt.api.explanation import explain_node
from taso_opt.api.optimization import optimize_file
from taso_opt.api.result import Result
from taso_opt.api.session import Progress
from taso_opt.api.settings import CompareSettings, OptimizeSettings, Sizes, require_sound
from taso_opt.core.machine.scratch import scratch_folder
from taso_opt.core.rule import FpClass
from taso_opt.errors import MismatchError, UsageError
from taso_opt.onnx_io import ModelProto, load_model, model_in_memory, store_model
from taso_opt.report.explained import Explanation
from taso_opt.report.record import ARRAYS_IN_MEMORY, MODEL_IN_MEMORY, Comparison, Record
from taso_opt.runtime import ONNXRUNTIME
from taso_opt.runtime.inputs import Array

log = logging.getLogger("taso_opt")

ModelLike = str | Path | ModelProto
Samples = str | Path | Mapping[str, Array] | None
"""Inputs for the check: an .npz file, or arrays by the name of the input."""

_S = TypeVar("_S", OptimizeSettings, CompareSettings)


def optimize(
    model: ModelLike,
    *,
    output: str | Path | None = None,
    force: bool = False,
    rules: str | Path | None = None,
    device: str = "auto",
    cuda_options: Mapping[str, str] | None = None,
    runtime: str = ONNXRUNTIME,
    threads: int = 1,
    budget: float | None = None,
    alpha: float = 1.05,
    objective: str = "latency",
    memory_limit: int | None = None,
    max_size_growth: float | None = None,
    allow_slower: bool = False,
    fp_class: FpClass | str = FpClass.E3,
    dims: Mapping[str, Sizes] | None = None,
    inputs: Samples = None,
    seed: int = 0,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Find a faster equivalent of a model (a file or a ModelProto), proved, compared and measured on this machine.

    The result is in `Result.model`, the original where nothing was gained, and is written to `output` where that is
    given; `force` replaces a file there. What is used: the `rules` of a file in place of the shipped ones, up to the
    floating-point class `fp_class`; the `device` (auto, cpu or cuda) with so many `threads` (0: the runtime's choice)
    and on a GPU with the provider's options by name, `cuda_options`;
    the `runtime` (onnxruntime or openvino) in which the result is to be faster; for symbolic dims the sizes in `dims`;
    for the check and the timing the arrays in `inputs` by name, random ones of the `seed` for what is not there.

    The search takes at most `budget` seconds (40 for models that compute up to a thousand operators, more for larger
    ones) and passes through graphs up to `alpha` times as costly as the best. `objective` says what is to be small,
    within `memory_limit` bytes and with at most `max_size_growth` per cent of bytes added to the weights;
    `allow_slower` writes what is better by another objective even if it is slower. With `dry_run` it ends with the
    search. `progress` takes each line that says what is being done; without it they go to the log.

    Raises UsageError for wrong options, InvalidInputError for what is no model, UnsupportedError when no runtime can
    run here, MismatchError when a rewritten model computes something else; nothing is written then.
    """
    settings = OptimizeSettings(
        rules=_path("rules", rules), fp_class=_class(fp_class), dims={} if dims is None else dims, seed=seed
    )
    settings = replace(settings, force=force, device=device, runtime=runtime, threads=threads)
    settings = replace(settings, cuda_options={} if cuda_options is None else cuda_options)
    settings = replace(settings, budget=budget, alpha=alpha, objective=objective, allow_slower=allow_slower)
    settings = replace(settings, memory_limit=memory_limit, max_size_growth=max_size_growth, dry_run=dry_run)
    with _Scratch() as place:
        target = _path("output", output) or place.folder / "result.onnx"
        settings = replace(settings, output=target, inputs=place.samples(inputs))
        require_sound(settings)
        try:
            result = _optimized(place, model, settings, output, progress or _log)
        except MismatchError as error:
            if isinstance(error.evidence, Record):
                error.evidence = _without_scratch(error.evidence, model, output, inputs)
            raise
    return replace(result, report=_without_scratch(result.report, model, output, inputs))


def compare(
    first: ModelLike,
    second: ModelLike,
    *,
    device: str = "auto",
    cuda_options: Mapping[str, str] | None = None,
    runtime: str = ONNXRUNTIME,
    threads: int = 1,
    rounds: int = 30,
    dims: Mapping[str, int] | None = None,
    inputs: Samples = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Whether two models with the same inputs compute the same, and which one is faster by how much.

    The speed-up is the time of the `first` divided by the time of the `second`, with the first against itself as the
    control, over so many `rounds` in turns. `device`, `cuda_options`, `runtime`, `threads`, `dims`, `inputs`, `seed`
    and `progress` are those of `optimize`. Raises what that raises, but for MismatchError: `Comparison.agrees` says
    whether they agree.
    """
    with _Scratch() as place:
        settings = CompareSettings(
            device, threads, rounds, {} if dims is None else dims, place.samples(inputs), seed, runtime
        )
        settings = replace(settings, cuda_options={} if cuda_options is None else cuda_options)
        require_sound(settings)
        paths = place.path(first), place.path(second)
        found = compare_files(*paths, settings, progress or _log)
    return replace(found, first=_name(first), second=_name(second))


def explain(
    model: ModelLike,
    node: str,
    *,
    rules: str | Path | None = None,
    device: str = "auto",
    cuda_options: Mapping[str, str] | None = None,
    runtime: str = ONNXRUNTIME,
    threads: int = 1,
    fp_class: FpClass | str = FpClass.E3,
    dims: Mapping[str, int] | None = None,
    progress: Progress | None = None,
) -> Explanation:
    """Which rules fit a `node` of a `model`, named by its name or by a value that it gives, and why others do not.

    `rules`, `device`, `cuda_options`, `runtime`, `threads`, `fp_class`, `dims` and `progress` are those of `optimize`.
    Raises
    UsageError for a node that the model does not have, and what `optimize` raises for a bad model.
    """
    if not isinstance(node, str):
        raise UsageError(f"expected the name of a node or of a value that one gives, found {node!r}")
    with _Scratch() as place:
        settings = OptimizeSettings(
            rules=_path("rules", rules),
            device=device,
            cuda_options={} if cuda_options is None else cuda_options,
            runtime=runtime,
            threads=threads,
            fp_class=_class(fp_class),
            dims={} if dims is None else dims,
        )
        require_sound(settings)
        found = explain_node(place.path(model), node, settings, progress or _log)
    return replace(found, model=_name(model))


def _optimized(
    place: _Scratch, model: ModelLike, settings: OptimizeSettings, output: str | Path | None, tell: Progress
) -> Result:
    path = place.path(model)
    if output is None:
        model_in_memory(path)  # what is too large to be returned is refused before the search
    report = optimize_file(path, settings, tell)
    found = path if report.output is None else Path(report.output)
    result = model_in_memory(found) if output is None else load_model(found, whole=True)
    return Result(result, report)


class _Scratch:
    """A temporary folder for what a caller has in memory and the runtime needs as files."""

    def __enter__(self) -> _Scratch:
        self._stack = ExitStack()
        self.folder = self._stack.enter_context(scratch_folder())
        self._stored = 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def path(self, model: ModelLike) -> Path:
        """Where the model is as a file."""
        if isinstance(model, str | Path):
            return Path(model)
        if not isinstance(model, ModelProto):
            raise UsageError(f"expected the path of a model or an onnx.ModelProto, found {type(model).__name__}")
        self._stored += 1
        path = self.folder / f"model{self._stored}.onnx"
        store_model(model, path)
        return path

    def samples(self, inputs: Samples) -> Path | None:
        """Where the sample inputs are as a file; None without any."""
        if inputs is None or isinstance(inputs, str | Path):
            return _path("inputs", inputs)
        if not isinstance(inputs, Mapping):
            raise UsageError(f"expected a path, or arrays by the names of inputs, found {type(inputs).__name__}")
        path = self.folder / "inputs.npz"
        with zipfile.ZipFile(path, "w") as archive:
            for name, array in inputs.items():  # names that numpy.savez has parameters of are names too
                with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, _plain(name, array), allow_pickle=False)
        return path


def _plain(name: str, array: object) -> Array:
    """An array that a file can hold; what runtimes take as text in Python's objects is text."""
    found = np.asarray(array)
    if found.dtype != object:
        return found
    if not all(isinstance(value, str) for value in found.flat):
        raise UsageError(f"expected numbers or text for input {name!r}, found other objects")
    return found.astype(np.str_)


def _path(what: str, found: str | Path | None) -> Path | None:
    if not isinstance(found, str | Path | None):
        raise UsageError(f"expected a path for {what}, found {found!r}")
    return None if found is None else Path(found)


def _class(name: FpClass | str) -> FpClass:
    try:
        return FpClass(name)
    except ValueError as error:
        raise UsageError(f"expected an fp_class among {', '.join(FpClass)}, found {name!r}") from error


def _name(model: ModelLike) -> str:
    return MODEL_IN_MEMORY if isinstance(model, ModelProto) else str(model)


def _without_scratch(report: Record, model: ModelLike, output: str | Path | None, inputs: Samples) -> Record:
    """The report without names of temporary files, which are gone."""
    settings = {**report.settings, "output": None if output is None else str(output)}
    if isinstance(inputs, Mapping):
        settings["inputs"] = ARRAYS_IN_MEMORY
    return replace(report, input=_name(model), output=None if output is None else report.output, settings=settings)


def _log(message: str) -> None:
    log.info("%s", message)
