"""Mutations of files: of bytes, of the fields of protobuf messages, and of the words of rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError, EncodeError, Message  # type: ignore[import-untyped]
from onnx import ModelProto

NUMBERS = (0, 1, 2, 3, 7, -1, -2, 64, 255, 2**15, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63))
WORDS = (
    "",
    "x",
    "y",
    "w",
    "\x1b[2J",
    "<b>",
    "../data.bin",
    "/etc/hostname",
    "a" * 2000,
    "\u202e",
    "Identity",
    "If",
    "\0",
)
ODD = re.findall(
    r"\S+",
    '( ) [ ] , ; = + * / - " ... *a *b m n k x[n] 0 1 2 3 4 9 -1 1/3 0.5 1e9 axis=-1 axis=9 sizes=(1,2) perm=(1,0) '
    "kernel=0 group=2 strides=(0,0) Relu( Add( MatMul( Concat( Split( Conv( Transpose( Pow( Reshape( where",
)

Mutate = Callable[[Random, bytes, Sequence[bytes]], bytes]


def mutated_model(random: Random, content: bytes, pool: Sequence[bytes]) -> bytes:
    """A model with a few fields changed, or a few bytes where it is no model or once in five times."""
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        return mutated_bytes(random, content, pool)
    if random.random() < 0.2:
        return mutated_bytes(random, content, pool)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        _change(random, _some_message(random, model), model)
    try:
        return bytes(model.SerializeToString())
    except (EncodeError, ValueError):
        return content


def mutated_rules(random: Random, content: bytes, pool: Sequence[bytes]) -> bytes:
    """A line of rules with a few words changed, or a few bytes once in five times."""
    if random.random() < 0.2:
        return mutated_bytes(random, content, pool)
    words = re.split(r"(\W)", content.decode("utf-8", "replace"))
    others = re.split(r"(\W)", random.choice(pool).decode("utf-8", "replace"))
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(words))
        match random.randrange(5):
            case 0:
                words[at] = random.choice(ODD)
            case 1:
                words[at] = random.choice(others)
            case 2:
                del words[at : at + random.randint(1, 6)]
            case 3:
                words[at:at] = words[at : at + random.randint(1, 12)] * random.choice((1, 1, 2, 50))
            case _:
                other = random.randrange(max(len(words), 1))
                words[at], words[other] = words[other], words[at]
        words = words or [""]
    return "".join(words).encode()


def mutated_bytes(random: Random, content: bytes, pool: Sequence[bytes]) -> bytes:
    """Bytes changed, inserted, removed, repeated, cut off, or joined with another file."""
    data = bytearray(content or b"\0")
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.choice((1, 1, 4, 16, 64)))
        match random.randrange(6):
            case 0:
                data[at:end] = random.randbytes(end - at)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end]
            case 3:
                data[at:at] = random.randbytes(random.choice((1, 2, 8)))
            case 4:
                del data[at:]
            case _:
                other = random.choice(pool)
                data[at:] = other[random.randrange(len(other) + 1) :]
    return bytes(data)


def _some_message(random: Random, model: ModelProto) -> Message:
    """A message at any depth, deep ones as likely as others."""
    found: list[Message] = [model]
    for message in found:
        for field, value in message.ListFields():
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                found.extend(value if _is_repeated(value) else (value,))
        if len(found) > 5000:
            break
    return random.choice(found)


def _change(random: Random, message: Message, model: ModelProto) -> None:
    """Change one field of a message in place, set or not."""
    fields = [field for field, _ in message.ListFields()]
    if not fields or random.random() < 0.1:
        fields = list(message.DESCRIPTOR.fields)
    field = random.choice(fields)
    if random.random() < 0.1:
        message.ClearField(field.name)
    elif _is_repeated(value := getattr(message, field.name)):
        _change_list(random, field, value, model)
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        value.SetInParent()
    else:
        setattr(message, field.name, _scalar(random, field, model))


def _change_list(random: Random, field: Any, values: Any, model: ModelProto) -> None:
    kind, size = field.type == FieldDescriptor.TYPE_MESSAGE, len(values)
    action = random.randrange(4)
    if size and action == 0:
        del values[random.randrange(size)]
    elif size and kind and action == 1:
        values.add().CopyFrom(values[random.randrange(size)])
    elif size > 1 and kind and action == 2:
        first, second = random.randrange(size), random.randrange(size)
        spare = type(values[0])()
        spare.CopyFrom(values[first])
        values[first].CopyFrom(values[second])
        values[second].CopyFrom(spare)
    elif kind:
        values.add()
    elif size and action < 3:
        values[random.randrange(size)] = _scalar(random, field, model)
    else:
        values.append(_scalar(random, field, model))


def _scalar(random: Random, field: Any, model: ModelProto) -> Any:
    """A value of the field's type: an odd one, or a name that the model uses."""
    if field.type == FieldDescriptor.TYPE_STRING:
        names = [name for node in model.graph.node for name in (*node.input, *node.output, node.op_type)]
        names = [name for name in names if isinstance(name, str)]  # what is not UTF-8 comes as bytes
        return random.choice(WORDS if random.random() < 0.3 or not names else names)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return random.randbytes(random.choice((0, 1, 4, 32)))
    if field.type == FieldDescriptor.TYPE_ENUM:
        return random.choice([value.number for value in field.enum_type.values])
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return random.choice((0.0, -1.0, 1e30, float("inf"), float("nan")))
    number = random.choice(NUMBERS) if random.random() < 0.7 else random.randrange(-3, 40)
    unsigned = field.type in (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_UINT32)
    small = field.type in (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32)
    return abs(number) % 2**31 if unsigned else max(min(number, 2**31 - 1), -(2**31)) if small else number


def _is_repeated(value: object) -> bool:
    return hasattr(value, "append")
