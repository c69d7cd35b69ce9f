"""How Loop and Scan hand values to their bodies, and take them back."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import NodeProto, ValueInfoProto


@dataclass(frozen=True)
class Turns:
    """Of the inputs of a body: how many stand in front of the states, how many these are, and how many are scanned.

    The states are the body's outputs again, behind `asking` others.
    """

    first: int = 0
    states: int = 0
    scanned: int = 0
    asking: int = 0


def turns_of(node: NodeProto) -> Turns:
    """That of a node with bodies; one without states, as an If, hands nothing on."""
    if node.op_type == "Loop":
        return Turns(2, len(node.input) - 2, 0, 1)
    if node.op_type == "Scan":
        scanned = next(int(one.i) for one in node.attribute if one.name == "num_scan_inputs")
        return Turns(0, len(node.input) - scanned, scanned)
    return Turns()


def shape_of_one(stated: ValueInfoProto) -> tuple[int, ...]:
    """The shape of one number, which a runtime hands over with one axis to a body that states one."""
    return (1,) * len(stated.type.tensor_type.shape.dim)
