"""Writes a rewritten graph as a patch on the original model: what the rewriting did not touch stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Collection

from onnx import ModelProto

from taso_opt.core.graph import Graph
from taso_opt.core.term import OPAQUE, Apply, Term, bottom_up, is_constant
from taso_opt.onnx_io.files.load import defect
from taso_opt.onnx_io.files.weights import stored_bytes
from taso_opt.onnx_io.nodes import spelled
from taso_opt.onnx_io.reading.model import Model
from taso_opt.onnx_io.writing.fidelity import check_fidelity
from taso_opt.onnx_io.writing.patch import Patch


def write_model(model: Model, graph: Graph) -> ModelProto:
    """The model with its graph replaced by an equal one, made with the model's own builder (without bindings).

    Nodes of the original whose term is still there are kept as they are but for the names of values; new terms become
    new nodes, and new terms over constants initializers, computed in float64 and rounded once.
    Nodes and initializers that nothing uses any more are dropped, overridable initializers never. An unchanged graph
    gives the original. The result has passed ONNX's checker and kept inputs, outputs, opsets, IR version, functions and
    metadata: AssertionError otherwise, and for a term that cannot be written (see `spellable`).
    """
    if graph.outputs == model.graph.outputs:
        unchanged = ModelProto()
        unchanged.CopyFrom(model.proto)
        return unchanged
    types = model.builder.types
    for old, new in zip(model.graph.outputs, graph.outputs, strict=True):
        assert types(new) == types(old), f"an output changed its type to {types(new)}"
    result = Patch(model, graph.outputs).model()
    check_fidelity(model.proto, result)
    reason = defect(result, model.path)
    assert not reason, f"the written model is not valid: {reason}"
    return result


def spellable(model: Model, without: Collection[str] = ()) -> Callable[[Term], bool]:
    """A test whether everything new in a term can be written into the model; it remembers what it was asked.

    No operator of `without` can.
    """
    builder = model.builder
    known: dict[Term, bool] = {}

    def found(term: Term) -> bool:
        return term in model.origin or (all(known[child] for child in term.children) and writable(term))

    def writable(term: Term) -> bool:
        if not isinstance(term, Apply) or term.operator == OPAQUE:
            return True
        if is_constant(term):  # a weight repeated up to a size that only a run knows cannot be computed ahead of time
            return all(kind.is_static for kind in builder.types(term))
        return term.operator not in without and spelled(builder, term, model.opset, model.number) is not None

    return lambda term: bottom_up(known, term, found)


def weight_bytes(model: Model) -> int:
    """How many bytes of weights a model has."""
    return stored_bytes(model.proto.graph)


def bytes_added(original: ModelProto, result: ModelProto) -> int:
    """How many bytes of weights a rewritten model has more than the original; negative when it has less."""
    after, before = (sum(map(stored_bytes, (model.graph, *model.functions))) for model in (result, original))
    return after - before
