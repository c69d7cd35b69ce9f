"""Parts of a model as models of their own, to be rewritten like any other, and the way back.

What a part uses of values outside becomes an input, and a weight where it is one there. All that is known of a value
outside is known of it inside: sizes that are no numbers there are open here, equal ones under one name.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from taso_opt.core.dims import Dim, Size, bind
from taso_opt.core.term import Const, Term
from taso_opt.core.types import TensorType
from taso_opt.onnx_io.elements import UNKNOWN, element_code
from taso_opt.onnx_io.reading.model import Model
from taso_opt.onnx_io.scopes import all_names, drop, rename_all, used_names

SIZE_PREFIX, NAME_PREFIX = "tasoopt_size_", "tasoopt_inner_"
COPIED = frozenset({"bool", "float32", "float64", "int32", "int64"})
"""The types of constants outside of which a part gets copies."""


@dataclass(frozen=True, eq=False)
class Excerpt:
    """A part of a model as a model; the numbers of its open sizes, and the constants outside that it has copies of."""

    proto: ModelProto
    dims: Mapping[str, int]
    weights: frozenset[str]


def excerpt(
    model: Model, graph: GraphProto, formal: Mapping[str, TensorType], outside: Mapping[str, Term]
) -> Excerpt | None:
    """A graph that uses values `outside`, and others of known types, as a model; None where a type is not known."""
    stated = _Stated(model.bindings)
    weights = {name: _weight(model, name, term) for name, term in outside.items()}
    kinds = {name: model.builder.types(term)[0] for name, term in outside.items() if weights[name] is None}
    types = {**formal, **kinds}
    if any(kind.dtype == UNKNOWN for kind in types.values()):
        return None
    proto = ModelProto(ir_version=model.proto.ir_version, opset_import=model.proto.opset_import, graph=graph)
    proto.functions.extend(model.proto.functions)
    proto.graph.input.extend(stated.value(name, kind) for name, kind in types.items())
    proto.graph.initializer.extend(tensor for tensor in weights.values() if tensor is not None)
    held = frozenset(name for name, tensor in weights.items() if tensor is not None)
    return Excerpt(proto, stated.dims, held)


def put_back(graph: GraphProto, known: Collection[str], taken: set[str], weights: Container[str]) -> GraphProto:
    """A copy of a changed excerpt's graph for its place: no name but the `known` ones is in `taken`, which grows.

    The copies of `weights` are left out.
    """
    result = GraphProto()
    result.CopyFrom(graph)
    new = all_names(result) - {"", *known}
    fresh = (name for name in (f"{NAME_PREFIX}{number}" for number in range(2 * len(taken | new))) if name not in taken)
    names = dict(zip(sorted(new & taken), (name for name in fresh if name not in new), strict=False))
    rename_all(result, names)
    taken.update(new)
    taken.update(names.values())
    drop(result.initializer, lambda tensor: tensor.name in weights)
    return result


def drop_unused(graph: GraphProto, weights: Container[str]) -> None:
    """Drop those of the weights, initializers or constants, that nothing uses and no caller may give."""
    used = {name for node in graph.node for name in used_names(node)}
    used.update(value.name for value in (*graph.input, *graph.output))

    def is_dropped(name: str) -> bool:
        return name in weights and name not in used

    drop(graph.initializer, lambda tensor: is_dropped(tensor.name))
    drop(graph.node, lambda node: node.op_type == "Constant" and is_dropped(node.output[0]))


class _Stated:
    """Types as a file states them: each size that is no number under one name, with its number."""

    def __init__(self, bindings: Mapping[str, int]) -> None:
        self._bindings, self._names = bindings, dict[Size, str]()

    @property
    def dims(self) -> dict[str, int]:
        """The numbers of the sizes by their names, as far as the bindings tell."""
        numbers = {name: bind(dim, self._bindings) for dim, name in self._names.items()}
        return {name: number for name, number in numbers.items() if isinstance(number, int) and number > 0}

    def value(self, name: str, kind: TensorType) -> ValueInfoProto:
        """A value of that name and type."""
        return helper.make_tensor_value_info(name, element_code(kind.dtype), [self._dim(dim) for dim in kind.shape])

    def _dim(self, dim: Dim) -> int | str:
        return dim if isinstance(dim, int) else self._names.setdefault(dim, f"{SIZE_PREFIX}{len(self._names)}")


def _weight(model: Model, name: str, term: Term) -> TensorProto | None:
    """The tensor of a constant outside under its name inside."""
    if not isinstance(term, Const) or model.builder.type(term).dtype not in COPIED:
        return None
    return numpy_helper.from_array(model.constant(term.name), name)
