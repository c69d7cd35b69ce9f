"""Sizes that a model computes from the sizes of its inputs, as exporters write them for inputs of any size.

ONNX's own shape inference follows few of the operators that such computations consist of. onnxscript's constant folding
follows them all, given numbers for the sizes of the inputs. What is found here costs rest on, and nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

from onnx import ModelProto

from taso_opt.core.types import TensorType
from taso_opt.onnx_io.sizes.inference import UNKNOWN_TYPE, infer_types, with_numbers

if TYPE_CHECKING:
    import onnx_ir

log = logging.getLogger(__name__)

MOST_FOLDED = 4096
"""Elements of a value that is computed: shapes, and the indices of positions."""

ARITHMETIC = frozenset(
    {
        "Abs",
        "Add",
        "And",
        "Cast",
        "Ceil",
        "Clip",
        "Concat",
        "ConstantOfShape",
        "Div",
        "Equal",
        "Expand",
        "Flatten",
        "Floor",
        "Gather",
        "Greater",
        "GreaterOrEqual",
        "Identity",
        "Less",
        "LessOrEqual",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "Range",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "Reshape",
        "Shape",
        "Size",
        "Slice",
        "Split",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Transpose",
        "Unsqueeze",
        "Where",
    }
)
"""The operators that exporters compute sizes with."""


def numeric_types(
    bare: ModelProto, symbolic: Mapping[str, TensorType], numbers: Mapping[str, int]
) -> dict[str, TensorType]:
    """The type of every value of a skeleton whose symbols are bound to numbers, with as few open sizes as can be.

    `symbolic` has what is known of them with symbols.
    """
    types = {name: kind.bind(numbers) for name, kind in symbolic.items()}
    if all(map(_is_known, types.values())):
        return types
    bound = with_numbers(bare, numbers)
    types = infer_types(bound)
    if all(map(_is_known, types.values())):
        return types
    return types | {name: kind for name, kind in infer_types(_folded(bound)).items() if _is_known(kind)}


def _is_known(kind: TensorType) -> bool:
    return kind.is_static and kind != UNKNOWN_TYPE


def _folded(bound: ModelProto) -> ModelProto:
    """The same model without what computes sizes; as it is where that cannot be folded."""
    import onnx_ir
    from onnxscript import optimizer

    try:
        model = onnx_ir.serde.deserialize_model(bound)
        limits = {"input_size_limit": MOST_FOLDED, "output_size_limit": MOST_FOLDED}
        optimizer.fold_constants_ir(model, onnx_shape_inference=True, should_fold=_should_fold, **limits)
        folded: ModelProto = onnx_ir.serde.serialize_model(model)
    except Exception as error:  # noqa: BLE001 - of a model that nobody has checked by running it, anything may be wrong
        log.info("sizes are not followed: %s", error)
        return bound
    return folded


def _should_fold(node: onnx_ir.Node) -> bool | None:
    """None leaves it to the library's limits of size; False where nothing says that the results are small.

    The library leaves small constants of one number as they are unless told otherwise, to keep files small.
    """
    if node.domain or node.op_type not in ARITHMETIC:
        return False
    shapes = [output.shape for output in node.outputs]
    small = all(shape is not None and shape.is_static() and prod(shape.numpy()) <= MOST_FOLDED for shape in shapes)
    if not small:
        return False
    return True if node.op_type == "ConstantOfShape" else None
