"""The inputs on which a rewritten model is compared with the original: seeded random ones, or the user's samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io import ModelInput
from taso_opt.runtime import InputSpec, random_inputs
from taso_opt.runtime.inputs import Array

SEEDS = 3
TIMING_SEEDS = 64
TIMING_BYTES = 32 << 20
"""So many sets of inputs are timed in turn, as far as they fit into so many bytes."""


def timing_feeds(
    inputs: Sequence[ModelInput], samples: Mapping[str, Array], seed: int
) -> tuple[Mapping[str, Array], ...]:
    """Sets of inputs for the timing: as `sample_feeds`, but more of them."""
    (first, *_) = sample_feeds(inputs, samples, seed, 1)
    draws = max(1, min(TIMING_SEEDS, TIMING_BYTES // max(sum(array.nbytes for array in first.values()), 1)))
    return tuple(sample_feeds(inputs, samples, seed, draws))


def sample_feeds(
    inputs: Sequence[ModelInput], samples: Mapping[str, Array], seed: int, draws: int = SEEDS
) -> list[Mapping[str, Array]]:
    """Sets of inputs for the comparison.

    Random ones are drawn at the bound shapes of the inputs; `samples` take their place where they are given. Raises
    UnsupportedError for an input that cannot be drawn at random.
    """
    specs = [
        InputSpec(entry.name, entry.dtype, entry.shape if entry.bound is None else entry.bound)
        for entry in inputs
        if entry.name not in samples
    ]
    draws = 1 if samples and not specs else draws
    return [{**random_inputs(specs, seed + draw), **samples} for draw in range(draws)]


def read_samples(path: Path | None, inputs: Sequence[ModelInput]) -> dict[str, Array]:
    """The arrays of an .npz file by input name, none without a file; nothing in it is executed.

    Raises InvalidInputError for a file that is no archive of arrays or does not fit the inputs.
    """
    if path is None:
        return {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, AttributeError, BadZipFile) as error:
        raise InvalidInputError(f"expected an .npz file of arrays, found {path}: {error}") from error
    known = {entry.name: entry for entry in inputs}
    for name, array in arrays.items():
        if name not in known:
            names = ", ".join(known) or "none"
            raise InvalidInputError(f"expected names of inputs ({names}) in {path}, found {name!r}")
        _check_sample(path, known[name], array)
    return arrays


def _check_sample(path: Path, wanted: ModelInput, array: Array) -> None:
    fits = len(array.shape) == len(wanted.shape) and all(
        not isinstance(dim, int) or dim == size for dim, size in zip(wanted.shape, array.shape, strict=True)
    )
    if array.dtype.name != wanted.dtype or not fits:
        expected, found = f"{wanted.dtype}{list(wanted.shape)}", f"{array.dtype.name}{list(array.shape)}"
        raise InvalidInputError(f"expected {expected} for input {wanted.name!r} in {path}, found {found}")
