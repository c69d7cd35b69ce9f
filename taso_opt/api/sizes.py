"""At which sizes a model is measured: those that the user names, else those of his samples, else stated ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from taso_opt.core.dims import Size
from taso_opt.onnx_io import Model, read_model
from taso_opt.search.samples import Sample, read_samples
from taso_opt.spec import load_specs

MOST_NAMED = 8
ASSUMED = "the model leaves sizes open and was measured at {} (--dim or --inputs gives others)"


def read_with_samples(path: Path, dims: Mapping[str, int], inputs: Path | None) -> tuple[Model, tuple[Sample, ...]]:
    """A model at the sizes in `dims` and, where these say nothing, at those of the first of the samples in `inputs`.

    Raises as read_model and read_samples do.
    """
    model = read_model(path, load_specs(), dims)
    samples = read_samples(inputs, model.inputs)
    given = _shapes(samples)
    if any(entry.bound != given.get(entry.name, entry.bound) for entry in model.inputs):
        model = read_at_sizes(path, dims, samples)
    return model, samples


def read_at_sizes(path: Path, dims: Mapping[str, int], samples: Sequence[Sample]) -> Model:
    """The model of a file at the sizes in `dims`, else at those of the first sample."""
    return read_model(path, load_specs(), dims, _shapes(samples))


def assumption(model: Model, dims: Mapping[str, object], samples: Sequence[Sample]) -> tuple[str, ...]:
    """A sentence on the sizes that nobody gave, under the names that `--dim` takes; none where there are none."""
    given = _shapes(samples)
    known, open_ = set[str](), dict[str, int]()
    for variable in model.graph.inputs:
        for dim in variable.type.shape:
            names = dim.symbols() if isinstance(dim, Size) else ()
            known.update(names if variable.name in given else ())
            open_.update((name, model.bindings[name]) for name in names)
    named = {name.strip("'"): size for name, size in open_.items() if name not in known}
    shown = [f"{name} = {size}" for name, size in named.items() if name not in dims]
    if len(shown) > MOST_NAMED:
        shown[MOST_NAMED:] = ["..."]
    return (ASSUMED.format(", ".join(shown)),) if shown else ()


def _shapes(samples: Sequence[Sample]) -> dict[str, tuple[int, ...]]:
    """The shapes of the first sample's arrays that have elements."""
    return {name: array.shape for sample in samples[:1] for name, array in sample.items() if array.size}
