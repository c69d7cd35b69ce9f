"""Cleans up models with control flow, inside bodies too: constants, identities, decided Ifs, dead nodes.

All of it holds by the definition of the operators, and none of it needs a rule. onnxscript does the work; what it takes
for granted and no runtime guarantees is kept from it here, and what it does beyond nodes and weights is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from taso_opt.errors import UnsupportedError
from taso_opt.onnx_io.files.external import is_external
from taso_opt.onnx_io.files.in_place import LARGE_FILE
from taso_opt.onnx_io.files.load import one_line
from taso_opt.onnx_io.files.skeleton import FIRST_IR_WITH_DEFAULTS, overridable_inputs
from taso_opt.onnx_io.references.randomness import RANDOM, unseeded_count
from taso_opt.onnx_io.scopes import STANDARD, all_tensors, bodies, drop, graphs_of, nested_nodes
from taso_opt.onnx_io.tidying.cutout import has_control_flow
from taso_opt.onnx_io.tidying.reach import misleading_values
from taso_opt.onnx_io.writing.fidelity import signature

if TYPE_CHECKING:
    import onnx_ir

MOST_BYTES = LARGE_FILE
"""Of the model file: each round of the clean-up copies it several times, with all of its weights."""

MOST_ROUNDS = 8
"""What is a constant after one round need not be hidden from the library in the next."""

LONGEST_DROPOUT = 2
"""Inputs without which it cannot be in training; then it does nothing."""

MOST_PASSES = 256
"""The library types the values of a branch only in the pass after the one that put it in place of its If."""

MOST_FOLDED = 8192
"""Elements of a constant that is folded, and of what goes into it: larger ones make files larger and nothing faster."""

HIDDEN = "tasoopt.hidden"
"""The domain of nodes while they are hidden: the library leaves alone what it does not know."""

UNTOUCHABLE = frozenset(RANDOM) | {
    "ConcatFromSequence",
    "SequenceAt",
    "SequenceConstruct",
    "SplitToSequence",  # its replacement has an attribute that older opsets lack
}
EXACT = frozenset(
    {
        *("Concat", "Gather", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"),
        *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
        *("And", "Not", "Or", "Where", "Xor"),
    }
)
"""Operators that may be evaluated beforehand, on any element type: they move or compare values and round nothing."""

EXACT_ON_INTEGERS = frozenset({"Add", "Cast", "Mul", "Neg", "Range", "ReduceMax", "ReduceMin", "ReduceSum", "Sub"})
INTEGERS = frozenset({"BOOL", "INT32", "INT64"})


def has_plain_bodies(proto: ModelProto) -> bool:
    """Whether a model has bodies, which the runtime cleans least, and nothing unusual beside them."""
    graph = proto.graph
    return (
        has_control_flow(proto)
        and proto.ir_version >= FIRST_IR_WITH_DEFAULTS
        and not (proto.training_info or graph.sparse_initializer or graph.quantization_annotation)
        and not any(function.domain in STANDARD for function in proto.functions)
        and not any(map(is_external, all_tensors(proto)))
        and proto.ByteSize() <= MOST_BYTES
    )


@dataclass(frozen=True)
class Tidied:
    """A cleaned model; `rests_on_ranks` says that it is right only if inner values have the ranks that the file states.

    Exporters write down what they saw when they traced a model; no runtime checks it.
    """

    model: ModelProto
    rests_on_ranks: bool


def tidied(proto: ModelProto) -> Tidied | None:
    """A model that computes the same with fewer nodes, its signature as it was; None where there is nothing to clean.

    What the file states of inner values is taken into account only where that helps, and then only their ranks. It is
    for models that `has_plain_bodies`, and to be called where a crash or a hang does no harm. Raises UnsupportedError
    where the library cannot do it.
    """
    strict, trusting = _cleaned(proto, with_ranks=False), _cleaned(proto, with_ranks=True)
    rests_on_ranks = _node_count(trusting) < _node_count(strict)
    result = trusting if rests_on_ranks else strict
    if unseeded_count(result) != unseeded_count(proto):  # seeds are given by number when models are compared
        raise UnsupportedError("expected as many random operators after the clean-up as before, found fewer")
    if signature(result) != signature(proto):
        raise UnsupportedError("expected all but nodes and weights to stay as it is in the clean-up, found a change")
    return Tidied(result, rests_on_ranks) if _node_count(result) < _node_count(proto) else None


def _cleaned(proto: ModelProto, with_ranks: bool) -> ModelProto:
    bare = _prepared(proto, with_ranks)
    try:
        for _ in range(MOST_ROUNDS):
            count, bare = _node_count(bare), _round(bare)
            if _node_count(bare) == count:
                break
        return _restored(proto, bare)
    except UnsupportedError:
        raise
    except Exception as error:
        raise UnsupportedError(f"expected onnxscript to clean up the model, found: {one_line(error)}") from error


def _round(bare: ModelProto) -> ModelProto:
    """What the library makes of a model with some of its nodes hidden."""
    import onnx_ir
    from onnxscript import optimizer

    hidden = ModelProto()
    hidden.CopyFrom(bare)
    aside = misleading_values(hidden.graph)
    for node in nested_nodes(hidden.graph.node):
        if node.domain in STANDARD and (_is_untouchable(node) or set(node.output) & aside):
            node.domain = HIDDEN
    model = onnx_ir.serde.deserialize_model(hidden)
    limits = {"input_size_limit": MOST_FOLDED, "output_size_limit": MOST_FOLDED}
    for _ in range(MOST_PASSES):
        if not optimizer.fold_constants_ir(model, onnx_shape_inference=True, should_fold=_should_fold, **limits):
            break
    optimizer.remove_unused_nodes(model)
    result: ModelProto = onnx_ir.serde.serialize_model(model)
    for node in nested_nodes(result.graph.node):
        if node.domain == HIDDEN:
            node.domain = ""
    return result


def _is_untouchable(node: NodeProto) -> bool:
    if node.op_type == "Dropout":
        return len(node.input) > LONGEST_DROPOUT
    return node.op_type in UNTOUCHABLE


def _should_fold(node: onnx_ir.Node) -> bool | None:
    """None leaves it to the library's limits of size."""
    if node.domain not in STANDARD:
        return False
    if node.op_type in EXACT:
        return None
    types = {value.const_value.dtype.name for value in node.inputs if value is not None and value.const_value}
    return None if node.op_type in EXACT_ON_INTEGERS and types <= INTEGERS else False


def _prepared(proto: ModelProto, with_ranks: bool) -> ModelProto:
    """A copy that says nothing that may be untrue: stale shapes, defaults that callers may override, equal dims.

    Functions are left out, so that their calls are operators that nobody knows.
    """
    bare = ModelProto()
    bare.CopyFrom(proto)
    del bare.functions[:]
    _forget(bare.graph, with_ranks)
    for number, body in enumerate(_bodies(bare.graph)):
        body.name = str(number)
    overridable = overridable_inputs(proto)
    drop(bare.graph.initializer, lambda tensor: tensor.name in overridable)
    for number, value in enumerate(bare.graph.input):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ()):
            if dim.dim_value <= 0:
                dim.dim_param = f"tasoopt_{number}_{axis}"
    return bare


def _forget(graph: GraphProto, with_ranks: bool = False) -> None:
    """Drop what a graph and its bodies state of the shapes of inner values, up to their ranks if those are wanted.

    What enters a body is passed on from one turn of a loop to the next, and nothing is believed of it.
    """
    if not with_ranks:
        del graph.value_info[:]
    for value in (*graph.value_info, *graph.output):
        _forget_shape(value, with_ranks)
    for node in graph.node:
        for body in bodies(node):
            for value in body.input:
                _forget_shape(value)
            _forget(body, with_ranks)


def _forget_shape(value: ValueInfoProto, with_rank: bool = False) -> None:
    del value.metadata_props[:]
    if not value.type.HasField("tensor_type"):
        return
    if not with_rank:
        value.type.tensor_type.ClearField("shape")
    for dim in value.type.tensor_type.shape.dim if with_rank else ():
        dim.Clear()


def _restored(proto: ModelProto, bare: ModelProto) -> ModelProto:
    """The original with the nodes and weights of a cleaned copy, and all else as it was."""
    for kind in ("input", "output"):
        before, after = ([value.name for value in getattr(one.graph, kind)] for one in (proto, bare))
        if before != after:
            raise UnsupportedError(f"expected the names of every {kind} to stay, found {after} for {before}")
    _restore_bodies(proto.graph, bare.graph)
    result = ModelProto()
    result.CopyFrom(proto)
    graph, overridable = result.graph, overridable_inputs(proto)
    kept = [tensor for tensor in proto.graph.initializer if tensor.name in overridable]
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(bare.graph.node)
    graph.initializer.extend([*kept, *bare.graph.initializer])
    inner = {name for body in _bodies(proto.graph) for node in body.node for name in node.output}
    computed = {name for node in graph.node for name in node.output} - inner
    graph.value_info.extend(value for value in proto.graph.value_info if value.name in computed)
    return result


def _restore_bodies(original: GraphProto, graph: GraphProto) -> None:
    """Give the bodies that are left, which bear their numbers, the names and stated types of before.

    A loop needs the types: a runtime that turns it no time at all makes its results by them.
    """
    known = dict(enumerate(_bodies(original)))
    for body in _bodies(graph):
        before = known[int(body.name)]
        body.name = before.name
        del body.value_info[:]
        for old, new in ((before.input, body.input), (before.output, body.output)):
            for stated, value in zip(old, new, strict=True):
                value.type.CopyFrom(stated.type)
                del value.metadata_props[:]
                value.metadata_props.extend(stated.metadata_props)


def _node_count(proto: ModelProto) -> int:
    return sum(1 for node in nested_nodes(proto.graph.node) if node.op_type != "Constant")


def _bodies(graph: GraphProto) -> Iterator[GraphProto]:
    """All bodies of control flow in a graph, nested ones too."""
    return islice(graphs_of(graph), 1, None)
