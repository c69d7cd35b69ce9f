"""Shows the tool at work: a network that gains much, and a pre-trained model.

Usage: python scripts/demo.py

Builds an unrolled NasRNN (10 steps, hidden size 512, weights shared over time) with fixed random weights, fetches a
pre-trained text classifier, and runs `tasoopt optimize` on both.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from fetch_models import fetch
from networks import NETWORKS
from taso_opt.errors import TasoError

PRETRAINED = "pp_ocr_cls"


def main() -> int:
    """Run both parts, the second one if the first succeeds; the exit code is that of the last that ran."""
    with TemporaryDirectory(prefix="tasoopt-demo-") as folder:
        network = Path(folder) / "nasrnn.onnx"
        onnx.save(NETWORKS["nasrnn"](), network)
        heading("1. An unrolled NasRNN: 10 steps that share their weights, hidden size 512, batch 1")
        code = optimize(network)
        heading(f"2. A pre-trained model: {PRETRAINED}, a text-direction classifier")
        try:
            model = Path(folder) / f"{PRETRAINED}.onnx"
            model.write_bytes(fetch(PRETRAINED).read_bytes())
        except TasoError as error:
            print(f"skipped: {error}")
            return code
        return code or optimize(model)


def heading(text: str) -> None:
    """Announce a part of the demonstration."""
    print(f"\n{text}\n", flush=True)


def optimize(model: Path) -> int:
    """What a user types."""
    command = [sys.executable, "-m", "taso_opt", "optimize", str(model)]
    print(f"$ tasoopt optimize {model.name}", flush=True)
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
