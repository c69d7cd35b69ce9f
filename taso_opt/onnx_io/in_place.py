"""Models of large files without the weights in them: these stay where they are until they are needed.

Such a weight becomes external data of the model, whose file is the model's own. So a graph of a few megabytes stands
for a file of hundreds, copies of it cost nothing, and what is written takes its bytes straight from the file.
"""

from __future__ import annotations

from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]
from onnx import GraphProto, ModelProto, TensorProto

from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io.external import DataRange, copy_range, data_file, data_range, is_external, refer
from taso_opt.onnx_io.wire import Field, fields, header

M = TypeVar("M", ModelProto, GraphProto)

LARGE_FILE = 128 << 20
"""From so many bytes on the weights of a model file stay in it."""

SMALLEST = 1 << 16
"""Bytes of a weight that stays; smaller ones are looked at more often."""

GRAPH = ModelProto.GRAPH_FIELD_NUMBER
INITIALIZER = GraphProto.INITIALIZER_FIELD_NUMBER
RAW_DATA = TensorProto.RAW_DATA_FIELD_NUMBER
LARGEST = 2**31 - 1
"""Bytes of a message that protobuf reads."""


def model_in_place(path: Path) -> ModelProto | None:
    """The model of a large file, its large weights external data in this very file; None for any other file.

    That is one of less than LARGE_FILE bytes, one whose name cannot be that of external data, and one that is no model
    or is written in an unusual way.
    """
    if path.stat().st_size < LARGE_FILE:
        return None
    try:
        if not data_file(path, path.name).samefile(path):
            return None
        with path.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as content:
            model = ModelProto()
            model.ParseFromString(_without_weights(content, path.name))
            return model
    except (InvalidInputError, DecodeError, ValueError):
        return None


def is_in_place(tensor: TensorProto, model: Path) -> bool:
    """Whether the data of a tensor stands in the file of the model that it was read from."""
    stated = (entry.value for entry in tensor.external_data if entry.key == "location")
    return is_external(tensor) and model.name in stated


def write_whole(proto: ModelProto, original: Path, stream: BinaryIO) -> None:
    """Write a model with those weights that stand in the file it was read from, which are never in memory.

    Other external data stays external. Raises EncodeError or ValueError for a model of more than 2 GB.
    """
    if not any(is_in_place(tensor, original) for tensor in proto.graph.initializer):
        stream.write(proto.SerializeToString())
        return
    weights = [_Weight.of(tensor, original) for tensor in proto.graph.initializer]
    start = _without(proto.graph, INITIALIZER).SerializeToString()
    size = len(start) + sum(len(header(INITIALIZER, weight.size)) + weight.size for weight in weights)
    if size > LARGEST:
        raise ValueError(f"expected at most {LARGEST} bytes, found {size}")
    stream.write(_without(proto, GRAPH).SerializeToString() + header(GRAPH, size) + start)
    for weight in weights:
        stream.write(header(INITIALIZER, weight.size) + weight.start.SerializeToString())
        if weight.data is not None:
            stream.write(header(RAW_DATA, weight.data.length))
            copy_range(original, weight.data, stream)


def _without(message: M, field: int) -> M:
    """A copy of a message without one of its fields, which may be large and is not copied."""
    copy = type(message)()
    for kind, value in message.ListFields():
        if kind.number == field:
            continue
        if isinstance(value, Message):
            getattr(copy, kind.name).CopyFrom(value)
        elif isinstance(value, str | bytes | int | float):
            setattr(copy, kind.name, value)
        else:
            getattr(copy, kind.name).extend(value)
    return copy


class _Weight(NamedTuple):
    """An initializer as it is written: a message to begin with, the data that follows it, and how long both are."""

    start: TensorProto
    data: DataRange | None
    size: int

    @classmethod
    def of(cls, tensor: TensorProto, original: Path) -> _Weight:
        if not is_in_place(tensor, original):
            return cls(tensor, None, tensor.ByteSize())
        start, data = TensorProto(), data_range(tensor)
        start.CopyFrom(tensor)
        start.ClearField("external_data")
        start.ClearField("data_location")
        return cls(start, data, start.ByteSize() + len(header(RAW_DATA, data.length)) + data.length)


def _without_weights(content: mmap, name: str) -> bytes:
    """A model's bytes with references to the file, of this name, in place of its large weights."""
    return b"".join(
        _rewritten(content, field, _graph(content, field, name) if field.number == GRAPH else None)
        for field in fields(content, 0, len(content))
    )


def _graph(content: mmap, graph: Field, name: str) -> bytes:
    return b"".join(
        _rewritten(content, field, _referring(content, field, name) if field.number == INITIALIZER else None)
        for field in fields(content, graph.value, graph.end)
    )


def _referring(content: mmap, tensor: Field, name: str) -> bytes | None:
    """A tensor that refers to its data; None where that is small, elsewhere, or stored in another way."""
    parts = list(fields(content, tensor.value, tensor.end))
    raw = [part for part in parts if part.number == RAW_DATA]
    if len(raw) != 1 or raw[0].end - raw[0].value < SMALLEST:
        return None
    bare = TensorProto.FromString(b"".join(content[part.start : part.end] for part in parts if part != raw[0]))
    if is_external(bare):
        return None
    refer(bare, DataRange(name, raw[0].value, raw[0].end - raw[0].value))
    return bytes(bare.SerializeToString())


def _rewritten(content: mmap, field: Field, value: bytes | None) -> bytes:
    """A field with another value, or as it stands."""
    return content[field.start : field.end] if value is None else header(field.number, len(value)) + value
