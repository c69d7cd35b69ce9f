"""Takes a model of gigabytes, or one of ten thousand operators, through the tool and measures memory and time.

Usage: python scripts/large_model.py [--gigabytes G] [--operators N] [--budget S] [--folder FOLDER]; the model is made
in a temporary folder and deleted. Memory is the peak of resident memory, read from the system: of the tool's process,
and apart from it of the runtime's child process, which must load whole what it runs. Linux only: what getrusage says
of a process is never less than what its parent held when it was started, so the tool's own peak is read from /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

WIDTH = 4096
BLOCK = 1 << 24
OPERATORS = ("Relu", "Tanh", "Add", "MatMul", "Mul")

MEASURED = r"""
import json, re, resource, sys
from pathlib import Path
from taso_opt.cli import main
code = main(sys.argv[1:])
peak = int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
own, child = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
seconds = sum(used.ru_utime + used.ru_stime for used in (own, child))
found = {"exit_code": code, "own_mb": peak // 1024, "child_mb": child.ru_maxrss // 1024, "cpu_s": seconds}
print(json.dumps(found), file=sys.stderr)
"""


def large_model(folder: Path, size: int, zeros: bool = False) -> Path:
    """A chain of products with square matrices, about `size` bytes of random weights in one file beside the model.

    Zeros instead take no room on the disk and no time.
    """
    count = max(1, size // (4 * WIDTH**2))
    nodes, tensors = [], []
    for at in range(count):
        nodes += [
            helper.make_node("MatMul", [f"x{at}", f"w{at}"], [f"m{at}"]),
            helper.make_node("Tanh", [f"m{at}"], [f"x{at + 1}"]),
        ]
        tensor = TensorProto(name=f"w{at}", data_type=TensorProto.FLOAT, dims=[WIDTH] * 2)
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": "weights.bin", "offset": 4 * WIDTH**2 * at, "length": 4 * WIDTH**2}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        tensors.append(tensor)
    if zeros:
        (folder / "weights.bin").touch()
        os.truncate(folder / "weights.bin", 4 * WIDTH**2 * count)
    else:
        _write_random(folder / "weights.bin", 4 * WIDTH**2 * count)
    return _save(folder, nodes, tensors, [1, WIDTH], f"x{count}")


def _write_random(path: Path, size: int) -> None:
    generator = np.random.default_rng(0)
    with path.open("wb") as stream:
        for _ in range(0, size, BLOCK):
            block = generator.standard_normal(BLOCK // 4, np.float32)
            stream.write((block * np.float32(WIDTH**-0.5)).tobytes())


def long_model(folder: Path, operators: int) -> Path:
    """A chain of so many operators, some of which share weights and some of which have two users."""
    nodes, last = [], "x0"
    tensors = [numpy_helper.from_array(np.eye(16, dtype=np.float32) * np.float32(0.9), "w")]
    for at in range(operators):
        operator, made = OPERATORS[at % len(OPERATORS)], f"x{at + 1}"
        other = {"Add": [f"x{at - 1}"], "Mul": [f"x{at - 3}"], "MatMul": ["w"]}.get(operator, [])
        nodes.append(helper.make_node(operator, [last, *other], [made]))
        last = made
    return _save(folder, nodes, tensors, [4, 16], last)


def _save(
    folder: Path, nodes: Sequence[NodeProto], tensors: Sequence[TensorProto], shape: Sequence[int], last: str
) -> Path:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x0", last))
    graph = helper.make_graph(nodes, "large", [x], [y], tensors)
    model: ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def measure(path: Path, budget: float) -> Mapping[str, object]:
    """Optimize a model in a process of its own; the result, megabytes and seconds."""
    started = time.monotonic()
    command = [sys.executable, "-c", MEASURED, "optimize", str(path), "--budget", str(budget), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    lines = done.stderr.strip().splitlines()
    if done.returncode or not done.stdout:
        raise RuntimeError(f"expected a report, found: {lines[-1:]}")
    record = json.loads(done.stdout)
    found = {"result": record["result"], "reason": record["reason"], "rules": len(record["rules"])}
    return {**found, **json.loads(lines[-1]), "seconds": round(seconds, 1), "beyond_budget": round(seconds - budget, 1)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the model, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=2.4)
    parser.add_argument("--operators", type=int, help="a long model instead of a large one")
    parser.add_argument("--budget", type=float, default=10.0)
    parser.add_argument("--folder", type=Path, help="where there is room for it")
    options = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="large-model-", dir=options.folder) as name:
        if options.operators:
            path = long_model(Path(name), options.operators)
        else:
            path = large_model(Path(name), int(options.gigabytes * 1e9))
        for key, value in measure(path, options.budget).items():
            print(f"{key}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
