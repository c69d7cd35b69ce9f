"""Writes benchmark networks as ONNX files: one by name, or all of them into a folder."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
import onnx

from networks import NETWORKS
from networks.light import LIGHT_FILES, light_model

LIGHT: dict[str, Callable[[], onnx.ModelProto]] = {f"light_{name}": partial(light_model, name) for name in LIGHT_FILES}


@click.command()
@click.argument("name", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write [default: NAME.onnx].")
@click.option("--list", "only_list", is_flag=True, help="Show the names of all networks and stop.")
@click.option("--all", "folder", type=click.Path(path_type=Path), help="Write every network of scripts/networks here.")
def main(name: str | None, output: Path | None, only_list: bool, folder: Path | None) -> None:
    """Write the benchmark network NAME, with fixed random weights, to a file."""
    if (name is not None) + only_list + (folder is not None) != 1:
        raise click.UsageError("expected one of NAME, --list and --all DIR")
    if output is not None and name is None:
        raise click.UsageError("expected a NAME beside --output")
    if only_list:
        print("\n".join([*NETWORKS, *LIGHT]))
    elif folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for known, build in NETWORKS.items():
            _write(build(), folder / f"{known}.onnx")
    elif name is not None:
        if name not in NETWORKS | LIGHT:
            raise click.UsageError(f"expected a name that --list shows, found {name!r}")
        _write((NETWORKS | LIGHT)[name](), output or Path(f"{name}.onnx"))


def _write(model: onnx.ModelProto, path: Path) -> None:
    try:
        onnx.save(model, path)
    except OSError as error:
        raise click.ClickException(f"expected to write {path}: {error}") from error
    print(f"{path}: {len(model.graph.node)} nodes, {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
