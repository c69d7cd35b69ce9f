"""Puts a model on disk in one step, with the external data it needs, never touching the files it came from."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from google.protobuf.message import EncodeError  # type: ignore[import-untyped]
from onnx import ModelProto, TensorProto

from taso_opt.core.machine.scratch import scratch_file
from taso_opt.errors import InvalidInputError, UsageError
from taso_opt.onnx_io.files.external import (
    DataRange,
    byte_count,
    data_file,
    data_range,
    is_external,
    is_in_place,
    read_in,
    read_pieces,
    refer,
    stored,
)
from taso_opt.onnx_io.files.in_place import write_whole
from taso_opt.onnx_io.files.load import load_model
from taso_opt.onnx_io.scopes import all_tensors

INLINE_LIMIT = 1_500_000_000
"""Bytes of weights that stand in the model file itself; a protobuf file cannot exceed 2 GB."""

SMALLEST_EXTERNAL = 1024
ALIGNMENT = 4096


def save_atomically(
    proto: ModelProto,
    out: Path,
    *,
    original: Path,
    source: ModelProto | None = None,
    force: bool = False,
    durable: bool = True,
    inline_limit: int = INLINE_LIMIT,
) -> None:
    """Write a model made from the file `original`, which holds `source`, to `out`: all or nothing, at any moment.

    External tensors keep their references when `out` is in the same folder and their data is more than a link there,
    else their data goes to `<out>.data`; inline tensors, among them those whose data stayed in the original model file,
    go there too when together they pass `inline_limit` bytes. Raises UsageError when `out` exists and `force` is not
    set, when it is the original file or one of its data under any name, or when its folder cannot be written. Without
    `durable` it does not wait for the disk: for files that are soon deleted.
    """
    check_output(out, original, force)
    locations = _locations(proto) | _locations(source)
    _check_no_data(out, locations, original)
    moved = _tensors_to_move(proto, out, original, inline_limit)
    if not moved:
        with _replacing(out, durable=durable) as (stream,):
            _write(proto, original, stream)
        return
    result = ModelProto()
    result.CopyFrom(proto)
    data = _data_path(out, locations, original, force)
    with _replacing(data, out, durable=durable) as (data_stream, stream):
        for at, tensor in enumerate(all_tensors(result)):
            if at in moved:
                _move(tensor, data_stream, original, data.name)
        _write(result, original, stream)


def save_copy(made: Path, out: Path, *, original: Path, source: ModelProto, force: bool = False) -> None:
    """Copy a file of a model that needs no other to `out`, with the care and the errors of `save_atomically`."""
    check_output(out, original, force)
    _check_no_data(out, _locations(source), original)
    with _replacing(out) as (stream,):
        _copy_file(made, stream)


def copy_unchanged(original: Path, proto: ModelProto, out: Path, *, force: bool = False) -> None:
    """Copy a model file byte for byte, and the files of its external data beside it under their own names.

    Beside a model whose data are links that only it may follow, being one too, the data goes to `<out>.data`. Raises
    UsageError as `save_atomically` does, and when a data file of another content is in the way without `force`.
    """
    check_output(out, original, force)
    locations = _locations(proto)
    _check_no_data(out, locations, original)
    if _is_same(out.parent, original.parent) and not all(_stays(location, out, original) for location in locations):
        save_atomically(proto, out, original=original, force=force)
        return
    copies = [*_copies(original, proto, out, force), (original, out)]
    with _replacing(*(target for _, target in copies)) as streams:
        for (source, _), stream in zip(copies, streams, strict=True):
            _copy_file(source, stream)


def check_output(out: Path, original: Path, force: bool) -> None:
    """Check that a file may be written: UsageError in one sentence when it must not."""
    try:
        _check_place(out, original, force)
    except (OSError, ValueError) as error:  # a name that is too long or holds a zero, for one
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"expected a file name that can be written, found {str(out)[:80]!r}: {reason}") from error


def _check_place(out: Path, original: Path, force: bool) -> None:
    if out.is_dir():
        raise UsageError(f"expected a file to write, found a folder: {out}")
    if not out.parent.is_dir():
        raise UsageError(f"expected a folder to write to, found none at {out.parent}")
    if out.exists() and not out.is_file():
        raise UsageError(f"expected a file to write, found no regular file: {out}")
    if _is_same(out, original):
        raise UsageError(f"expected an output other than the input, found {out} for both")
    if os.path.lexists(out) and not force:
        raise UsageError(f"expected no file at {out}, found one (--force replaces it)")
    try:
        with scratch_file(out.parent):
            pass  # permissions do not tell of every folder whether a file can be made in it
    except OSError as error:
        raise UsageError(f"expected a folder that can be written, found {out.parent}") from error


def check_data(out: Path, proto: ModelProto, original: Path, force: bool) -> None:
    """Check the files that may be written beside `out`, and that it is none of those of a model read from `original`.

    Raises UsageError in one sentence when one of them must not be written.
    """
    locations = _locations(proto)
    _check_no_data(out, locations, original)
    _copies(original, proto, out, force)
    if _tensors_to_move(proto, out, original, INLINE_LIMIT):
        _data_path(out, locations, original, force)


def data_files(original: Path) -> list[Path]:
    """The files beside a model file that hold its external data; InvalidInputError when it cannot be read."""
    return [original.parent / location for location in _locations(load_model(original))]


def _check_no_data(out: Path, locations: Iterable[str], original: Path) -> None:
    for location in locations:
        if _is_same(out, original.parent / location) or out == out.parent / location:
            raise UsageError(f"expected an output other than the data of the input, found {out} for both")


def _locations(proto: ModelProto | None) -> dict[str, None]:
    """The names of the files beside the model file that hold external data of a model, each once."""
    tensors = all_tensors(proto) if proto is not None else ()
    return dict.fromkeys(data_range(tensor).location for tensor in tensors if _is_aside(tensor))


def _is_aside(tensor: TensorProto) -> bool:
    """Whether the data of a tensor stands in a file beside that of the model."""
    return is_external(tensor) and not is_in_place(tensor)


def _copies(original: Path, proto: ModelProto, out: Path, force: bool) -> list[tuple[Path, Path]]:
    """The files of external data that have to be copied beside `out`, and where to; those already there have not."""
    places = [(data_file(original, location), out.parent / location) for location in _locations(proto)]
    copies = [(source, target) for source, target in places if not _is_copied(source, target)]
    for _, target in copies:
        if target.exists() and not force:
            raise UsageError(f"expected no file at {target}, found one (--force replaces it)")
        blocked = next((folder for folder in target.parents if folder.exists() and not folder.is_dir()), None)
        if blocked is not None:
            raise UsageError(f"expected a folder for the data of the model, found a file: {blocked}")
    return copies


def holds_its_data(proto: ModelProto) -> bool:
    """Whether a model needs no file beside that in which it stands, or stood."""
    return not any(_is_aside(tensor) for tensor in all_tensors(proto))


def inlined(proto: ModelProto, file: Path, limit: int = INLINE_LIMIT) -> bytes | None:
    """The model of a file as bytes with all external data read in; None when that passes `limit` bytes."""
    tensors = list(all_tensors(proto))
    if not any(map(is_external, tensors)):
        return _serialized(proto) if proto.ByteSize() <= limit else None
    if sum(map(byte_count, tensors)) > limit:
        return None
    result = ModelProto()
    result.CopyFrom(proto)
    return _serialized(complete(result, file))


def complete(proto: ModelProto, file: Path) -> ModelProto:
    """A model that is made from a file, changed so that it has all of its weights in it."""
    for tensor in all_tensors(proto):
        read_in(tensor, file)
    return proto


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_copied(source: Path, target: Path) -> bool:
    """Whether there is nothing to copy: the same file, or an equal one, such as a run that was killed leaves behind."""
    return _is_same(source, target) or (target.is_file() and filecmp.cmp(source, target, shallow=False))


def _tensors_to_move(proto: ModelProto, out: Path, original: Path, inline_limit: int) -> set[int]:
    """The numbers of the tensors whose data must go into a new file beside the output."""
    tensors = list(all_tensors(proto))
    stays = {location: _stays(location, out, original) for location in _locations(proto)}
    moved = {at for at, tensor in enumerate(tensors) if _is_aside(tensor) and not stays[data_range(tensor).location]}
    inline = {at: byte_count(tensor) for at, tensor in enumerate(tensors) if not _is_aside(tensor)}
    if sum(inline.values()) > inline_limit:
        moved |= {at for at, size in inline.items() if size >= SMALLEST_EXTERNAL}
    return moved


def _stays(location: str, out: Path, original: Path) -> bool:
    """Whether a model at `out` finds external data of the original: in the folder of both, and no link that leaves it.

    Runtimes follow such links only from models that are links too.
    """
    real = data_file(original, location).resolve()
    return _is_same(out.parent, original.parent) and real.is_relative_to(out.parent.resolve())


def _data_path(out: Path, locations: Container[str], original: Path, force: bool) -> Path:
    """A name for the data file that no data of the original has."""
    data = out.with_name(f"{out.name}.data")
    while data.name in locations or _is_same(data, original):
        data = data.with_name(f"{data.name}.data")
    if os.path.lexists(data) and not force:
        raise UsageError(f"expected no file at {data}, found one (--force replaces it)")
    return data


def _move(tensor: TensorProto, stream: BinaryIO, original: Path, name: str) -> None:
    """Append the data of a tensor to a file and refer to it there."""
    stream.write(b"\0" * (-stream.tell() % ALIGNMENT))
    offset = stream.tell()
    if is_external(tensor):
        stream.writelines(read_pieces(tensor, original))
    else:
        stream.write(stored(tensor))
    refer(tensor, DataRange(name, offset, byte_count(tensor)))


def _copy_file(source: Path, stream: BinaryIO) -> None:
    with source.open("rb") as origin:
        shutil.copyfileobj(origin, stream)


def _write(proto: ModelProto, original: Path, stream: BinaryIO) -> None:
    with _of_readable_size():
        write_whole(proto, original, stream)


def _serialized(proto: ModelProto) -> bytes:
    with _of_readable_size():
        return bytes(proto.SerializeToString())


@contextmanager
def _of_readable_size() -> Iterator[None]:
    """Says in one sentence that a model is too large for protobuf."""
    try:
        yield
    except (EncodeError, ValueError) as error:
        raise InvalidInputError("expected a model of less than 2 GB beside its data, found a larger one") from error


@contextmanager
def _replacing(*paths: Path, durable: bool = True) -> Iterator[Sequence[BinaryIO]]:
    """Files that take the places of `paths` when the block ends without an error, and leave no trace otherwise.

    None takes its place before all are written in full, and the last one, which needs the others, is there only with
    these: a previous one goes right before.
    """
    *others, last = paths
    try:
        with ExitStack() as stack:
            for path in paths:
                path.parent.mkdir(parents=True, exist_ok=True)
            files = [stack.enter_context(scratch_file(path.parent)) for path in paths]
            yield [stream for _, stream in files]
            for _, stream in files:
                stream.flush()
                if durable:
                    os.fsync(stream.fileno())
            if others:
                last.unlink(missing_ok=True)
            for (temporary, _), path in zip(files, paths, strict=True):
                os.replace(temporary, path)
    except OSError as error:
        raise UsageError(f"expected to write {last}, found: {error.strerror or error}") from error
