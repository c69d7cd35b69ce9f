"""The whole tool on an NVIDIA GPU: environment, costs, optimization of the benchmark networks; writes one JSON file.

Usage: python scripts/gpu_check.py [NAME ...] [--output FILE] [--minutes M] [--cuda-option NAME=VALUE]

Each network is optimized for CUDA in a process of its own, with costs measured through the CUDA provider, and what
comes of it is timed against the original under all of the runtime's optimizations on CUDA. What does not fit into the
time is listed as left out. On a machine that cannot do it, the last line says why, and the exit code is 4.
"""

import json
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import onnx

from networks import NETWORKS
from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.cli.options import cuda_option
from taso_opt.core.machine.packages import installed_version
from taso_opt.cost import CostTable
from taso_opt.errors import TasoError, UnsupportedError
from taso_opt.runtime import RuntimeProcess, gpus, probe, require_runtime, resolve_device

ORDER = (
    "towers",
    "sc_rnn",
    "nasrnn",
    "lstm",
    "linear_attention",
    "bert_small",
    "mobilenet_spellings",
    "squeezenet",
    "resnet50",
    "nasnet",
    "lora",
    "bert_base",
    "densenet121",
    "resnext50_grouped",
    "resnext50_split",
    "inception_v3",
    "repvgg",
)
"""Small networks first; the others follow as far as the time goes."""

SHARE_S, SEARCH_S, LEAST_S = 75.0, 15.0, 15.0
PACKAGES = ("tasoopt", "onnx", "onnxruntime-gpu", "numpy", "cupy-cuda13x", "cupy-cuda12x")
LATENCY = ("clock", "latency_before", "latency_after", "speedup")
KEPT = ("result", "reason", *LATENCY, "max_rel_error", "warnings", "search", "seconds")
"""The fields of a report that go into the file."""


@click.command()
@click.argument("names", nargs=-1)
@click.option("--output", type=click.Path(path_type=Path), default=Path("gpu_check.json"), show_default=True)
@click.option("--minutes", default=7.5, show_default=True, help="For all of it.")
@cuda_option
@click.option("--one", hidden=True, help="Optimize this network here and print what came of it as JSON.")
def main(names: Sequence[str], output: Path, minutes: float, cuda_options: Mapping[str, str], one: str | None) -> None:
    """Check the tool on the GPU of this machine and write FILE."""
    if one is not None:
        print(json.dumps(optimized(one, cuda_options)))
        return
    end = time.monotonic() + 60 * minutes
    try:
        found: dict[str, Any] = {"environment": environment(), "options": cuda_options, "networks": {}, "left_out": []}
    except TasoError as error:
        print(f"gpu_check: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    for name in names or (*ORDER, *(name for name in NETWORKS if name not in ORDER)):
        left = end - time.monotonic()
        if left < LEAST_S:
            found["left_out"].append(name)
            continue
        found["networks"][name] = in_child(name, cuda_options, min(left - 5, SHARE_S))
        output.write_text(json.dumps(found, indent=2) + "\n")
        print(line(name, found["networks"][name]), flush=True)
    output.write_text(json.dumps(found, indent=2) + "\n")
    print(f"{len(found['networks'])} networks, {len(found['left_out'])} left out: {output}")
    sys.exit(any("error" in one for one in found["networks"].values()))


def environment() -> dict[str, Any]:
    """Device, driver, versions; UnsupportedError with the first thing that is missing."""
    found = gpus()
    if not found:
        raise UnsupportedError("expected a machine with an NVIDIA GPU, found none that nvidia-smi lists")
    installed = require_runtime()
    if installed.kind != "onnxruntime-gpu":
        raise UnsupportedError(f"expected the package onnxruntime-gpu (make RUNTIME=gpu), found {installed.kind}")
    with RuntimeProcess() as process:
        info = probe(process)
    resolve_device("cuda", info.providers)
    return {
        "devices": found,
        "python": platform.python_version(),
        "packages": {name: number for name in PACKAGES if (number := installed_version(name))},
        "providers": list(info.providers),
        "baseline": "ORT_ENABLE_ALL on CUDA, inputs and outputs on the device",
    }


def in_child(name: str, cuda_options: Mapping[str, str], limit_s: float) -> dict[str, Any]:
    """Optimize a network in a process of its own; an error becomes a field that says so."""
    options = [f"--cuda-option={key}={value}" for key, value in cuda_options.items()]
    command = [sys.executable, __file__, "--one", name, *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {limit_s:.0f} s"}
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def optimized(name: str, cuda_options: Mapping[str, str], device: str = "cuda") -> dict[str, Any]:
    """What became of one network on a device: answer, figures, rules, and how many costs were measured for it."""
    settings = OptimizeSettings(device=device, cuda_options=cuda_options, budget=SEARCH_S)
    with TemporaryDirectory(prefix="tasoopt-gpu-") as folder, CostTable() as table:
        before = sum(1 for _ in table.entries())
        path = Path(folder) / f"{name}.onnx"
        onnx.save(NETWORKS[name](), path)
        record = optimize_file(path, settings).document()
        measured = sum(1 for _ in table.entries()) - before
    rules = {rule["id"]: rule["count"] for rule in record["rules"]}
    return {**{key: record[key] for key in KEPT}, "rules": rules, "costs_measured": measured}


def line(name: str, found: dict[str, Any]) -> str:
    """What became of a network, in one line."""
    if "error" in found:
        return f"{name}: error: {found['error']}"
    speedup = found["speedup"]
    ratio = "" if speedup is None else f", {speedup['ratio']:.3f} ({speedup['low']:.3f} to {speedup['high']:.3f})"
    return f"{name}: {found['result']}{ratio}, {found['seconds']:.0f} s"


if __name__ == "__main__":
    main()
