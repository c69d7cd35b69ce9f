"""Models of large files without the weights in them: these stay where they are until they are needed.

Such a weight, an initializer stored raw, becomes external data of the model, whose file is the model's own. So a graph
of a few megabytes stands for a file of hundreds, copies of it cost nothing, and what is written takes its bytes
straight from the file. What the reference says besides tells whether the file is still the one that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import GraphProto, ModelProto, TensorProto

from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io.files.external import (
    IN_PLACE,
    DataRange,
    data_file,
    data_range,
    is_external,
    is_in_place,
    read_pieces,
    refer,
    state,
)
from taso_opt.onnx_io.files.wire import LARGEST_MESSAGE, WITH_LENGTH, Content, Field, fields, header

LARGE_FILE = 128 << 20
"""From so many bytes on the weights of a model file stay in it."""

SMALLEST = 1 << 16
"""Bytes of a weight that stays; smaller ones are looked at more often."""

MOST_FIELDS, MOST_OF_TENSOR = 1 << 20, 64
"""Of a model or a graph, and of a tensor whose data stays: each takes a microsecond or two."""

GRAPH = ModelProto.GRAPH_FIELD_NUMBER
INITIALIZER = GraphProto.INITIALIZER_FIELD_NUMBER
RAW_DATA = TensorProto.RAW_DATA_FIELD_NUMBER

Piece = bytes | DataRange
"""What is written next: bytes, or those that stand at a place of the file that the model was read from."""


def model_in_place(path: Path) -> ModelProto | None:
    """The model of a large file, its large weights external data in this very file; None for any other file.

    That is one of less than LARGE_FILE bytes, one whose name cannot be that of external data, one without such weights,
    and one that is no model or is written in an unusual way.
    """
    if path.stat().st_size < LARGE_FILE:
        return None
    try:
        if not data_file(path, path.name).samefile(path):
            return None
        found = _without_weights(path)
        if found is None:
            return None
        model = ModelProto()
        model.ParseFromString(found)
        return model
    except (InvalidInputError, DecodeError, ValueError):
        return None


def write_whole(proto: ModelProto, original: Path, stream: BinaryIO) -> None:
    """Write a model with those weights that stayed in the file it was read from, which are never in memory.

    Other external data stays external. Raises EncodeError or ValueError for a model of more than 2 GB, and
    InvalidInputError where the file is not the one that was read.
    """
    content = proto.SerializeToString()
    if not any(map(is_in_place, proto.graph.initializer)):
        stream.write(content)
        return
    pieces = list(_pieces(content, proto))
    if sum(map(_size, pieces)) > LARGEST_MESSAGE:
        raise ValueError(f"expected at most {LARGEST_MESSAGE} bytes, found more")
    by_place = {data_range(tensor): tensor for tensor in proto.graph.initializer if is_in_place(tensor)}
    for piece in pieces:
        if isinstance(piece, DataRange):
            stream.writelines(read_pieces(by_place[piece], original))
        else:
            stream.write(piece)


def _size(piece: Piece) -> int:
    return piece.length if isinstance(piece, DataRange) else len(piece)


def _pieces(content: bytes, proto: ModelProto) -> Iterator[Piece]:
    """The bytes of a model with its weights in it, from those without."""
    source = Content(BytesIO(content))
    for field in fields(source, 0, len(content), MOST_FIELDS):
        if field.number == GRAPH:
            graph = list(_pieces_of_graph(source, field, proto.graph))
            yield header(GRAPH, sum(map(_size, graph)))
            yield from graph
        else:
            yield source.part(field.start, field.end)


def _pieces_of_graph(source: Content, graph: Field, proto: GraphProto) -> Iterator[Piece]:
    initializers = iter(proto.initializer)
    for field in fields(source, graph.value, graph.end, MOST_FIELDS):
        tensor = next(initializers) if field.number == INITIALIZER else None
        if tensor is None or not is_in_place(tensor):
            yield source.part(field.start, field.end)
            continue
        start, data = TensorProto(), data_range(tensor)
        start.CopyFrom(tensor)
        start.ClearField("external_data")
        start.ClearField("data_location")
        before = start.SerializeToString() + header(RAW_DATA, data.length)
        yield header(INITIALIZER, len(before) + data.length) + before
        yield data


def _without_weights(path: Path) -> bytes | None:
    """A model's bytes with references to its file in place of its large weights; None where it has none."""
    with path.open("rb") as stream:
        content, found = Content(stream), state(path)

        def referring(tensor: Field) -> bytes | None:
            return _referring(content, tensor, path.name, found)

        def of_graph(graph: Field) -> bytes | None:
            return _replaced(content, graph.value, graph.end, INITIALIZER, referring)

        return _replaced(content, 0, path.stat().st_size, GRAPH, of_graph)


def _replaced(
    content: Content, start: int, end: int, number: int, value: Callable[[Field], bytes | None]
) -> bytes | None:
    """A message in which the fields of a number have other values, those for which there is one; None without any."""
    parts, at = [], start
    for field in fields(content, start, end, MOST_FIELDS):
        found = value(field) if field.number == number and field.kind == WITH_LENGTH else None
        if found is not None:
            parts += [content.part(at, field.start), header(number, len(found)), found]
            at = field.end
    return b"".join((*parts, content.part(at, end))) if parts else None


def _referring(content: Content, tensor: Field, name: str, found: str) -> bytes | None:
    """A tensor that refers to its data; None where that is small, elsewhere, or stored in another way."""
    if tensor.end - tensor.value < SMALLEST:
        return None
    parts = list(fields(content, tensor.value, tensor.end, MOST_OF_TENSOR))
    raw = [part for part in parts if part.number == RAW_DATA]
    if len(raw) != 1 or raw[0].end - raw[0].value < SMALLEST:
        return None
    bare = TensorProto.FromString(b"".join(content.part(part.start, part.end) for part in parts if part != raw[0]))
    if is_external(bare):
        return None
    refer(bare, DataRange(name, raw[0].value, raw[0].end - raw[0].value))
    bare.external_data.add(key=IN_PLACE, value=found)
    return bytes(bare.SerializeToString())
