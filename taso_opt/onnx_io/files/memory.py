"""Models that a Python program has in memory: onto disk for the runtime, and back with all their weights."""

from __future__ import annotations

from pathlib import Path

from onnx import ModelProto

from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io.files.load import load_model
from taso_opt.onnx_io.files.save import INLINE_LIMIT, holds_its_data, inlined

__all__ = ["ModelProto", "model_in_memory", "store_model"]


def store_model(model: ModelProto, path: Path) -> None:
    """Write a model that has no external data; InvalidInputError when it has some or is too large for one file."""
    content = inlined(model, path) if holds_its_data(model) else None
    if content is None:
        raise InvalidInputError(
            f"expected a model in memory with all its weights and of at most {INLINE_LIMIT} bytes, found a larger one "
            "or one with external data: give the path of its file"
        )
    path.write_bytes(content)


def model_in_memory(path: Path) -> ModelProto:
    """The model of a file with its external data read in; InvalidInputError when together they are too large."""
    model = load_model(path)
    content = inlined(model, path)
    if content is None:
        raise InvalidInputError(
            f"expected a model of at most {INLINE_LIMIT} bytes with all its weights, found a larger one: {path} "
            "(name an output file, then it is not read into memory)"
        )
    model.ParseFromString(content)
    return model
