"""Seeded random inputs for a model, from the names, types and shapes of its inputs."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taso_opt.errors import UnsupportedError

Array = NDArray[Any]
Dim = int | str | None

MOST_ELEMENTS = 1 << 28
"""Random numbers beyond a gigabyte are not drawn: a hostile or mistaken shape must not take all memory."""

ENOUGH_DIFFERENT = 16_381
"""Of numbers where only time counts: a prime, so that hardly any two rows or channels of a tensor are the same."""

FEW_INTEGERS = 10
"""As many whole numbers, from 0 on, are drawn where nothing says how many: most often they are lengths or choices."""


@dataclass(frozen=True)
class InputSpec:
    """Name, NumPy type name ('float32', 'bool', 'object' for strings) and shape of a model's input or output.

    A dim is an int, a symbol's name, or None where nothing is known. A value that is no tensor, or of a type that
    NumPy lacks, keeps the runtime's own spelling as its dtype ('seq(tensor(float))'). Whole numbers that name places
    lie `below` the number of places.
    """

    name: str
    dtype: str
    shape: tuple[Dim, ...]
    below: int = FEW_INTEGERS


def add_array(digest: Any, array: Array) -> None:
    """Let a digest depend on the type, the shape and the values of an array."""
    digest.update(f"{array.dtype} {array.shape}".encode())
    digest.update(str(array.tolist()).encode() if array.dtype.hasobject else array.tobytes())


def with_sizes(specs: Iterable[InputSpec]) -> tuple[InputSpec, ...]:
    """The specs with 1 for every dim that is free."""

    def size(dim: Dim) -> int:
        return dim if isinstance(dim, int) and dim >= 0 else 1

    return tuple(replace(spec, shape=tuple(map(size, spec.shape))) for spec in specs)


def random_inputs(specs: Iterable[InputSpec], seed: int, different: int = MOST_ELEMENTS) -> dict[str, Array]:
    """One array for each spec: floats normal(0, 1), fair booleans, strings 's0' to 's9', whole numbers below a bound.

    An array depends on its name, type, shape, bound and the seed alone, not on the other inputs. Floats of which only
    so many are `different` come from one list, each array from a place of its own and over again from its beginning,
    which takes a fraction of the time. Shapes must be concrete (see with_sizes); raises UnsupportedError for a type
    that NumPy cannot hold, for a dim that is not bound and for more than MOST_ELEMENTS numbers in all.
    """
    specs = list(specs)
    elements = sum(prod(_concrete(spec)) for spec in specs)
    if elements > MOST_ELEMENTS:
        raise UnsupportedError(f"expected at most {MOST_ELEMENTS} elements in all random inputs, found {elements}")
    return {spec.name: _random_array(spec, seed, different) for spec in specs}


def _random_array(spec: InputSpec, seed: int, different: int) -> Array:
    shape = _concrete(spec)
    dtype = _numpy_type(spec)
    generator = np.random.default_rng([seed, zlib.crc32(spec.name.encode())])
    if dtype.kind == "f" and different < MOST_ELEMENTS:
        first = zlib.crc32(spec.name.encode()) % different
        numbers = _normal_numbers_twice(seed, different, dtype)
        count = prod(shape)
        if count <= different:  # copied, since pieces of long lists lie so far apart that they share places in caches
            return numbers[first : first + count].reshape(shape).copy()
        return np.resize(numbers[first : first + different], shape)
    if dtype.kind == "f":
        return generator.standard_normal(shape).astype(dtype, copy=False)
    if dtype.kind in "iu":
        return np.asarray(generator.integers(0, spec.below, shape), dtype)
    if dtype.kind == "b":
        return np.asarray(generator.integers(0, 2, shape), dtype)
    numbers = np.asarray(generator.integers(0, FEW_INTEGERS, shape))
    strings = np.empty(shape, object)
    strings[...] = np.char.add("s", numbers.astype(str))
    return strings


@cache
def _normal_numbers_twice(seed: int, count: int, dtype: np.dtype[Any]) -> Array:
    """So many numbers and all of them again, so that from every place on as many follow."""
    numbers = np.random.default_rng(seed).standard_normal(count).astype(dtype, copy=False)
    return np.concatenate([numbers, numbers])


def _concrete(spec: InputSpec) -> tuple[int, ...]:
    sizes = tuple(dim for dim in spec.shape if isinstance(dim, int))
    if len(sizes) != len(spec.shape):
        raise UnsupportedError(f"expected a concrete shape for input {spec.name!r}, found {spec.shape}")
    return sizes


def _numpy_type(spec: InputSpec) -> np.dtype[Any]:
    try:
        dtype = np.dtype(spec.dtype)
    except TypeError:
        dtype = np.dtype("V1")
    if dtype.kind not in "fiubO":
        raise UnsupportedError(
            f"expected a float, integer, boolean or string tensor for random input {spec.name!r}, found {spec.dtype}"
        )
    return dtype
