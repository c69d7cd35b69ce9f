"""Broken and hostile files: how a kind is entered, with its error, and the models that many kinds start from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import TensorProto, helper, parser

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
RELU = HEAD + "g (float[2] x) => (float[2] y) { y = Relu(x) }"
ADD = RELU.replace("Relu(x)", "Add(x, w)")
BUDGET = ("--budget", "0.2")

Make = Callable[[Path], object]


@dataclass(frozen=True)
class Kind:
    """What makes the files in a folder, and the exit code and error of the command then; no error for exit code 0.

    In the error, {folder} and {outside} stand for the folder and the one above it, and an ellipsis for anything.
    """

    make: Make
    code: int
    error: str

    def arguments(self, folder: Path) -> list[str]:
        """Make the files; the arguments of the command. A model (text, bytes or message) is one to optimize."""
        made = self.make(folder)
        if isinstance(made, list):
            return [str(part) for part in made]
        if made is not None:
            save(folder, made)
        return ["optimize", str(folder / "model.onnx"), *BUDGET]


KINDS: dict[str, Kind] = {}


def kind(code: int, error: str) -> Callable[[Make], Make]:
    """Enter a kind under the name of its function."""

    def enter(make: Make) -> Make:
        assert make.__name__ not in KINDS
        KINDS[make.__name__] = Kind(make, code, error)
        return make

    return enter


def save(folder: Path, made: object = RELU) -> Path:
    """Write a model, given as text, bytes or message."""
    path, model = folder / "model.onnx", parser.parse_model(made) if isinstance(made, str) else made
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return path


def with_tensor(tensor: TensorProto, count: int = 1) -> onnx.ModelProto:
    """A model that adds a tensor w to its input."""
    model = parser.parse_model(ADD)
    model.graph.initializer.extend([tensor] * count)
    return model


def external(location: str, offset: str = "0", length: str = "8") -> onnx.ModelProto:
    """A model that adds a tensor whose two floats stand in another file."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        tensor.external_data.add(key=key, value=value)
    return with_tensor(tensor)


def relu(source: str, target: str, name: str = "") -> onnx.NodeProto:
    """A Relu node."""
    return helper.make_node("Relu", [source], [target], name=name)
