"""The models of the onnx package's own backend tests, and copies of them in which there is something to rewrite."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, load_model, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from taso_opt.onnx_io.scopes import all_names, captured_names, initializer_names, rename_captures

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")
DRESSABLE = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE})
UNREADABLE = frozenset(
    code
    for name, code in TensorProto.DataType.items()
    if name.startswith(("BFLOAT", "FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2"))
)
OLDEST_OPSET = 7
"""Before this opset no node is looked into, so that there is nothing to rewrite."""


@dataclass(frozen=True)
class DataSet:
    """Inputs for a model and the outputs that it must give, in the order of the model."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """One model of the suite with its data and the tolerance that the suite states."""

    name: str
    model: ModelProto
    data_sets: tuple[DataSet, ...]
    rtol: float
    atol: float


def load_cases() -> dict[str, Case]:
    """All models of the suite by name; what is stored in files is read, the rest is made by the onnx package."""
    found: dict[str, Case] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in KINDS:
            found.update((test.name, _case(test)) for test in load_model_tests(kind=kind))
    return found


def _case(test: TestCase) -> Case:
    if test.model is not None:
        sets = tuple(DataSet(*map(_plain, pair)) for pair in test.data_sets or ())
        return Case(test.name, test.model, sets, test.rtol, test.atol)
    folder = Path(test.model_dir or "")
    return Case(test.name, load_model(folder / "model.onnx"), tuple(_stored(folder)), test.rtol, test.atol)


def _plain(values: Any) -> tuple[Any, ...]:
    """Tensors as arrays, numbers as arrays without axes."""
    plain = (numpy_helper.to_array(value) if isinstance(value, TensorProto) else value for value in values)
    return tuple(np.asarray(value) if isinstance(value, np.generic) else value for value in plain)


def _stored(folder: Path) -> Iterator[DataSet]:
    for data in sorted(folder.glob("test_data_set_*")):
        yield DataSet(tuple(_tensors(data, "input")), tuple(_tensors(data, "output")))


def _tensors(folder: Path, kind: str) -> Iterator[np.ndarray[Any, Any]]:
    for number in range(len(list(folder.glob(f"{kind}_*.pb")))):
        yield numpy_helper.to_array(TensorProto.FromString((folder / f"{kind}_{number}.pb").read_bytes()))


def restamped(model: ModelProto, opset: int, ir_version: int) -> ModelProto:
    """The same model at an opset and IR version of at most these; what changed in between the runtime refuses."""
    result = ModelProto()
    result.CopyFrom(model)
    result.ir_version = min(model.ir_version, ir_version)
    for imported in (result.opset_import, *(function.opset_import for function in result.functions)):
        for entry in imported:
            if entry.domain in ("", "ai.onnx"):
                entry.version = min(entry.version, opset)
    return result


def dressed(model: ModelProto) -> ModelProto | None:
    """The same model with a detour of two inverse operators behind every float input and before every float output.

    The rules remove the detours, so that whatever stands between is written beside a real rewriting. None where no
    input or output is a float tensor of known rank.
    """
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=0)
    if opset < OLDEST_OPSET:
        return None
    result = ModelProto()
    result.CopyFrom(model)
    graph, names = result.graph, all_names(result.graph)
    before = [detour for value in graph.input if (detour := _detour_after(result, value, names)) is not None]
    after = [detour for value in graph.output if (detour := _detour_before(result, value, names)) is not None]
    if not before and not after:
        return None
    nodes = [*chain(*before), *graph.node, *chain(*after)]
    del graph.node[:]
    graph.node.extend(nodes)
    return result


def readable(model: ModelProto) -> ModelProto:
    """The same model with every output of an element type that NumPy lacks turned into float32, which holds them."""
    result = ModelProto()
    result.CopyFrom(model)
    names = all_names(result.graph)
    for value in result.graph.output:
        if not value.type.HasField("tensor_type") or value.type.tensor_type.elem_type not in UNREADABLE:
            continue
        made, value.name = value.name, _fresh(f"{value.name}_readable", names)
        value.type.tensor_type.elem_type = TensorProto.FLOAT
        result.graph.node.append(helper.make_node("Cast", [made], [value.name], to=TensorProto.FLOAT))
    return result


def _detour_after(model: ModelProto, value: ValueInfoProto, names: set[str]) -> list[NodeProto] | None:
    """Nodes that pass an input on under another name, which every node then uses."""
    if not _dressable(value) or value.name in initializer_names(model.graph):
        return None
    if value.name in {output.name for output in model.graph.output}:
        return None
    inner = _fresh(f"{value.name}_passed", names)
    for node in model.graph.node:
        if value.name in captured_names(node):
            rename_captures(node, {value.name: inner}, iter(()))  # nothing has that name, so that nothing hides it
        node.input[:] = [inner if name == value.name else name for name in node.input]
    return _detour(model, value, value.name, inner, names)


def _detour_before(model: ModelProto, value: ValueInfoProto, names: set[str]) -> list[NodeProto] | None:
    """Nodes that give an output from a value of another name, which the node that made the output now makes."""
    makers = [node for node in model.graph.node if value.name in node.output]
    if not _dressable(value) or not makers:
        return None
    inner = _fresh(f"{value.name}_made", names)
    for node in model.graph.node:
        if value.name in captured_names(node):
            rename_captures(node, {value.name: inner}, iter(()))  # nothing has that name, so that nothing hides it
        node.input[:] = [inner if name == value.name else name for name in node.input]
        node.output[:] = [inner if name == value.name else name for name in node.output]
    return _detour(model, value, inner, value.name, names)


def _dressable(value: ValueInfoProto) -> bool:
    kind = value.type
    return kind.HasField("tensor_type") and kind.tensor_type.elem_type in DRESSABLE and _rank(value) >= 1


def _rank(value: ValueInfoProto) -> int:
    kind = value.type.tensor_type
    if not kind.HasField("shape"):
        return 0
    fixed = all(dim.HasField("dim_value") for dim in kind.shape.dim)
    return len(kind.shape.dim) if len(kind.shape.dim) > 1 or fixed else 0


def _detour(model: ModelProto, value: ValueInfoProto, source: str, target: str, names: set[str]) -> list[NodeProto]:
    """Two transpositions where there are two axes, a reshape to the same shape where there is one."""
    rank = _rank(value)
    if rank == 1:
        shape = _fresh(f"{target}_shape", names)
        sizes = np.array([dim.dim_value for dim in value.type.tensor_type.shape.dim], np.int64)
        constant = helper.make_node("Constant", [], [shape], value=numpy_helper.from_array(sizes, shape))
        return [constant, helper.make_node("Reshape", [source, shape], [target])]
    swap = [*range(rank - 2), rank - 1, rank - 2]
    middle = _fresh(f"{target}_turned", names)
    return [
        helper.make_node("Transpose", [source], [middle], perm=swap),
        helper.make_node("Transpose", [middle], [target], perm=swap),
    ]


def _fresh(wish: str, names: set[str]) -> str:
    while wish in names:
        wish += "_"
    names.add(wish)
    return wish
