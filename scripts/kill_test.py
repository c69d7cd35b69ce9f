"""Kills runs of the tool at random moments and looks at what they leave: nothing half written, nothing lost.

Usage: python scripts/kill_test.py [--kills N] [--seed N] [--budget SECONDS]; exits 1 with a list of what was found.

Each run optimizes a model with external data into another folder and is killed with SIGKILL at a moment that is drawn
evenly from the time that a whole run takes. After each the original must be as it was, the output absent or complete,
the cost table readable, and no process left; after a last run that is not killed, no temporary file either.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from onnx import TensorProto, checker, load_model, parser

from taso_opt.onnx_io import load_model as load_checked

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,256] a, float[1,256] b, float[1,256] c, float[1,256] d) => (float[4,256] y)
{ p = MatMul(a, w)  q = MatMul(b, w)  r = MatMul(c, w)  s = MatMul(d, w)  y = Concat <axis = 0> (p, q, r, s) }"""
"""Four products that share a weight: stacking their rows saves most of the time, so that there is a result to write."""

WEIGHTS = "weights.bin"
OF_THE_RUNTIME = ".ses"
"""ONNX Runtime writes this file of 51 bytes into the temporary folder whenever it is imported."""

LONGEST_RUN_S = 300.0
END_S = 5.0


@dataclass
class Scene:
    """The folders of one test: the model's, the output's, and the run's own cache and temporary folder."""

    root: Path
    budget: float
    kept: dict[Path, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("in", "out", "cache", "tmp"):
            (self.root / name).mkdir()
        save_model(self.root / "in" / "model.onnx")
        self.kept = {path: path.read_bytes() for path in (self.root / "in").iterdir()}

    @property
    def output(self) -> Path:
        """Where the result goes."""
        return self.root / "out" / "model.onnx"

    def start(self) -> subprocess.Popen[bytes]:
        """Start a run of the tool."""
        command = [sys.executable, "-m", "taso_opt", "optimize", str(self.root / "in" / "model.onnx")]
        command += ["-o", str(self.output), "--force", "--budget", str(self.budget)]
        return subprocess.Popen(command, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def environment(self) -> Mapping[str, str]:
        """The environment of a run; TMPDIR also tells its processes from others."""
        own = {"TASOOPT_CACHE": str(self.root / "cache"), "TMPDIR": str(self.root / "tmp")}
        return {**os.environ, **own}


def save_model(path: Path) -> None:
    """Write the model and its weights beside it."""
    model = parser.parse_model(MODEL)
    values = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    (path.parent / WEIGHTS).write_bytes(values.tobytes())
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=values.shape, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", WEIGHTS), ("offset", "0"), ("length", str(values.nbytes))):
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    path.write_bytes(model.SerializeToString())


def finish(scene: Scene) -> float:
    """One run to its end; the seconds it took. RuntimeError when it fails."""
    started = time.monotonic()
    running = scene.start()
    _, said = running.communicate(timeout=LONGEST_RUN_S)
    if running.returncode:
        raise RuntimeError(f"expected exit code 0, found {running.returncode}: {said.decode(errors='replace')}")
    return time.monotonic() - started


def kill_at(scene: Scene, moment: float) -> bool:
    """Start a run and kill it after so many seconds; whether it still ran then."""
    running = scene.start()
    time.sleep(moment)
    alive = running.poll() is None
    running.send_signal(signal.SIGKILL)
    running.communicate()
    return alive


def traces(scene: Scene) -> Iterator[str]:
    """What a killed run has left that it must not leave."""
    for path, content in scene.kept.items():
        if path.read_bytes() != content:
            yield f"{path.name} of the original was changed"
    if sorted(scene.kept) != sorted((scene.root / "in").iterdir()):
        yield "a file was written beside the original"
    yield from _broken_output(scene)
    yield from _broken_table(scene.root / "cache" / "costs.sqlite")
    limit = time.monotonic() + END_S
    while (left := list(processes(scene))) and time.monotonic() < limit:
        time.sleep(0.05)
    if left:
        yield f"processes {left} go on"


def _broken_output(scene: Scene) -> Iterator[str]:
    if not scene.output.exists():
        return
    try:
        checker.check_model(load_model(scene.output), full_check=True)
        load_checked(scene.output)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it is half written
        yield f"the output is there and not complete: {error}"


def _broken_table(path: Path) -> Iterator[str]:
    if path.exists():
        connection = sqlite3.connect(path)
        (state,) = connection.execute("PRAGMA integrity_check").fetchone()
        connection.close()
        if state != "ok":
            yield f"the cost table is damaged: {state}"
        if list(path.parent.glob("*.broken")):
            yield "the cost table was given up"


def processes(scene: Scene) -> Iterator[int]:
    """The processes that run with the temporary folder of the scene; only where /proc tells."""
    mark = f"TMPDIR={scene.root / 'tmp'}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if mark in (folder / "environ").read_bytes().split(b"\0") and state != "Z":
                yield int(folder.name)
        except OSError:
            continue


def leftovers(scene: Scene) -> list[str]:
    """The temporary files of a scene."""
    allowed = {scene.output, scene.output.with_name(f"{scene.output.name}.data"), scene.output.with_name(WEIGHTS)}
    allowed.add(scene.root / "tmp" / OF_THE_RUNTIME)
    found = {*(scene.root / "tmp").iterdir(), *(scene.root / "out").iterdir()} - allowed
    return sorted(str(path.relative_to(scene.root)) for path in found)


def kill_runs(root: Path, kills: int, seed: int, budget: float) -> tuple[list[str], int]:
    """Kill so many runs; what was found wrong, and how many were still running when they were killed."""
    scene, moments = Scene(root, budget), random.Random(seed)
    first = finish(scene)  # it measures what the others find in the cost table
    (root / "cache" / "costs.sqlite").unlink()
    problems, alive = [], 0
    for number in range(kills):
        moment = moments.uniform(0, first)
        alive += kill_at(scene, moment)
        problems += [f"kill {number + 1} after {moment:.2f} s: {problem}" for problem in traces(scene)]
        if number % 10 == 9:
            (root / "cache" / "costs.sqlite").unlink(missing_ok=True)
    finish(scene)
    problems += [f"left behind: {name}" for name in leftovers(scene)]
    return problems, alive


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill runs, print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=1.0)
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="kill-test-") as folder:
        problems, alive = kill_runs(Path(folder), options.kills, options.seed, options.budget)
    print("\n".join(problems))
    print(f"{options.kills} kills, {alive} of them while the run went on: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
