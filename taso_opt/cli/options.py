"""Options that several commands have: where models run, how their random inputs are drawn, which sizes they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from taso_opt.core.rule import FpClass
from taso_opt.errors import UsageError

DEVICE = "Where the model runs; auto: what `tasoopt doctor` names."
CUDA = "An option of the CUDA provider that you run it with, such as enable_cuda_graph=1."
RUNTIME = "What runs the model where it is used: costs and speed are measured there."
THREADS = "Threads of the runtime; 0: its own choice."
SEED = "Seed of the random inputs."
FP_CLASS = "How rounding may differ: E0 only moves data, E3 folds constants and uses tiles too, E4 may overflow."
DIM = "A number for a symbolic dim"
FP_CLASSES = [name.value for name in FpClass]
RUNTIMES = click.Choice(["onnxruntime", "openvino"])

MOST_SIZES = 16
LONGEST_NUMBER = 18
"""Digits; Python refuses to read numbers of thousands of them, and no size has as many as twenty."""


def parse_dims(values: tuple[str, ...]) -> dict[str, int]:
    """Read `--dim NAME=N` options; UsageError for anything else than one positive whole number."""
    dims = parse_sizes(values)
    for name, sizes in dims.items():
        if len(sizes) > 1:
            raise UsageError(f"expected one size for dim {name!r}, found {len(sizes)}")
    return {name: sizes[0] for name, sizes in dims.items()}


def parse_sizes(values: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """Read `--dim NAME=N[,N..]` options; UsageError for anything else than positive whole numbers."""
    dims: dict[str, tuple[int, ...]] = {}
    for text in values:
        name, separator, numbers = text.rpartition("=")
        parts = numbers.split(",")
        if not separator or not name or len(parts) > MOST_SIZES or not all(map(_is_size, parts)):
            raise UsageError(f"expected --dim NAME=N with a positive whole number, found {text!r}")
        if name in dims:
            raise UsageError(f"expected one --dim for {name!r}, found two")
        dims[name] = tuple(map(int, parts))
    return dims


def _is_size(text: str) -> bool:
    return text.isdecimal() and len(text) <= LONGEST_NUMBER and int(text) > 0


def read_options(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Options of a provider as `NAME=VALUE`; UsageError for anything else."""
    found = [text.partition("=") for text in values]
    for name, _, value in found:
        if not name or not value:
            raise UsageError(f"expected --cuda-option NAME=VALUE, found {name!r}")
    return {name: value for name, _, value in found}


seed_option = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="N", help=SEED)
fp_class_option = click.option(
    "--fp-class", type=click.Choice(FP_CLASSES), default="E3", show_default=True, help=FP_CLASS
)
cuda_option = click.option(
    "--cuda-option", "cuda_options", multiple=True, metavar="NAME=VALUE", callback=read_options, help=CUDA
)
WHERE = (
    click.option(
        "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True, help=DEVICE
    ),
    cuda_option,
    click.option("--runtime", type=RUNTIMES, default="onnxruntime", show_default=True, help=RUNTIME),
    click.option("--threads", type=click.IntRange(0, 1024), default=1, show_default=True, metavar="N", help=THREADS),
)


def where_it_runs(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say on what a model runs and is measured."""
    for option in reversed(WHERE):
        command = option(command)
    return command
