"""Names of ONNX element types: NumPy's where NumPy has the type, else ONNX's own in lower case."""

from __future__ import annotations

from onnx import TensorProto, TypeProto

UNKNOWN = "unknown"
"""The element type of values that are no tensors, or whose type or rank is not known."""

_DIFFERENT = {"FLOAT": "float32", "DOUBLE": "float64", "UNDEFINED": UNKNOWN}
_NAMES: dict[int, str] = {code: _DIFFERENT.get(name, name.lower()) for name, code in TensorProto.DataType.items()}
_CODES: dict[str, int] = {name: code for code, name in _NAMES.items()}


def element_name(code: int) -> str:
    """The name of an element type: `float32`, `bfloat16`, `string`; `unknown` for a code that ONNX does not define."""
    return _NAMES.get(code, UNKNOWN)


def element_code(name: str) -> int:
    """The code of an element type; KeyError for a name that ONNX does not define."""
    return _CODES[name]


def type_text(kind: TypeProto) -> str:
    """A type as ONNX spells it: `tensor(float)`, `seq(tensor(float))`, `map(int64,tensor(float))`."""
    if kind.HasField("tensor_type"):
        return f"tensor({_onnx_name(kind.tensor_type.elem_type)})"
    if kind.HasField("sparse_tensor_type"):
        return f"sparse_tensor({_onnx_name(kind.sparse_tensor_type.elem_type)})"
    if kind.HasField("sequence_type"):
        return f"seq({type_text(kind.sequence_type.elem_type)})"
    if kind.HasField("optional_type"):
        return f"optional({type_text(kind.optional_type.elem_type)})"
    if kind.HasField("map_type"):
        return f"map({_onnx_name(kind.map_type.key_type)},{type_text(kind.map_type.value_type)})"
    return UNKNOWN


def _onnx_name(code: int) -> str:
    return str(TensorProto.DataType.Name(code)).lower() if code in _NAMES else UNKNOWN
