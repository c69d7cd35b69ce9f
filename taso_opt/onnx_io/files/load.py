"""Opens a model file and checks that it is a valid ONNX model, whatever a user may have passed."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from google.protobuf.descriptor import Descriptor, FieldDescriptor  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]
from onnx import ModelProto, TensorProto, checker, defs

from taso_opt.core.printable import cut_short
from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io.files.external import check_tensors
from taso_opt.onnx_io.files.in_place import model_in_place
from taso_opt.onnx_io.files.skeleton import skeleton
from taso_opt.onnx_io.files.wire import LARGEST_MESSAGE
from taso_opt.onnx_io.guards.equations import check_equations
from taso_opt.onnx_io.guards.expansion import check_expansion
from taso_opt.onnx_io.scopes import STANDARD, nested_nodes, opset_of

LONGEST_REASON = 300

OTHER_VERSIONS = "other.versions"
"""A domain of which ONNX knows no operators."""


def load_model(path: Path, whole: bool = False) -> ModelProto:
    """The model in a file, checked, without its external data; InvalidInputError when it is none.

    The weights of a large file stay in it, as external data of which the file is that of the model itself (see
    `in_place`), unless the model is wanted `whole`.
    """
    model = _parsed(path, whole)
    if not model.HasField("graph"):
        raise InvalidInputError(f"expected an ONNX model, found a file without a graph: {path}")
    field = _undecodable_field(model)
    if field:
        raise InvalidInputError(f"expected text in UTF-8, found other bytes in a field {field!r} of {path}")
    check_tensors(model, path)
    check_expansion(model)
    check_equations(model)
    reason = defect(model, path)
    if reason:
        raise InvalidInputError(f"expected a valid ONNX model, found in {path}: {reason}")
    return model


def _parsed(path: Path, whole: bool) -> ModelProto:
    """What a regular file says, refused before it is read where it cannot be a model."""
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise InvalidInputError(f"expected an ONNX model, found a folder: {path}")
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInputError(f"expected an ONNX model, found no regular file: {path}")
        if found.st_size == 0:
            raise InvalidInputError(f"expected an ONNX model, found an empty file: {path}")
        if found.st_size > LARGEST_MESSAGE:
            size = f"{found.st_size} bytes"
            raise InvalidInputError(f"expected an ONNX model of less than 2 GB beside its data, found {size}: {path}")
        model = None if whole else model_in_place(path)
        if model is None:
            model = ModelProto()
            model.ParseFromString(path.read_bytes())
        return model
    except DecodeError as error:
        kind = "a file of another kind or a cut-off one"
        raise InvalidInputError(f"expected an ONNX model, found {kind}: {path}") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InvalidInputError(f"expected an ONNX model, found no file {path}") from error
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"expected an ONNX model, found a file that cannot be read: {path}") from error


def _undecodable_field(model: ModelProto) -> str:
    """The name of a text field that is not UTF-8, which protobuf then hands out as bytes; empty when there is none."""
    stack: list[Message] = [model]
    while stack:
        top = stack.pop()
        for name, is_message in _fields_with_text(top.DESCRIPTOR):
            value = getattr(top, name)
            if not is_message and not _is_text(value):
                return name
            if is_message and isinstance(value, Message):
                stack.extend((value,) if top.HasField(name) else ())
            elif is_message:
                stack.extend(value)
    return ""


@cache
def _fields_with_text(kind: Descriptor) -> tuple[tuple[str, bool], ...]:
    """The fields of a message that are text or messages, and which they are.

    Weights are neither: to look at them is to copy them.
    """
    types = {FieldDescriptor.TYPE_MESSAGE: True, FieldDescriptor.TYPE_STRING: False}
    return tuple((str(field.name), types[field.type]) for field in kind.fields if field.type in types)


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, Sequence) and all(isinstance(part, str) for part in value))


def defect(model: ModelProto, file: Path) -> str:
    """Why ONNX's own checker refuses a model, on one line; empty when it accepts.

    A graph that is not topologically sorted, states no rank for an input or output or no type for an output is
    accepted: the runtime runs it. So it does with some operators of other versions than the model's, as
    GroupNormalization, which ONNX 18 took back. Weights are checked for size elsewhere.
    """
    bare = skeleton(model, file)
    _excuse_other_versions(bare)
    for value in bare.graph.output:
        if not value.HasField("type"):
            value.type.tensor_type.elem_type = TensorProto.FLOAT  # any will do: the checker only wants to see one
    for value in (*bare.graph.input, *bare.graph.output):
        if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape"):
            value.type.tensor_type.shape.SetInParent()
    try:
        checker.check_model(bare, full_check=False)
    except (checker.ValidationError, ValueError, RuntimeError) as error:
        return one_line(error)
    return ""


def _excuse_other_versions(bare: ModelProto) -> None:
    """Move the nodes of operators that only other versions of ONNX have into a domain that the checker leaves alone."""
    version = opset_of(bare)
    known = [
        node for node in nested_nodes(bare.graph.node) if node.domain in STANDARD and node.op_type in _ever_known()
    ]
    is_version = 0 < version <= defs.onnx_opset_version()
    others = [node for node in known if is_version and not _is_known(node.op_type, version)]
    for node in others:
        node.domain = OTHER_VERSIONS
    if others:
        bare.opset_import.add(domain=OTHER_VERSIONS, version=1)


@cache
def _ever_known() -> frozenset[str]:
    """The operators of ONNX in any version."""
    return frozenset(schema.name for schema in defs.get_all_schemas_with_history() if schema.domain in STANDARD)


def _is_known(operator: str, version: int) -> bool:
    """Whether a version of ONNX has an operator, and has not taken it back."""
    return defs.has(operator, version, "") and not defs.get_schema(operator, version, "").deprecated


def one_line(error: Exception) -> str:
    """The first sentence of a library's message."""
    return cut_short(" ".join(str(error).split("==>")[0].split()) or type(error).__name__, LONGEST_REASON)
