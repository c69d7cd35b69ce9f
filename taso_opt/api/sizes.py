"""At which sizes a model is measured: those that the user names, else those of his samples, else stated ones.

A model need not run at sizes that nobody gave, as where a length and a batch are not independent of each other: then
others are tried, those first that differ in one size.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations, islice, product
from pathlib import Path

from taso_opt.core.dims import Size
from taso_opt.core.machine.scratch import scratch_folder
from taso_opt.cost import type_bytes
from taso_opt.errors import TasoError, UsageError
from taso_opt.onnx_io import Model, ModelInput, read_model, save_atomically, showing
from taso_opt.runtime import InputSpec, RunSettings, RuntimeProcess, find_sizes, run_feeds
from taso_opt.search.judging.feeds import input_spec, sample_feeds
from taso_opt.search.judging.samples import Sample, read_samples
from taso_opt.spec import load_specs

MOST_NAMED = 8
LADDER = (1, 512, 256, 128, 64, 1024, 32, 16)
"""What a size may be, the likeliest first: a batch, the length of a signal or a text, the side of an image."""

MOST_TRIED = 1000
MOST_LOOKS = 4
MOST_SEEN, SEEING_LIMIT_S = 64, 60.0
"""How many inner values are looked at at once, and how long that may take."""

ASSUMED = "the model leaves sizes open and was measured at {} (--dim or --inputs gives others)"


def read_with_samples(path: Path, dims: Mapping[str, int], inputs: Path | None) -> tuple[Model, tuple[Sample, ...]]:
    """A model at the sizes in `dims` and, where these say nothing, at those of the first of the samples in `inputs`.

    Raises as read_model and read_samples do, and UsageError where both speak of a size and differ.
    """
    model = read_model(path, load_specs(), dims)
    samples = read_samples(inputs, model.inputs)
    given = _shapes(samples)
    if any(entry.bound != given.get(entry.name, entry.bound) for entry in model.inputs):
        model = read_at_sizes(path, dims, samples)
        for entry in model.inputs:
            _require_the_same(entry, given.get(entry.name), dims)
    return model, samples


def _require_the_same(entry: ModelInput, given: tuple[int, ...] | None, dims: Mapping[str, int]) -> None:
    """Refuse samples of other sizes than those that the user names."""
    for dim, size in zip(entry.shape, given or (), strict=False):
        if isinstance(dim, str) and dims.get(dim, size) != size:
            raise UsageError(f"expected {dim} = {dims[dim]} in the samples too, found {size} in input {entry.name!r}")


def read_at_sizes(path: Path, dims: Mapping[str, int], samples: Sequence[Sample]) -> Model:
    """The model of a file at the sizes in `dims`, else at those of the first sample."""
    return read_model(path, load_specs(), dims, _shapes(samples))


def as_it_runs(
    model: Model, dims: Mapping[str, int], samples: Sequence[Sample], process: RuntimeProcess, run: RunSettings
) -> Model:
    """The same at sizes at which it runs, and with those that inner values have then."""
    return with_seen_sizes(at_sizes_that_run(model, dims, samples, process, run), samples, process, run)


def at_sizes_that_run(
    model: Model, dims: Mapping[str, int], samples: Sequence[Sample], process: RuntimeProcess, run: RunSettings
) -> Model:
    """The same at other sizes than the assumed ones, where it does not run at these and does at some.

    What is in `dims` and in the samples stays. Where the runtime refuses the model as a whole it comes back as it is.
    """
    free = sorted(_assumed(model, dims, samples))
    if not free or any(entry.bound is None for entry in model.inputs):
        return model
    tried = list(islice(_choices(model.bindings, free), MOST_TRIED))
    with suppress(TasoError):
        found = find_sizes(process, model.path, [_specs(model, sizes) for sizes in tried], run.judge)
        if found:
            sizes = {_as_given(name): tried[found][name] for name in free}
            return read_at_sizes(model.path, {**dims, **sizes}, samples)
    return model


def with_seen_sizes(model: Model, samples: Sequence[Sample], process: RuntimeProcess, run: RunSettings) -> Model:
    """The same with the sizes that inner values have when it runs, where costs would rest on guesses.

    Most follow from a few: these are looked at, then what is still guessed.
    """
    seen: dict[str, tuple[int, ...]] = {}
    for _ in range(MOST_LOOKS):
        found = _seen_shapes(model, seen, samples, process, run)
        if not found:
            break
        seen |= found
        model = read_model(model.path, load_specs(), sizes_of(model), {**_shapes(samples), **seen})
    return model


def _seen_shapes(
    model: Model, known: Container[str], samples: Sequence[Sample], process: RuntimeProcess, run: RunSettings
) -> dict[str, tuple[int, ...]]:
    """The shapes of outputs and of some values of which sizes are guessed, but for known ones; none if nothing runs."""
    outputs = model.proto.graph.output
    given = [value.name for value in outputs]
    guessed = [name for name in model.guessed if name not in known]
    if not guessed or any(entry.bound is None for entry in model.inputs):
        return {}
    inner = [name for name in guessed if name not in given][:MOST_SEEN]
    # What stands behind is told by counting from the end: a sequence among the outputs counts as many.
    shown = [*given, *inner] if all(value.type.HasField("tensor_type") for value in outputs) else inner
    if not shown:
        return {}
    with suppress(TasoError), scratch_folder() as folder:
        save_atomically(showing(model.proto, inner), folder / "shown.onnx", original=model.path, durable=False)
        feeds = sample_feeds(model.inputs, samples, run.seed, 1)[:1]
        (arrays,) = run_feeds(process, folder / "shown.onnx", feeds, run.judge, "none", SEEING_LIMIT_S)
        pairs = zip(shown, arrays[-len(shown) :], strict=True)
        return {name: array.shape for name, array in pairs if array.size and name not in known}
    return {}


def sizes_of(model: Model) -> dict[str, int]:
    """The numbers of all sizes that the inputs leave open, under the names that `--dim` takes."""
    return {_as_given(name): model.bindings[name] for name in _input_symbols(model)}


def given_bytes(model: Model) -> int:
    """How many bytes a model gives for one set of inputs, as far as sizes are known."""
    kinds = [kind for output in model.graph.outputs for kind in model.builder.types(output)]
    return sum(type_bytes(kind.bind(model.bindings)) for kind in kinds)


def _choices(bindings: Mapping[str, int], free: Sequence[str]) -> Iterator[dict[str, int]]:
    """Numbers for all symbols: the bindings, then what changes alike, as both sides of an image do, then any others.

    Of these, those with one of the free ones changed come first, then with two, and so on; of as many changes those
    that are likelier.
    """
    yield dict(bindings)
    assumed = dict.fromkeys(bindings[name] for name in free)
    alike = [[name for name in free if bindings[name] == size] for size in assumed if size > 1]
    for names, size in product([names for names in alike if len(names) > 1], LADDER[1:]):
        yield {**bindings, **dict.fromkeys(names, size)}
    for count in range(1, len(free) + 1):
        changes = product(combinations(free, count), product(range(len(LADDER)), repeat=count))
        for names, rungs in sorted(changes, key=lambda change: sum(change[1])):
            changed = {name: LADDER[rung] for name, rung in zip(names, rungs, strict=True)}
            if all(bindings[name] != size for name, size in changed.items()):
                yield {**bindings, **changed}


def _specs(model: Model, sizes: Mapping[str, int]) -> tuple[InputSpec, ...]:
    types = {variable.name: variable.type.bind(sizes) for variable in model.graph.inputs}
    shapes = {name: tuple(dim for dim in kind.shape if isinstance(dim, int)) for name, kind in types.items()}
    return tuple(input_spec(entry, shapes[entry.name]) for entry in model.inputs)


def assumption(model: Model, dims: Mapping[str, object], samples: Sequence[Sample]) -> tuple[str, ...]:
    """A sentence on the sizes that nobody gave, under the names that `--dim` takes; none where there are none."""
    shown = [f"{_as_given(name)} = {size}" for name, size in _assumed(model, dims, samples).items()]
    if len(shown) > MOST_NAMED:
        shown[MOST_NAMED:] = ["..."]
    return (ASSUMED.format(", ".join(shown)),) if shown else ()


def _assumed(model: Model, dims: Mapping[str, object], samples: Sequence[Sample]) -> dict[str, int]:
    """The numbers of the symbols that nobody gave one for."""
    known = _input_symbols(model, _shapes(samples))
    open_ = (name for name in _input_symbols(model) if name not in known and _as_given(name) not in dims)
    return {name: model.bindings[name] for name in open_}


def _input_symbols(model: Model, names: Container[str] | None = None) -> list[str]:
    """The symbols in the shapes of all inputs, or of those of these names, in order."""
    types = [variable.type for variable in model.graph.inputs if names is None or variable.name in names]
    dims = [dim for kind in types for dim in kind.shape if isinstance(dim, Size)]
    return list(dict.fromkeys(name for dim in dims for name in dim.symbols()))


def _as_given(symbol: str) -> str:
    """The name of a symbol as `--dim` takes it."""
    return symbol[1:-1] if symbol.startswith("'") else symbol


def _shapes(samples: Sequence[Sample]) -> dict[str, tuple[int, ...]]:
    """The shapes of the first sample's arrays that have elements."""
    return {name: array.shape for sample in samples[:1] for name, array in sample.items() if array.size}
