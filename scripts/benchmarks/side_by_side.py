"""Lets other tools rewrite a model, and times what they and this one made of it, in turns with the original."""

import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
from google.protobuf.message import Message  # type: ignore[import-untyped]

from taso_opt.api.sizes import at_sizes_that_run
from taso_opt.onnx_io import Model, computes_in_singles, read_model
from taso_opt.runtime import CompareLatency, Failed, Ratio, RunSettings, RuntimeProcess, compare_latency
from taso_opt.search.judging.agreement import Feed, agreement
from taso_opt.search.judging.feeds import sample_feeds, timing_feeds
from taso_opt.search.judging.kinds import telling_kind
from taso_opt.spec import load_specs

from .peers import PACKAGES, rewrite
from .standings import ERROR, FAILS, OURS, UNCHANGED, WRONG, Figure, Standing

LIMIT_S = 20.0
"""For the timing of one model with all results; a slow one gets fewer rounds in it."""


def side_by_side(original: Path, ours: Path | None, run: RunSettings, dims: Mapping[str, int]) -> Standing:
    """What each tool gains on a model, of which `ours` is the result of this one, None where it gave an error.

    What keeps a tool from a figure is told on stderr. Raises TasoError where the original cannot be run.
    """
    figures = {OURS: ERROR} if ours is None else {}
    results = {} if ours is None else {OURS: ours}
    with TemporaryDirectory(prefix="tasoopt-peers-") as folder:
        for tool in PACKAGES:
            attempt = rewrite(tool, original, Path(folder))
            if attempt.path is None:
                figures[tool] = FAILS
                print(f"{original.stem}: {tool}: {attempt.failure}", file=sys.stderr)
            else:
                results[tool] = attempt.path
        control, found = in_turns(original, results, run, dims)
    return Standing(control, {**figures, **found})


def in_turns(
    original: Path, results: Mapping[str, Path], run: RunSettings, dims: Mapping[str, int]
) -> tuple[Figure, dict[str, Figure]]:
    """The control's figure and one for each result, by tool; results that say the same are timed once."""
    said = {tool: content(path) for tool, path in results.items()}
    itself = content(original)
    different = {said[tool]: path for tool, path in results.items() if said[tool] != itself}
    with RuntimeProcess() as process:
        model = at_sizes_that_run(read_model(original, load_specs(), dims), dims, (), process, run)
        feeds = sample_feeds(model.inputs, (), run.seed, kind=telling_kind(process, model, (), run))
        wrong = {key: word for key, path in different.items() if (word := _fault(process, model, path, feeds, run))}
        right = {key: path for key, path in different.items() if key not in wrong}
        timing = timing_feeds(model.inputs, (), run.seed)
        request = CompareLatency(original, tuple(right.values()), timing, run, time_limit_s=LIMIT_S)
        latency = compare_latency(process, request)
    timed = {
        key: FAILS if isinstance(found, Failed) else _figure(latency.speedup(found))
        for key, found in zip(right, latency.candidates, strict=True)
    }
    figures = {itself: UNCHANGED, **wrong, **timed}
    return _figure(latency.ratio(latency.control)), {tool: figures[key] for tool, key in said.items()}


def _fault(
    process: RuntimeProcess, original: Model, result: Path, feeds: Sequence[Feed], run: RunSettings
) -> Figure | None:
    """What is said of a result that does not run or does not compute the same; None where nothing is wrong with it."""
    found = agreement(process, original.path, result, feeds, run, computes_in_singles(original.proto))
    if not found.failure and not found.reasons:
        return None
    print(f"{result.stem}: {found.failure or found.reasons[0]}", file=sys.stderr)
    return FAILS if found.failure else WRONG


def content(path: Path) -> str:
    """A digest of what a file computes: equal where nodes and constants are, whatever their names and remarks are."""
    model = onnx.load(path)
    graph = model.graph
    parts = (
        sorted((one.domain, one.version) for one in model.opset_import),
        [(one.name, _serialized(one.type)) for one in (*graph.input, *graph.output)],
        [
            (node.domain, node.op_type, [*node.input], [*node.output], sorted(map(_serialized, node.attribute)))
            for node in graph.node
        ],
        sorted((one.name, sha256(_as_numbers(one)).hexdigest()) for one in graph.initializer),
        [*map(_serialized, (*graph.sparse_initializer, *model.functions))],
    )
    return sha256(repr(parts).encode()).hexdigest()


def _serialized(part: Message) -> bytes:
    return bytes(part.SerializeToString(deterministic=True))


def _as_numbers(tensor: onnx.TensorProto) -> bytes:
    """A tensor with its type and sizes, in one way however its numbers are stored."""
    return _serialized(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor)))


def _figure(found: Ratio) -> Figure:
    return Figure(found.value, found.low, found.high)
