"""Tensors that hold no data but say in which file it stands: where that is, whether it may be read, reading it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePosixPath

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io.elements import element_name
from taso_opt.onnx_io.scopes import all_tensors
from taso_opt.spec.operator import Array

HALF_BYTE = frozenset({"int4", "uint4", "float4e2m1"})
QUARTER_BYTE = frozenset({"int2", "uint2"})
VALUE_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
"""Where a tensor keeps its elements when it does not keep them raw."""

IN_PLACE = "tasoopt_in_place"
"""What a tensor says besides whose data stayed in the model file (see `in_place`): the state of the file then."""

LONGEST_QUOTE = 160
CHUNK = 1 << 22


@dataclass(frozen=True)
class DataRange:
    """Where the data of one tensor stands: a file name relative to the model's folder, and bytes within that file."""

    location: str
    offset: int
    length: int


def is_external(tensor: TensorProto) -> bool:
    """Whether a tensor says where its data stands, mostly outside the model file, and does not hold it."""
    return tensor.data_location == TensorProto.EXTERNAL


def is_in_place(tensor: TensorProto) -> bool:
    """Whether the data of a tensor stayed in the file of the model that it was read from (see `in_place`)."""
    return is_external(tensor) and any(entry.key == IN_PLACE for entry in tensor.external_data)


def byte_count(tensor: TensorProto) -> int:
    """How many bytes the elements of a tensor take when stored raw; 0 for strings."""
    name = element_name(tensor.data_type)
    elements = prod(int(size) for size in tensor.dims)
    if name in HALF_BYTE:
        return (elements + 1) // 2
    if name in QUARTER_BYTE:
        return (elements + 3) // 4
    return 0 if name == "string" else elements * int(helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)


def _value_count(tensor: TensorProto) -> int:
    """How many entries the elements of a tensor take in the field of its type."""
    name, elements = element_name(tensor.data_type), prod(int(size) for size in tensor.dims)
    if name in HALF_BYTE | QUARTER_BYTE:
        return byte_count(tensor)
    return 2 * elements if name.startswith("complex") else elements


def data_range(tensor: TensorProto) -> DataRange:
    """The place of an external tensor's data; InvalidInputError when it is not stated properly."""
    stated = {entry.key: entry.value for entry in tensor.external_data}
    where = f"for the external data of tensor {tensor.name!r}"
    if not stated.get("location"):
        raise InvalidInputError(f"expected a file name {where}, found none")
    try:
        offset, length = int(stated.get("offset", 0)), int(stated.get("length", byte_count(tensor)))
    except ValueError as error:
        found = f"{stated.get('offset', '0')[:LONGEST_QUOTE]!r} and {stated.get('length', '')[:LONGEST_QUOTE]!r}"
        raise InvalidInputError(f"expected numbers as offset and length {where}, found {found}") from error
    if offset < 0 or length != byte_count(tensor):
        raise InvalidInputError(f"expected {byte_count(tensor)} bytes {where}, found {length} at offset {offset}")
    return DataRange(stated["location"], offset, length)


def refer(tensor: TensorProto, place: DataRange) -> None:
    """Have a tensor find its data elsewhere, and no longer in itself."""
    for field in ("raw_data", "external_data", *VALUE_FIELDS):
        tensor.ClearField(field)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", place.location), ("offset", place.offset), ("length", place.length)):
        tensor.external_data.add(key=key, value=str(value))


def data_beside(model: ModelProto, file: Path) -> Iterator[bytes]:
    """All data that stands beside a model file, tensor by tensor, piece by piece; InvalidInputError as below."""
    for tensor in all_tensors(model):
        if is_external(tensor) and not is_in_place(tensor):
            yield from read_pieces(tensor, file)


def read_pieces(tensor: TensorProto, model: Path) -> Iterator[bytes]:
    """The data of an external tensor of a model file, piece by piece; InvalidInputError as below."""
    place = data_range(tensor)
    with _source(tensor, model).open("rb") as origin:
        origin.seek(place.offset)
        left = place.length
        while left:
            chunk = origin.read(min(CHUNK, left))
            if not chunk:
                raise InvalidInputError(f"expected {left} more bytes of external data for {model}, found its end")
            yield chunk
            left -= len(chunk)


def state(file: Path) -> str:
    """What changes when a file is written over."""
    found = file.stat()
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"


def _source(tensor: TensorProto, model: Path) -> Path:
    """The file with the data of a tensor; InvalidInputError where that is missing, elsewhere or not what was read."""
    found = data_file(model, data_range(tensor).location)
    if any(entry.key == IN_PLACE and entry.value != state(found) for entry in tensor.external_data):
        raise InvalidInputError(f"expected a model file that stays as it is while it is used, found a change: {found}")
    return found


def data_file(model: Path, location: str) -> Path:
    """The file of a location below the folder of a model file; InvalidInputError when it is missing or lies elsewhere.

    Of a model that is a link, data that is one too may lie where the model really does, as in the Hugging Face cache.
    """
    path, quoted = PurePosixPath(location.replace("\\", "/")), repr(location[:LONGEST_QUOTE])
    if path.is_absolute() or ".." in path.parts or "\0" in location or re.match("[A-Za-z]:/", str(path)):
        raise InvalidInputError(f"expected external data within the model's folder, found the location {quoted}")
    found = model.parent / path
    if not _is_file(found):
        raise InvalidInputError(f"expected the external data of the model, found no file {quoted} in {model.parent}")
    real = found.resolve()
    if not any(real.is_relative_to(folder) for folder in (model.parent.resolve(), model.resolve().parent)):
        raise InvalidInputError(f"expected external data within the model's folder, found a link in {quoted}")
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, for one
        return False


def check_tensors(model: ModelProto, file: Path) -> None:
    """Check that every tensor of a model has the data that its type says, without reading it."""
    for tensor in all_tensors(model):
        if any(size < 0 for size in tensor.dims):
            raise InvalidInputError(f"expected sizes of 0 or more in tensor {tensor.name!r}, found {list(tensor.dims)}")
        if element_name(tensor.data_type) == "unknown":
            raise InvalidInputError(f"expected an element type in tensor {tensor.name!r}, found {tensor.data_type}")
        if tensor.HasField("segment"):
            raise InvalidInputError(f"expected whole tensors, found a segment of tensor {tensor.name!r}")
        if is_external(tensor):
            _check_external(tensor, file)
        else:
            _check_inline(tensor)


def _check_inline(tensor: TensorProto) -> None:
    raw = tensor.HasField("raw_data")
    found = len(tensor.raw_data) if raw else sum(len(getattr(tensor, field)) for field in VALUE_FIELDS)
    expected = byte_count(tensor) if raw else _value_count(tensor)
    if found != expected:
        unit = "bytes" if raw else "values"
        raise InvalidInputError(f"expected {expected} {unit} in tensor {tensor.name!r}, found {found}")


def _check_external(tensor: TensorProto, model: Path) -> None:
    place = data_range(tensor)
    size = data_file(model, place.location).stat().st_size
    if size < place.offset + place.length:
        raise InvalidInputError(
            f"expected {place.offset + place.length} bytes of external data in {place.location!r}, found {size}"
        )


def raw_data(tensor: TensorProto, model: Path) -> bytes:
    """The stored bytes of an external tensor of a model file."""
    place = data_range(tensor)
    with _source(tensor, model).open("rb") as stream:
        stream.seek(place.offset)
        found = stream.read(place.length)
    if len(found) != place.length:
        raise InvalidInputError(f"expected {place.length} bytes of external data for {model}, found {len(found)}")
    return found


def read_in(tensor: TensorProto, model: Path) -> None:
    """Have a tensor, external or not, hold its data itself."""
    if is_external(tensor):
        tensor.raw_data = raw_data(tensor, model)
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")


def stored(tensor: TensorProto) -> bytes:
    """The bytes of an inline tensor, as they are stored: elements of less than a byte share one."""
    if tensor.HasField("raw_data"):
        return bytes(tensor.raw_data)
    array = numpy_helper.to_array(tensor)
    if element_name(tensor.data_type) in HALF_BYTE | QUARTER_BYTE:
        return bytes(numpy_helper.from_array(array).raw_data)
    return array.tobytes()


def tensor_array(tensor: TensorProto, model: Path) -> Array:
    """The value of a tensor of a model file; data beside it is mapped, not read, where its element type allows."""
    if not is_external(tensor):
        return numpy_helper.to_array(tensor)
    if element_name(tensor.data_type) in HALF_BYTE | QUARTER_BYTE:
        packed = raw_data(tensor, model)
        return numpy_helper.to_array(TensorProto(data_type=tensor.data_type, dims=tensor.dims, raw_data=packed))
    place, dtype = data_range(tensor), helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if place.length == 0:
        return np.zeros(tuple(tensor.dims), dtype)
    if is_in_place(tensor):  # the file may be written over by its owner
        return np.frombuffer(raw_data(tensor, model), dtype).reshape(tuple(tensor.dims))
    try:
        raw = np.memmap(_source(tensor, model), np.uint8, "r", place.offset, (place.length,))
    except ValueError as error:
        raise InvalidInputError(f"expected {place.length} bytes of external data for {model}, found less") from error
    return raw.view(dtype).reshape(tuple(tensor.dims))
