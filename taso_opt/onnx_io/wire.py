"""Protobuf's wire format, as far as it takes to cut messages into their fields and to put these together again.

A message is a row of fields, each a tag (its number and how its value is stored) and a value; fields of a message and
rows of bytes are stored with their length before them. See protobuf's documentation, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple

NUMBER, EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES = 0, 1, 2, 5
"""How values are stored; what is missing here is no longer written by anybody."""

FIXED = {EIGHT_BYTES: 8, FOUR_BYTES: 4}
LONGEST_NUMBER = 10


class Field(NamedTuple):
    """A field: its number, where it starts, and where its value starts and ends."""

    number: int
    start: int
    value: int
    end: int


def fields(content: bytes | mmap, start: int, end: int) -> Iterator[Field]:
    """The fields of the message that stands between two places, in order; ValueError where it is none."""
    at = start
    while at < end:
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
        yield Field(tag >> 3, at, value, after)
        at = after


def header(field: int, length: int) -> bytes:
    """What stands before a value of so many bytes that is stored with its length."""
    return _encoded(field << 3 | WITH_LENGTH) + _encoded(length)


def _number(content: bytes | mmap, at: int, end: int) -> tuple[int, int]:
    """A number and the place behind it: seven bits of each byte, of which the eighth says that more follow."""
    found = 0
    for place in range(at, min(at + LONGEST_NUMBER, end)):
        byte = content[place]
        found |= (byte & 127) << 7 * (place - at)
        if byte < 128:
            return found, place + 1
    raise ValueError(f"expected a number at byte {at}, found none that ends")


def _encoded(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)
