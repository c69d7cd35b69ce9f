"""Makes random models with nnsmith, a public fuzzer of compilers; run it with the Python of an environment that has it.

Usage: PYTHON scripts/nnsmith_models.py FOLDER [--count N] [--seed N] [--nodes N], where PYTHON belongs to an
environment with nnsmith 0.1.0, hydra-core, hydra-colorlog, multipledispatch, appdirs, torch and onnx. Models that
nnsmith or the export of torch gives up on are left out; the files are named after their seeds. Imports nothing of the
tool.
"""

import argparse
import functools
import random
import sys
import warnings
from pathlib import Path


def main() -> int:
    """Write models until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=12)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    _export_as_in_its_day()
    made, seed = 0, options.seed
    while made < options.count:
        try:
            _make(options.folder / f"nnsmith{seed}.onnx", seed, options.nodes)
            made += 1
        except Exception as error:  # noqa: BLE001 - whatever the generator or the export fails on is not our concern
            print(f"seed {seed}: {type(error).__name__}: {str(error).splitlines()[:1]}", file=sys.stderr)
        seed += 1
    print(f"{made} models from {seed - options.seed} seeds")
    return 0


def _export_as_in_its_day() -> None:
    """Make torch export as it did when nnsmith was written."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    torch.onnx.export = functools.partial(torch.onnx.export, dynamo=False)


def _make(path: Path, seed: int, nodes: int) -> None:
    from nnsmith.abstract.extension import activate_ext  # type: ignore[import-not-found, unused-ignore]
    from nnsmith.graph_gen import model_gen  # type: ignore[import-not-found, unused-ignore]
    from nnsmith.materialize import Model  # type: ignore[import-not-found, unused-ignore]
    from nnsmith.narrow_spec import auto_opset  # type: ignore[import-not-found, unused-ignore]

    random.seed(seed)
    kind = Model.init("onnx", backend_target="cpu")
    kind.add_seed_setter()
    opset = auto_opset(kind)
    activate_ext(opset=opset)
    graph = model_gen(opset=opset, method="symbolic-cinit", seed=seed, max_nodes=nodes, timeout_ms=10_000)
    model = kind.from_gir(graph.make_concrete())
    model.refine_weights()
    model.dump(str(path))


if __name__ == "__main__":
    sys.exit(main())
