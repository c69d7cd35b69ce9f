"""What goes into the last functions of a model: a sigmoid of a number far below zero hides which number that was.

Detectors and segmenters end like that. Where they find nothing, as in noise, their outputs are the last digits of
numbers near zero, and differences between them prove nothing; those between what goes into the function do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taso_opt.onnx_io import load_model, save_atomically, showing, what_goes_in

RANGE = 1.0
"""No result of such a function is larger."""


def files_that_show(first: Path, second: Path, outputs: Sequence[int], folder: Path) -> tuple[Path, Path] | None:
    """Copies of two models that give, behind their outputs, what goes into the last functions of the named ones.

    None where these outputs do not all end in such a function, with the same movements behind it in both models.
    """
    protos = [load_model(path) for path in (first, second)]
    ours, theirs = ([what_goes_in(proto, output) for output in outputs] for proto in protos)
    if any(one is None or other is None or one[0] != other[0] for one, other in zip(ours, theirs, strict=True)):
        return None
    files = folder / "first.onnx", folder / "second.onnx"
    for file, path, proto, inner in zip(files, (first, second), protos, (ours, theirs), strict=True):
        names = [name for _, name in filter(None, inner)]
        save_atomically(showing(proto, names), file, original=path, durable=False)
    return files
