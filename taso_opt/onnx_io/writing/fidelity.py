"""What of a model must survive rewriting, and the check that it did."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from onnx import ModelProto


@dataclass(frozen=True)
class Signature:
    """All that a model says besides its nodes, weights and inner values, each part as it is serialized."""

    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    overridable_initializers: tuple[str, ...]
    opset_imports: tuple[bytes, ...]
    ir_version: int
    functions: tuple[bytes, ...]
    metadata: tuple[bytes, ...]
    producer: tuple[str, str, str, int]
    doc_strings: tuple[str, str]
    graph_name: str
    training: tuple[bytes, ...]


def signature(proto: ModelProto) -> Signature:
    """What must stay as it is whatever the nodes are."""
    graph = proto.graph
    inputs = {value.name for value in graph.input}
    return Signature(
        inputs=tuple(value.SerializeToString(deterministic=True) for value in graph.input),
        outputs=tuple(value.SerializeToString(deterministic=True) for value in graph.output),
        overridable_initializers=tuple(tensor.name for tensor in graph.initializer if tensor.name in inputs),
        opset_imports=tuple(entry.SerializeToString(deterministic=True) for entry in proto.opset_import),
        ir_version=proto.ir_version,
        functions=tuple(function.SerializeToString(deterministic=True) for function in proto.functions),
        metadata=tuple(
            entry.SerializeToString(deterministic=True) for entry in (*proto.metadata_props, *graph.metadata_props)
        ),
        producer=(proto.producer_name, proto.producer_version, proto.domain, proto.model_version),
        doc_strings=(proto.doc_string, graph.doc_string),
        graph_name=graph.name,
        training=tuple(part.SerializeToString(deterministic=True) for part in proto.training_info),
    )


def keeps_signature(original: ModelProto, result: ModelProto) -> bool:
    """Whether a model has the signature of the original; functions may be missing, which nothing calls then."""
    before, after = signature(original), signature(result)
    return replace(before, functions=()) == replace(after, functions=()) and {*after.functions} <= {*before.functions}


def check_fidelity(original: ModelProto, result: ModelProto) -> None:
    """Assert that a rewritten model kept the signature of the original; a failure is a fault of this package."""
    before, after = signature(original), signature(result)
    changed = [part.name for part in fields(Signature) if getattr(before, part.name) != getattr(after, part.name)]
    assert not changed, f"rewriting changed the {', '.join(changed)} of the model"
