"""What goes into the last functions of a model: a sigmoid of a number far below zero hides which number that was.

Detectors and segmenters end like that. Where they find nothing, as in noise, their outputs are the last digits of
numbers near zero, and differences between them prove nothing; those between what goes into the function do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taso_opt.onnx_io import ModelProto, load_model, save_atomically, showing

HIDING = ("Sigmoid", "Softmax", "Tanh")
MOVING = ("Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
"""What may stand behind such a function."""

Inner = tuple[str, str]
"""The function and the name of what goes into it."""


def files_that_show(first: Path, second: Path, outputs: Sequence[int], folder: Path) -> tuple[Path, Path] | None:
    """Copies of two models that give, behind their outputs, what goes into the last functions of the named ones.

    None where these outputs do not all end in such a function, the same in both models.
    """
    protos = [load_model(path) for path in (first, second)]
    ours, theirs = ([_inner(proto, output) for output in outputs] for proto in protos)
    if any(one is None or other is None or one[0] != other[0] for one, other in zip(ours, theirs, strict=True)):
        return None
    files = folder / "first.onnx", folder / "second.onnx"
    for file, path, proto, inner in zip(files, (first, second), protos, (ours, theirs), strict=True):
        names = [name for _, name in filter(None, inner)]
        save_atomically(showing(proto, names), file, original=path, durable=False)
    return files


def _inner(proto: ModelProto, output: int) -> Inner | None:
    """The function whose result an output is, moved at most, and what goes into it; None for any other output."""
    givers = {name: node for node in proto.graph.node for name in node.output}
    node = givers.get(proto.graph.output[output].name)
    while node is not None and node.op_type in MOVING:
        node = givers.get(node.input[0])
    return (node.op_type, node.input[0]) if node is not None and node.op_type in HIDING else None
