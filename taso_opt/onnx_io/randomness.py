"""Seeds for random operators, so that two models that draw random numbers can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from onnx import ModelProto, NodeProto, helper

from taso_opt.onnx_io.scopes import bodies

RANDOM = {
    "RandomNormal": float,
    "RandomNormalLike": float,
    "RandomUniform": float,
    "RandomUniformLike": float,
    "Multinomial": float,
    "Bernoulli": float,
    "Dropout": int,
}
"""ONNX's operators that draw random numbers, with the type of their seed; Dropout draws in training only."""

FIRST_SEED = 1
FIRST_DROPOUT_SEED_OPSET = 12


def seeded(proto: ModelProto) -> ModelProto | None:
    """The same model with a seed for every random operator that has none; None when there is nothing to seed.

    Without a seed a runtime may draw by the place of the node in the file, which rewriting changes: the same numbers
    in distribution, not one by one.
    """
    if not any(_unseeded(node, proto) for node in _all_nodes(proto)):
        return None
    result = ModelProto()
    result.CopyFrom(proto)
    numbers = count(FIRST_SEED)
    for node in _all_nodes(result):
        if _unseeded(node, proto):
            node.attribute.append(helper.make_attribute("seed", RANDOM[node.op_type](next(numbers))))
    return result


def unseeded_count(proto: ModelProto) -> int:
    """How many random operators without a seed a model has, in bodies and functions too."""
    return sum(_unseeded(node, proto) for node in _all_nodes(proto))


def _unseeded(node: NodeProto, proto: ModelProto) -> bool:
    if node.op_type not in RANDOM or node.domain not in ("", "ai.onnx"):
        return False
    if node.op_type == "Dropout" and (len(node.input) < 3 or _opset(proto) < FIRST_DROPOUT_SEED_OPSET):
        return False
    return all(attribute.name != "seed" for attribute in node.attribute)


def _opset(proto: ModelProto) -> int:
    return max((int(entry.version) for entry in proto.opset_import if entry.domain in ("", "ai.onnx")), default=0)


def _all_nodes(proto: ModelProto) -> Iterator[NodeProto]:
    yield from _nested(proto.graph.node)
    for function in proto.functions:
        yield from _nested(function.node)


def _nested(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for body in bodies(node):
            yield from _nested(body.node)
