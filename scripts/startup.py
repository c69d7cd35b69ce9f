"""Measures how soon the tool answers: help against an empty Python program, and the first line of progress.

Usage: python scripts/startup.py [MODEL]. The tests hold the cause, which modules are imported; this shows the effect.
On a machine that other programs keep busy all times grow alike: the time of an empty program says by how much.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

ROUNDS = 15
FIRST_ROUNDS = 5
MOST_RATIO = 8.0
MOST_SECONDS = 1.0
QUIET_SECONDS = 0.05
"""What an empty program takes at most where no other program disturbs it."""

EMPTY = (sys.executable, "-c", "pass")
HELP = (sys.executable, "-m", "taso_opt", "--help")


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when one of them is not what the tool promises."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", nargs="?", default="none.onnx", help="the model to begin with [one that is not there]")
    model = parser.parse_args(argv).model
    empty, helping = [], []
    for _ in range(ROUNDS):
        empty.append(seconds(EMPTY))
        helping.append(seconds(HELP))
    nothing = statistics.median(empty)
    ratio = statistics.median(one / other for one, other in zip(helping, empty, strict=True))
    print(f"python -c pass: {nothing:.3f} s, help: {statistics.median(helping):.3f} s")
    print(f"help: {ratio:.1f} times `python -c pass`, at most {MOST_RATIO:.0f} wanted")
    first = statistics.median(until_the_first_line(model) for _ in range(FIRST_ROUNDS))
    quiet = first * min(1.0, QUIET_SECONDS / nothing)
    print(f"optimize: first line of progress after {first:.2f} s, {first / nothing:.1f} times `python -c pass`")
    print(
        f"optimize: {quiet:.2f} s where an empty program takes {QUIET_SECONDS} s, at most {MOST_SECONDS:.0f} s wanted"
    )
    return int(ratio > MOST_RATIO or quiet > MOST_SECONDS)


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
    try:
        os.close(theirs)
        os.read(ours, 1)
        return time.perf_counter() - started
    finally:
        process.terminate()
        process.wait()
        os.close(ours)


if __name__ == "__main__":
    sys.exit(main())
