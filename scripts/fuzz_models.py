"""Takes random models through the tool and compares what comes out with what went in.

Usage: python scripts/fuzz_models.py [--count N] [--seed N] [--operators] [--models FOLDER] [--keep FOLDER]; exits 1
when a result is wrong. Models are drawn by fuzzing/random_models.py, or taken from a folder (nnsmith_models.py fills
one). Each is optimized as a user does it, written anew, and forcibly rewritten: see MODES of backend/worker.py. What
is written must pass ONNX's checker, keep the signature and give the outputs of the original on three sets of inputs.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, checker, load_model
from onnx.numpy_helper import from_array, to_array

from backend.models import dressed
from backend.worker import respell
from benchmarks.own_folder import own_folder
from fuzzing.random_models import random_model
from fuzzing.random_operators import OPERATORS
from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.api.forced import force_rewriting
from taso_opt.errors import MismatchError, RuntimeFailure, TasoError, UnsupportedError
from taso_opt.onnx_io import keeps_signature, read_model
from taso_opt.onnx_io.scopes import all_tensors
from taso_opt.runtime import RunSettings, RuntimeProcess, run_feeds
from taso_opt.runtime.inputs import Array
from taso_opt.search.judging.feeds import sample_feeds
from taso_opt.spec import load_specs

MODES = ("optimized", "respelled", "shrunk", "wandered", "far")
FORCED = MODES[2:]
"""Ways in which nothing is run, or asked of the runtime."""

MOST_ALLOWED = 0.1
"""Where noise in the inputs may change outputs by more than that, errors tell nothing."""

REFUSALS = (2, 3, 4)
"""Exit codes of what a user, a file or a machine asks in vain."""

NO_KERNEL = "NOT_IMPLEMENTED : Could not find an implementation"
"""What the runtime says of an operator that it has for other element types only."""

BUDGET_S = 0.5
LIMIT_S = 300.0
TOLERANCE = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-5}
NOISE = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-6}
NOISE_FACTOR = 30.0
"""An error within so many times of what noise in the inputs and weights does is the model's own sensitivity (it may
round, compare, or take differences of what is nearly equal), not a wrong result. Doubles may be made of floats.
"""

SHAKEN = frozenset({TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE})
SMALLEST_SCALE = 1e-3
"""Outputs around zero, which is what differences of equal values leave, are judged at this scale."""


@dataclass(frozen=True)
class Finding:
    """What became of a model in one mode."""

    model: str
    mode: str
    result: str
    detail: str = ""
    rewritten: bool = False


@dataclass(frozen=True)
class Reference:
    """What the original gives on some inputs, and by how much noise in the inputs moves that."""

    feeds: Sequence[dict[str, Array]]
    outputs: Sequence[Sequence[Array]]
    spreads: Sequence[Sequence[float]]
    dims: Mapping[str, int]


def examine(
    path: Path, folder: Path, process: RuntimeProcess, dims: Mapping[str, int] | None = None
) -> Iterator[Finding]:
    """Every mode for one model file; one finding where the runtime does not run it: refused, or left as it is."""
    try:
        plain = _reference(path, process, dims or {})
    except TasoError as error:
        yield _left_alone(path, folder / f"left_{path.name}", process, str(error))
        return
    dress = dressed(ModelProto.FromString(path.read_bytes()))
    for mode in MODES:
        source = path
        if mode in FORCED and dress is not None:
            source = folder / f"dressed_{path.name}"
            source.write_bytes(dress.SerializeToString())
        yield _finding(path, source, mode, folder / f"{mode}_{path.name}", plain, process)


def _finding(path: Path, source: Path, mode: str, output: Path, plain: Reference, process: RuntimeProcess) -> Finding:
    content = source.read_bytes()
    try:
        rewritten = _rewrite(source, output, mode, process, plain.dims)
        detail = _difference(path, output, plain, process)
        if NO_KERNEL in detail and mode in FORCED:
            return Finding(path.name, mode, "no kernel", detail[-200:], rewritten)
    except TasoError as error:
        known = {MismatchError.exit_code: "wrong", **dict.fromkeys(REFUSALS, "refused")}
        return Finding(path.name, mode, known.get(error.exit_code, "crash"), str(error)[:200])
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what this script looks for
        return Finding(path.name, mode, "crash", "".join(traceback.format_exception(error))[-1500:])
    if source.read_bytes() != content:
        detail = "the original was changed"
    return Finding(path.name, mode, "wrong" if detail else "agrees", detail, rewritten)


def _left_alone(path: Path, output: Path, process: RuntimeProcess, reason: str) -> Finding:
    """What becomes of a model that cannot be compared with anything."""
    try:
        _rewrite(path, output, "optimized", process, {})
    except TasoError as error:
        left = output.exists() or "\n" in str(error)
        return Finding(path.name, "not run", "wrong" if left else "refused", str(error)[:200])
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what this script looks for
        return Finding(path.name, "not run", "crash", repr(error))
    same = output.read_bytes() == path.read_bytes()
    return Finding(
        path.name, "not run", "unchanged" if same else "wrong", "" if same else f"rewritten, though {reason}"[:200]
    )


def _rewrite(path: Path, output: Path, mode: str, process: RuntimeProcess, dims: Mapping[str, int]) -> bool:
    output.unlink(missing_ok=True)
    match mode:
        case "optimized":
            settings = OptimizeSettings(output=output, budget=BUDGET_S, dims=dims)
            return optimize_file(path, settings, process=process).result == "improved"
        case "respelled":
            return respell(path, output)
        case "shrunk":
            return bool(force_rewriting(path, output, steps=30, shrink=True).rules)
        case "wandered":
            return bool(force_rewriting(path, output, seed=1, steps=6).rules)
    return bool(force_rewriting(path, output, seed=2, steps=25).rules)


def _reference(path: Path, process: RuntimeProcess, dims: Mapping[str, int]) -> Reference:
    """Run the original on seeded inputs and on the same with noise; the spread is what the noise changes."""
    model = read_model(path, load_specs(), dims)
    feeds = [{name: _mild(array) for name, array in feed.items()} for feed in sample_feeds(model.inputs, (), 0)]
    outputs = run_feeds(process, path, feeds, RunSettings(), timeout_s=LIMIT_S)
    plain = run_feeds(process, path, feeds, RunSettings(), "none", LIMIT_S)
    noisy = run_feeds(process, _noisy_model(path), [_noisy(feed) for feed in feeds], RunSettings(), timeout_s=LIMIT_S)
    spreads = [
        [max(_error(one, two), _error(one, three)) for one, two, three in zip(*runs, strict=True)]
        for runs in zip(outputs, noisy, plain, strict=True)
    ]
    return Reference(feeds, outputs, spreads, dims)


def _mild(array: Array) -> Array:
    return np.clip(array, -2, 2).astype(array.dtype) if array.dtype.kind == "f" else array


def _noisy(feed: dict[str, Array]) -> dict[str, Array]:
    generator = np.random.default_rng(0)
    return {name: _shaken(generator, array) for name, array in feed.items()}


def _noisy_model(path: Path) -> bytes:
    """The model with noise in its weights, but for whole numbers: they may be scales, by which sizes are computed."""
    model, generator = load_model(path), np.random.default_rng(1)
    for tensor in all_tensors(model):
        if tensor.data_type in SHAKEN:
            array = to_array(tensor)
            shaken = np.where(array == np.round(array), array, _shaken(generator, array))
            tensor.CopyFrom(from_array(shaken.astype(array.dtype), tensor.name))
    return bytes(model.SerializeToString())


def _shaken(generator: np.random.Generator, array: Array) -> Array:
    noise = NOISE.get(array.dtype.name)
    if noise is None:
        return array
    return np.asarray(array * (1 + noise * generator.standard_normal(array.shape)), array.dtype)


def _difference(path: Path, output: Path, plain: Reference, process: RuntimeProcess) -> str:
    """Why a result is not what it should be; empty when it is."""
    original, result = (ModelProto.FromString(file.read_bytes()) for file in (path, output))
    try:
        checker.check_model(result, full_check=True)
    except checker.ValidationError as reason:
        return f"the result is not valid: {reason}"
    except Exception as reason:  # noqa: BLE001 - shape inference has exceptions of its own
        if _infers(original):
            return f"shapes cannot be inferred any more: {reason}"
    if not keeps_signature(original, result):
        return "the signature changed"
    try:
        found = run_feeds(process, output, plain.feeds, RunSettings(), timeout_s=LIMIT_S)
    except (RuntimeFailure, UnsupportedError) as reason:
        return f"the result does not run: {reason}"
    for expected, outputs, spreads in zip(plain.outputs, found, plain.spreads, strict=True):
        for index, (one, other, spread) in enumerate(zip(expected, outputs, spreads, strict=True)):
            if one.dtype != other.dtype or (np.isfinite(spread) and one.shape != other.shape):
                return f"output {index} is {other.dtype}{list(other.shape)}, expected {one.dtype}{list(one.shape)}"
            error, allowed = _error(one, other), max(TOLERANCE.get(one.dtype.name, 0.0), NOISE_FACTOR * spread)
            if allowed <= MOST_ALLOWED and not error <= allowed:  # else noise alone may change all of it
                return f"output {index} is off by {error:.2g}, allowed are {allowed:.2g}"
    return ""


def _infers(model: ModelProto) -> bool:
    try:
        checker.check_model(model, full_check=True)
    except Exception:  # noqa: BLE001 - as above
        return False
    return True


def _error(expected: Array, found: Array) -> float:
    """The largest error relative to the scale of the output; the share that differs where numbers are not floats.

    Where the original is NaN or infinite nothing is compared: random models produce both at random.
    """
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return float("inf")
    if expected.dtype.kind != "f":
        return float(np.mean(expected != found)) if expected.size else 0.0
    finite = np.isfinite(expected)
    if not finite.any():
        return 0.0
    one, other = expected[finite].astype(np.float64), found[finite].astype(np.float64)
    scale = max(float(np.sqrt(np.mean(np.square(one)))), SMALLEST_SCALE)
    error = np.abs(one - other) / np.maximum(scale, np.abs(one))
    return float("inf") if np.isnan(error).any() else float(error.max())


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine models and print how many of each mode had which result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=Path, help="a folder of models instead of random ones")
    parser.add_argument("--operators", action="store_true", help="of all operators, with attributes of all kinds")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-models"), help="where models that fail are kept")
    options = parser.parse_args(arguments)
    counts, rewritten = Counter[tuple[str, str]](), Counter[str]()
    fails = ("wrong", "crash")
    with own_folder("fuzz") as folder, RuntimeProcess() as process:
        for path in _models(options, folder):
            for finding in examine(path, folder, process):
                counts[finding.mode, finding.result] += 1
                rewritten[finding.mode] += finding.rewritten
                if finding.result in fails:
                    print(f"{finding.model} {finding.mode} {finding.result}: {finding.detail}", flush=True)
                    options.keep.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, options.keep)
                elif finding.result == "refused":
                    print(f"{finding.model} {finding.mode} {finding.result}: {finding.detail}", file=sys.stderr)
    for (mode, result), count in sorted(counts.items()):
        print(f"{mode}: {count} {result}")
    print(f"rewritten: {dict(rewritten)}")
    return 1 if any(result in fails for _, result in counts) else 0


def _models(options: argparse.Namespace, folder: Path) -> Iterator[Path]:
    if options.models is not None:
        yield from sorted(options.models.glob("*.onnx"))[: options.count]
        return
    for seed in range(options.seed, options.seed + options.count):
        path = folder / f"random{seed}.onnx"
        path.write_bytes(random_model(seed, OPERATORS if options.operators else ()).SerializeToString())
        yield path


if __name__ == "__main__":
    sys.exit(main())
