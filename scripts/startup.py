"""Measures how soon the tool answers: help against an empty Python program, and the first line of progress.

Usage: python scripts/startup.py [MODEL]. The tests hold the cause, which modules are imported; this shows the effect.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

ROUNDS = 15
MOST_RATIO = 8.0
MOST_SECONDS = 1.0
EMPTY = (sys.executable, "-c", "pass")
HELP = (sys.executable, "-m", "taso_opt", "--help")


def main() -> int:
    """Print both figures; 1 when one of them is not what the tool promises."""
    ratio = statistics.median(seconds(HELP) / seconds(EMPTY) for _ in range(ROUNDS))
    print(f"help: {ratio:.1f} times `python -c pass`, at most {MOST_RATIO:.0f} wanted")
    model = sys.argv[1] if len(sys.argv) > 1 else "none.onnx"
    first = statistics.median(until_the_first_line(model) for _ in range(3))
    print(f"optimize: first line of progress after {first:.2f} s, at most {MOST_SECONDS:.0f} s wanted")
    return int(ratio > MOST_RATIO or first > MOST_SECONDS)


def seconds(command: Sequence[str]) -> float:
    """The wall time of one run."""
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def until_the_first_line(model: str) -> float:
    """From the start of `tasoopt optimize` on a terminal to its first byte."""
    ours, theirs = os.openpty()
    started = time.perf_counter()
    command = (sys.executable, "-m", "taso_opt", "optimize", model, "--dry-run")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    os.read(ours, 1)
    first = time.perf_counter() - started
    process.terminate()
    process.wait()
    os.close(ours)
    return first


if __name__ == "__main__":
    sys.exit(main())
