"""Reads the user's own samples: sets of arrays by input name, from an .npz file or a folder."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np

from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io import ModelInput
from taso_opt.runtime.inputs import Array

MOST_BYTES = 8 << 30
"""What the arrays of one file may take unpacked: an archive of kilobytes can claim to hold any number."""

UNREADABLE = (OSError, ValueError, EOFError, BadZipFile, zlib.error, TokenError, MemoryError, RuntimeError)
"""What NumPy and the archive raise on a file that is not what it should be; nothing in it is executed.

TokenError stands for a header that ends too early, MemoryError for one that claims a size without end, RuntimeError for
one that is nested too deep and for an archive that is encrypted or packed in a way that is not known.
"""

Sample = Mapping[str, Array]


def read_samples(path: Path | None, inputs: Sequence[ModelInput]) -> tuple[Sample, ...]:
    """Sets of arrays by input name, none without a path; inputs that a set lacks are drawn at random later.

    An .npz file is one set; a folder of .npz files is one set for each, in the order of their names; a folder of .npy
    files is one set, each file named after its input. Raises InvalidInputError for what cannot be read or does not fit
    the inputs.
    """
    try:
        return () if path is None else _samples(path, inputs)
    except OSError as error:
        raise InvalidInputError(f"expected .npz or .npy files, found {path}: {error.strerror}") from error


def _samples(path: Path, inputs: Sequence[ModelInput]) -> tuple[Sample, ...]:
    if not path.is_dir():
        return (_archive(path, inputs),)
    archives, arrays = sorted(path.glob("*.npz")), sorted(path.glob("*.npy"))
    if archives:
        return tuple(_archive(file, inputs) for file in archives)
    if not arrays:
        raise InvalidInputError(f"expected .npz or .npy files in the folder {path}, found none")
    return (_checked(path, {file.stem: _array(file) for file in arrays}, inputs),)


def _archive(path: Path, inputs: Sequence[ModelInput]) -> Sample:
    if not path.is_file() or not is_zipfile(path):
        raise InvalidInputError(f"expected an .npz file of arrays, found {path}: {_kind(path)}")
    try:
        with ZipFile(path) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
        if size > MOST_BYTES:
            raise InvalidInputError(f"expected at most {MOST_BYTES} bytes of arrays, found {size} in {path}")
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except UNREADABLE as error:
        raise InvalidInputError(f"expected an .npz file of arrays, found {path}: {error}") from error
    return _checked(path, arrays, inputs)


def _kind(path: Path) -> str:
    if not path.exists():
        return "no such file"
    return "a file of another kind" if path.is_file() else "no regular file"


def _array(path: Path) -> Array:
    try:
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            with path.open("rb") as stream:
                found: Array = np.lib.format.read_array(stream, allow_pickle=False)
            return found
    except UNREADABLE as error:
        raise InvalidInputError(f"expected an .npy file of an array, found {path}: {error}") from error
    raise InvalidInputError(f"expected an .npy file of at most {MOST_BYTES} bytes, found {path}")


def _checked(path: Path, arrays: Sample, inputs: Sequence[ModelInput]) -> Sample:
    known = {entry.name: entry for entry in inputs}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or name not in known:
            names = ", ".join(known) or "none"
            raise InvalidInputError(f"expected names of inputs ({names}) in {path}, found {name!r}")
    found = {name: array.astype(_dtype(array), copy=False) for name, array in arrays.items()}
    for name, array in found.items():
        _check_sample(path, known[name], array)
    return found


def _dtype(array: Array) -> np.dtype[np.generic]:
    """How runtimes take an array: numbers in the order of bytes of the machine, text as objects of Python."""
    return np.dtype(object) if array.dtype.kind == "U" else array.dtype.newbyteorder("=")


def _check_sample(path: Path, wanted: ModelInput, array: Array) -> None:
    fits = len(array.shape) == len(wanted.shape) and all(
        not isinstance(dim, int) or dim == size for dim, size in zip(wanted.shape, array.shape, strict=True)
    )
    if array.dtype.name != wanted.dtype or not fits:
        expected, found = f"{wanted.dtype}{list(wanted.shape)}", f"{array.dtype.name}{list(array.shape)}"
        raise InvalidInputError(f"expected {expected} for input {wanted.name!r} in {path}, found {found}")
