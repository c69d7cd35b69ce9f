"""What every function of the interface does before it uses the runtime."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from taso_opt.api.settings import CompareSettings, OptimizeSettings
from taso_opt.core.machine.garbage import rare_garbage_collection
from taso_opt.core.rule import FpClass, RuleSet
from taso_opt.errors import RuntimeFailure, UnsupportedError
from taso_opt.onnx_io import Model, needs_libraries, skeleton, weight_bytes
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.runtime import (
    ONNXRUNTIME,
    RunSettings,
    RuntimeInfo,
    RuntimeProcess,
    describe,
    name_of,
    probe,
    provider_options,
    resolve_device,
)
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules

Progress = Callable[[str], None]
"""Takes one line that says what is being done now."""

LOADED_WHOLE = 256 << 20
"""Bytes of weights up to which a model is loaded whole to see whether the runtime takes it."""


def usable_rules(path: Path | None, loosest: FpClass) -> CompiledRules:
    """The rules of a library (the shipped one for None) up to a floating-point class, ready to match.

    The shipped library is read and compiled once for all models of a program. Raises as read_rules does.
    """
    return _shipped_rules(loosest) if path is None else _compiled_rules(path, loosest)


@cache
def _shipped_rules(loosest: FpClass) -> CompiledRules:
    return _compiled_rules(None, loosest)


def _compiled_rules(path: Path | None, loosest: FpClass) -> CompiledRules:
    builder = load_specs().builder()
    with rare_garbage_collection():
        rules = tuple(rule for rule in read_rules(path, builder) if rule.fp_class <= loosest)
        return CompiledRules(RuleSet(rules), builder)


def running(process: RuntimeProcess, settings: OptimizeSettings | CompareSettings) -> tuple[RuntimeInfo, RunSettings]:
    """What the installed runtimes are, and how models run here by the user's settings.

    Raises UnsupportedError for a runtime that does not import and a device that does not answer, UsageError for a
    device that the runtime does not have and for options that its provider does not.
    """
    info = probe(process, settings.runtime)
    device = resolve_device(settings.device, info.providers, settings.runtime)
    options = provider_options(device, settings.cuda_options)
    return info, RunSettings(device, settings.threads, settings.seed, settings.runtime, options)


def require_loadable(model: Model, info: RuntimeInfo) -> None:
    """Say up front when the installed runtime is too old for the model."""
    for what, wanted, newest in (
        ("IR version", model.ir_version, info.max_ir),
        ("ai.onnx opset", model.opset, info.max_opset),
    ):
        if newest is not None and wanted > newest:
            raise UnsupportedError(
                f"expected an {what} of at most {newest}, which {info.package} {info.version} loads, "
                f"found {wanted} in {model.path}"
            )


def require_running(model: Model, process: RuntimeProcess, run: RunSettings) -> None:
    """Say up front when an installed runtime refuses the model, for an operator that it lacks or whatever reason.

    A model with many weights is loaded without them: what is refused is an operator, hardly ever a weight.
    """
    if weight_bytes(model) <= LOADED_WHOLE:
        describe(process, model.path, run.judge)
        return
    bare = skeleton(model.proto, model.path).SerializeToString()
    try:
        describe(process, bare, run.judge)
    except RuntimeFailure as error:
        message = str(error).replace(name_of(bare), str(model.path))
        raise RuntimeFailure(message) from error


def obstacle(model: Model, process: RuntimeProcess, run: RunSettings) -> str:
    """Why ONNX Runtime cannot run a whole model whose rewritten parts it can run alone; "" where it runs the whole.

    That is so where an operator of somebody's own is not there. Raises as require_running for every other reason, also
    where another runtime measures and refuses the model, or a GPU that cannot capture it.
    """
    try:
        require_running(model, process, run)
    except RuntimeFailure as error:
        if not needs_libraries(model.proto):
            raise
        return str(error)
    if run.runtime != ONNXRUNTIME:
        describe(process, model.path, run)
    elif run.captures:
        describe(process, model.path, run, "all")
    return ""


BY_PARTS = "the whole model does not run here, so only its parts with known operators are compared and timed"
"""What a warning says then, before the reason."""


def silent(message: str) -> None:
    """Take progress messages when nobody listens."""


def versions() -> dict[str, str | int]:
    """The machine and the packages that a result depends on, beside the runtime."""
    packages = {name: version(name) for name in ("numpy", "onnx", "onnxscript")}
    system = f"{platform.system()} {platform.machine()}"
    return {"python": platform.python_version(), "system": system, "processors": os.cpu_count() or 1, **packages}
