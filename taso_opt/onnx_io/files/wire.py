"""Protobuf's wire format, as far as it takes to cut messages into their fields and to put these together again.

A message is a row of fields, each a tag (its number and how its value is stored) and a value; fields of a message and
rows of bytes are stored with their length before them. See protobuf's documentation, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

NUMBER, EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES = 0, 1, 2, 5
"""How values are stored; what is missing here is no longer written by anybody."""

FIXED = {EIGHT_BYTES: 8, FOUR_BYTES: 4}
LONGEST_NUMBER = 10

LARGEST_MESSAGE = 2**31 - 1
"""Bytes of a message that protobuf reads."""

WINDOW = 1 << 16


class Field(NamedTuple):
    """A field: its number, how it is stored, where it starts, and where its value starts and ends."""

    number: int
    kind: int
    start: int
    value: int
    end: int


class Content:
    """The bytes of an open file, read as they are asked for: one that becomes shorter meanwhile is no harm."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._window, self._begin = b"", 0

    def part(self, start: int, end: int) -> bytes:
        """The bytes between two places; ValueError where the file has no such bytes (any more)."""
        if end - start > WINDOW:
            self._stream.seek(start)
            found = self._stream.read(end - start)
        else:
            found = self._near(start, end)
        if len(found) != end - start:
            raise ValueError(f"expected {end - start} bytes at byte {start}, found {len(found)}")
        return found

    def _near(self, start: int, end: int) -> bytes:
        if not self._begin <= start <= end <= self._begin + len(self._window):
            self._stream.seek(start)
            self._window, self._begin = self._stream.read(WINDOW), start
        return self._window[start - self._begin : end - self._begin]


def fields(content: Content, start: int, end: int, most: int) -> Iterator[Field]:
    """The fields of the message that stands between two places, in order; ValueError where it is none or has more."""
    at = start
    for _ in range(most):
        if at >= end:
            return
        tag, value = _number(content, at, end)
        kind = tag & 7
        if kind == NUMBER:
            _, after = _number(content, value, end)
        elif kind == WITH_LENGTH:
            length, value = _number(content, value, end)
            after = value + length
        elif kind in FIXED:
            after = value + FIXED[kind]
        else:
            raise ValueError(f"expected a field of a message at byte {at}, found the tag {tag}")
        if after > end:
            raise ValueError(f"expected a field that ends by byte {end}, found one that ends at {after}")
        yield Field(tag >> 3, kind, at, value, after)
        at = after
    if at < end:
        raise ValueError(f"expected at most {most} fields in a message, found more")


def header(field: int, length: int) -> bytes:
    """What stands before a value of so many bytes that is stored with its length."""
    return _encoded(field << 3 | WITH_LENGTH) + _encoded(length)


def _number(content: Content, at: int, end: int) -> tuple[int, int]:
    """A number and the place behind it: seven bits of each byte, of which the eighth says that more follow."""
    found = 0
    for place, byte in enumerate(content.part(at, min(at + LONGEST_NUMBER, end))):
        found |= (byte & 127) << 7 * place
        if byte < 128:
            return found, at + place + 1
    raise ValueError(f"expected a number at byte {at}, found none that ends")


def _encoded(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)
