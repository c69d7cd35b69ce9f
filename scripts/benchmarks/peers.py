"""The tools that this one is measured against, each run in a child process with a time limit."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from taso_opt.core.machine.packages import installed_version

PACKAGES = {
    "onnxsim": ("onnxsim",),
    "onnxslim": ("onnxslim",),
    "onnxscript": ("onnxscript",),
    "transformers": ("onnxruntime", "onnxruntime-gpu"),
}
"""The tools, in the order of the columns, and the packages of which one carries them."""

LIMIT_S = 60.0
WORKER = Path(__file__).with_name("peer_worker.py")


@dataclass(frozen=True)
class Attempt:
    """What became of one tool on one model: the file it wrote, or why there is none."""

    tool: str
    path: Path | None
    failure: str = ""


def versions() -> dict[str, str]:
    """The version of each tool that is installed; others are missing."""
    found = ((tool, installed_version(package)) for tool, packages in PACKAGES.items() for package in packages)
    return {tool: version for tool, version in found if version is not None}


def missing() -> list[str]:
    """The tools that are not installed."""
    return sorted(set(PACKAGES) - set(versions()))


def rewrite(tool: str, model: Path, folder: Path, limit_s: float = LIMIT_S, worker: Path = WORKER) -> Attempt:
    """Let a tool rewrite a model into a folder; failures are part of the answer, in one line."""
    output = folder / f"{model.stem}.{tool}.onnx"
    command = [sys.executable, str(worker), tool, str(model), str(output)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return Attempt(tool, None, f"not done after {limit_s:.0f} s")
    if done.returncode != 0 or not output.is_file():
        return Attempt(tool, None, _last_line(done.stderr) or f"exit code {done.returncode}")
    return Attempt(tool, output)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:120] if lines else ""
