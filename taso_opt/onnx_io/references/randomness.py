"""Seeds for random operators, so that two models that draw random numbers can be compared."""

from __future__ import annotations

from itertools import count

from onnx import ModelProto, NodeProto, helper

from taso_opt.onnx_io.scopes import STANDARD, nodes_of, opset_of

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
    if not any(_unseeded(node, proto) for node in nodes_of(proto)):
        return None
    result = ModelProto()
    result.CopyFrom(proto)
    numbers = count(FIRST_SEED)
    for node in nodes_of(result):
        if _unseeded(node, proto):
            node.attribute.append(helper.make_attribute("seed", RANDOM[node.op_type](next(numbers))))
    return result


def unseeded_count(proto: ModelProto) -> int:
    """How many random operators without a seed a model has, in bodies and functions too."""
    return sum(_unseeded(node, proto) for node in nodes_of(proto))


def _unseeded(node: NodeProto, proto: ModelProto) -> bool:
    if node.op_type not in RANDOM or node.domain not in STANDARD:
        return False
    if node.op_type == "Dropout" and (len(node.input) < 3 or opset_of(proto) < FIRST_DROPOUT_SEED_OPSET):
        return False
    return all(attribute.name != "seed" for attribute in node.attribute)
