"""The models that the benchmarks are about: networks, light structures and pre-trained models."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import onnx

from fetch_models import PRETRAINED, fetch
from networks import NETWORKS
from networks.light import light_model
from taso_opt.errors import TasoError

DIMS = {"silero_vad": {"unnamed_1": 256, "unnamed_2": 1}}
"""Sizes of symbolic dims where the runtime refuses to run a model at the tool's default ones."""

LIGHT_BENCHED = ("inception_v1", "alexnet", "zfnet512")
"""Structures of the onnx package with random weights that no benchmark network has a like of."""


def models(names: Sequence[str], folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Name, kind and file of each model; networks are built here, pre-trained ones fetched and copied.

    Raises click.UsageError for a name that no model has.
    """
    unknown = set(names) - set(NETWORKS) - set(LIGHT_BENCHED) - set(PRETRAINED)
    if unknown:
        raise click.UsageError(f"expected names of networks or models, found {', '.join(sorted(unknown))}")
    for name, build in NETWORKS.items():
        if not names or name in names:
            path = folder / f"{name}.onnx"
            onnx.save(build(), path)
            yield name, "network", path
    for name in LIGHT_BENCHED:
        if not names or name in names:
            path = folder / f"{name}.onnx"
            onnx.save(light_model(name), path)
            yield name, "light structure", path
    for name in PRETRAINED:
        if not names or name in names:
            try:
                fetched = fetch(name)
            except TasoError as error:
                print(f"{name}: skipped, {error}", file=sys.stderr)
                continue
            path = folder / f"{name}.onnx"
            path.write_bytes(fetched.read_bytes())
            yield name, "pre-trained", path
