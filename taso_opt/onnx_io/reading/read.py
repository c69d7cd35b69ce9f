"""Reads an ONNX model into one graph of terms: known operators through their spellings, every other node opaque."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from onnx import GraphProto, ModelProto, TypeProto

from taso_opt.core.dims import open_symbols
from taso_opt.core.graph import Graph
from taso_opt.core.term import OPAQUE, Apply, Item, Term, Var
from taso_opt.core.types import TensorType
from taso_opt.errors import TasoError
from taso_opt.onnx_io.elements import type_text
from taso_opt.onnx_io.files.load import load_model
from taso_opt.onnx_io.files.weights import collect_weights
from taso_opt.onnx_io.reading.model import Model, ModelInput
from taso_opt.onnx_io.reading.terms import TermGraph, read_terms
from taso_opt.onnx_io.reading.whole_numbers import upper_bounds
from taso_opt.onnx_io.sizes.bindings import complete_bindings, input_bindings, learn
from taso_opt.onnx_io.sizes.computed import numeric_types
from taso_opt.onnx_io.sizes.inference import UNKNOWN_TYPE, symbolic_skeleton
from taso_opt.onnx_io.sizes.open import symbolic_types
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary


def read_model(
    path: Path | str,
    library: SpecLibrary,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Model:
    """Read and check a model file.

    `dims` gives numbers to symbolic dims of the inputs for the purpose of costs, and `shapes` of inputs by name those
    that `dims` lacks, of other values what nothing tells; the graph keeps the symbols. Raises InvalidInputError for a
    file that is no valid model and UsageError for a wrong entry of `dims`.
    """
    path = Path(path)
    # 1. Load, check, and infer all types with symbols.
    proto = load_model(path)
    weights = collect_weights(proto.graph, path)
    bare = symbolic_skeleton(proto, path)
    types = symbolic_types(bare)
    required = _required_inputs(proto)
    bindings = input_bindings({name: types.get(name, UNKNOWN_TYPE) for name in required}, dims or {}, shapes or {})
    inner = {name: tuple(shape) for name, shape in (shapes or {}).items() if name not in required}
    given = {name: TensorType(types.get(name, UNKNOWN_TYPE).dtype, shape) for name, shape in inner.items()}
    # 2. Turn the nodes into terms; a node that does not type under numbers too becomes opaque, and all is redone.
    numeric = _NumericTypes(bare, types, bindings, given)
    opaque: set[int] = set()
    while True:
        read = read_terms(proto, weights, library, types, opaque)
        numbers = _known_bindings(read, numeric, bindings)
        guessed = _of_open_sizes(read, numbers)
        complete_bindings(read.values.values(), numbers)
        failing = _failing(read, library.builder(numbers))
        if not failing:
            break
        opaque |= failing
    # 3. The side tables.
    inputs = tuple(_model_inputs(proto.graph, required, types, numbers))
    outputs = tuple(read.values[value.name] for value in proto.graph.output)
    graph = Graph(_graph_inputs(read), outputs)
    tables = read.origin, read.uses, read.order, inputs, numbers, read.weights, guessed
    return Model(path, proto, graph, read.builder, *tables)


def _required_inputs(proto: ModelProto) -> list[str]:
    """The inputs without a default value."""
    defaults = {tensor.name for tensor in proto.graph.initializer}
    return [value.name for value in proto.graph.input if value.name not in defaults]


def _graph_inputs(read: TermGraph) -> tuple[Var, ...]:
    return tuple(dict.fromkeys(term for term in read.values.values() if isinstance(term, Var)))


@dataclass(frozen=True)
class _NumericTypes:
    """The types of all values of a skeleton with numbers for its symbols; of some values they are given."""

    bare: ModelProto
    symbolic: Mapping[str, TensorType]
    numbers: Mapping[str, int]
    given: Mapping[str, TensorType]

    @cached_property
    def all(self) -> Mapping[str, TensorType]:
        """Inferred when first asked for: what symbols tell needs no numbers."""
        return {**numeric_types(self.bare, self.symbolic, self.numbers), **self.given}


def _known_bindings(read: TermGraph, numeric: _NumericTypes, bindings: Mapping[str, int]) -> dict[str, int]:
    """Numbers for symbols: those of the inputs, and those that follow value by value."""
    numbers = dict(bindings)
    for name, term in read.values.items():
        types = read.builder.types(term)
        is_open = len(types) == 1 and any(True for dim in types[0].shape for _ in open_symbols(dim, numbers))
        if is_open and name in numeric.all:
            learn(types[0], numeric.all[name], numbers)
    return numbers


def _of_open_sizes(read: TermGraph, numbers: Mapping[str, int]) -> tuple[str, ...]:
    """The values of opaque nodes that have sizes of which nothing tells a number."""
    found = []
    for name, term in read.values.items():
        node = term.term if isinstance(term, Item) else term
        kind = read.builder.type(term) if isinstance(node, Apply) and node.operator == OPAQUE else UNKNOWN_TYPE
        if any(True for dim in kind.shape for _ in open_symbols(dim, numbers)):
            found.append(name)
    return tuple(found)


def _failing(read: TermGraph, bound: Builder) -> set[int]:
    """The nodes whose term cannot be typed with numbers, or keeps a symbol, though the operands can be typed."""
    return {
        at
        for at in read.known
        if not all(_is_numeric(term, bound) for term in read.uses[at].results if term is not None)
        and all(_is_numeric(term, bound) for term in read.uses[at].operands)
    }


def _is_numeric(term: Term, bound: Builder) -> bool:
    try:
        return all(kind.is_static for kind in bound.types(term))
    except TasoError:
        return False


def _model_inputs(
    graph: GraphProto, names: Iterable[str], types: Mapping[str, TensorType], numbers: Mapping[str, int]
) -> Iterator[ModelInput]:
    below = upper_bounds(graph, types)
    for name in names:
        yield replace(_model_input(graph, name, types, numbers), below=below.get(name))


def _model_input(
    graph: GraphProto, name: str, types: Mapping[str, TensorType], numbers: Mapping[str, int]
) -> ModelInput:
    kind = next(value.type for value in graph.input if value.name == name)
    known = types.get(name, UNKNOWN_TYPE)
    if known == UNKNOWN_TYPE:
        return ModelInput(name, type_text(kind), (), None)
    bound = tuple(dim for dim in known.bind(numbers).shape if isinstance(dim, int))
    return ModelInput(name, "object" if known.dtype == "string" else known.dtype, _stated_shape(kind), bound)


def _stated_shape(kind: TypeProto) -> tuple[int | str | None, ...]:
    return tuple(
        int(dim.dim_value) if dim.HasField("dim_value") and dim.dim_value >= 0 else dim.dim_param or None
        for dim in kind.tensor_type.shape.dim
    )
