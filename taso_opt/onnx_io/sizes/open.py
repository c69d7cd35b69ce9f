"""Sizes that ONNX's shape inference leaves open, though they follow from those of the inputs.

Exporters write models of any batch and length with nodes that compute shapes. ONNX follows some of them and gives what
it cannot tell a name of its own, which all that comes after carries on: behind position embeddings that are cut to the
length of the input nothing has that length any more. Each such name stands first at one node; there it is resolved.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import zip_longest

from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from taso_opt.core.dims import Dim, Size, divide, product, substitute, symbols_in, total
from taso_opt.core.types import TensorType
from taso_opt.onnx_io.files.weights import constant_value
from taso_opt.onnx_io.scopes import STANDARD, opset_of
from taso_opt.onnx_io.sizes.inference import UNKNOWN_TYPE, infer_types
from taso_opt.onnx_io.sizes.known import chosen_sizes
from taso_opt.onnx_io.sizes.values import SizeValues, is_never_negative
from taso_opt.spec.operator import Array
from taso_opt.spec.shared.shapes import FAR

log = logging.getLogger(__name__)

Shape = Sequence[Dim | None]
"""Sizes, None where one is not known."""

BROADCASTING = frozenset(
    {
        *("Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min"),
        *("Mod", "Mul", "Or", "Pow", "Sub", "Sum", "Where", "Xor"),
    }
)


def symbolic_types(bare: ModelProto) -> dict[str, TensorType]:
    """The types of all values of a skeleton as `infer_types` finds them, with as few sizes without meaning as can be.

    What is found holds wherever the model runs: operands that no run could broadcast need no answer.
    """
    types = infer_types(bare)
    stated = {name for value in bare.graph.input for name in symbols_in(types.get(value.name, UNKNOWN_TYPE).shape)}
    if stated.issuperset(name for kind in types.values() for name in symbols_in(kind.shape)):
        return types
    return _OpenSizes(bare, types, stated).resolved()


class _OpenSizes:
    """One pass through a graph, from its inputs on."""

    def __init__(self, bare: ModelProto, types: dict[str, TensorType], stated: set[str]) -> None:
        self._graph, self._found, self._stated = bare.graph, types, stated
        self._functions = {function.name for function in bare.functions}
        self._sizes = SizeValues(opset_of(bare))
        numbers = [one for one in bare.graph.initializer if one.data_type != TensorProto.STRING]
        self._values: dict[str, Array] = {one.name: numpy_helper.to_array(one) for one in numbers}
        constants = {name: TensorType(str(value.dtype), value.shape) for name, value in self._values.items()}
        self._types = constants | types
        self._meaning: dict[str, Dim] = {}
        self._less: dict[Dim, Dim] = {}
        self._rules: dict[str, Callable[[NodeProto], Shape | None]] = {
            **dict.fromkeys(BROADCASTING, self._broadcast),
            "ConstantOfShape": self._told,
            "Concat": self._joined,
            "Expand": self._expanded,
            "MatMul": self._multiplied,
            "Pad": self._padded,
            "Range": self._counted,
            "Reshape": self._reshaped,
            "Slice": self._cut,
            "Tile": self._repeated,
        }

    def resolved(self) -> dict[str, TensorType]:
        """The types of all values after it."""
        for node in self._graph.node:
            if node.domain in STANDARD and node.op_type not in self._functions:
                try:
                    self._visit(node)
                except Exception as error:  # noqa: BLE001 - nobody has checked the model by running it
                    log.info("sizes are not followed through %s: %s", node.op_type, error)
        return {name: self._known(kind) for name, kind in self._found.items()}

    def _visit(self, node: NodeProto) -> None:
        kind = self._type(node.output[0])
        rule = self._rules.get(node.op_type)
        if rule is not None and not self._stated.issuperset(symbols_in(kind.shape)):
            found = rule(node)
            if found is not None and len(found) == kind.rank:
                self._learn(kind.shape, found)
        value = self._value(node)
        if value is not None:
            self._values[node.output[0]] = value

    def _learn(self, shape: Sequence[Dim], found: Shape) -> None:
        for dim, meaning in zip(shape, found, strict=True):
            name = dim.symbol if isinstance(dim, Size) else None
            if name is not None and meaning is not None and name not in self._stated and self._has_meaning(meaning):
                self._meaning.setdefault(name, meaning)

    def _has_meaning(self, size: Dim) -> bool:
        return is_never_negative(size) and (isinstance(size, int) or self._stated.issuperset(size.symbols()))

    def _value(self, node: NodeProto) -> Array | None:
        """What a node computes, where that is a few numbers and sizes."""
        if len(node.output) != 1:
            return None
        stated = constant_value(node)
        if stated is not None:
            return numpy_helper.to_array(stated)
        if node.op_type == "Shape":
            kind = self._type(node.input[0])
            return None if kind == UNKNOWN_TYPE else self._sizes.array(chosen_sizes(node, kind.shape))
        operands = [self._values.get(name) for name in node.input if name]
        known = [value for value in operands if value is not None]
        return self._sizes.computed(node, known) if known and len(known) == len(operands) else None

    def _type(self, name: str) -> TensorType:
        return self._known(self._types.get(name, UNKNOWN_TYPE))

    def _known(self, kind: TensorType) -> TensorType:
        """A type with names replaced by what they stand for."""
        return TensorType(kind.dtype, tuple(substitute(dim, self._meaning.get) for dim in kind.shape))

    def _shapes(self, node: NodeProto) -> list[Sequence[Dim]] | None:
        kinds = [self._type(name) for name in node.input if name]
        return None if UNKNOWN_TYPE in kinds else [kind.shape for kind in kinds]

    def _dims(self, name: str) -> tuple[Dim, ...] | None:
        """The value of an operand, as sizes."""
        value = self._values.get(name)
        return None if value is None else self._sizes.dims(value)

    # What each operator says of the sizes of its result.

    def _told(self, node: NodeProto) -> Shape | None:
        return self._dims(node.input[0])

    def _counted(self, node: NodeProto) -> Shape | None:
        start, end, step = (self._dims(name) for name in node.input)
        return end if (start, step) == ((0,), (1,)) else None

    def _broadcast(self, node: NodeProto) -> Shape | None:
        shapes = self._shapes(node)
        return None if shapes is None else self._together(shapes)

    def _expanded(self, node: NodeProto) -> Shape | None:
        kind, given = self._type(node.input[0]), self._dims(node.input[1])
        return None if kind == UNKNOWN_TYPE or given is None else self._together([kind.shape, given])

    def _multiplied(self, node: NodeProto) -> Shape | None:
        shapes = self._shapes(node)
        if shapes is None or min(map(len, shapes)) < 2:
            return None
        left, right = shapes
        return (*self._together([left[:-2], right[:-2]]), left[-2], right[-1])

    def _padded(self, node: NodeProto) -> Shape | None:
        """Of pads that are computed; those in attributes ONNX follows."""
        kind, pads = self._type(node.input[0]), self._dims(node.input[1]) if len(node.input) > 1 else None
        if kind == UNKNOWN_TYPE or pads is None or len(pads) != 2 * kind.rank or any(node.input[3:]):
            return None
        return [total((size, *pads[at :: kind.rank])) for at, size in enumerate(kind.shape)]

    def _joined(self, node: NodeProto) -> Shape | None:
        shapes = self._shapes(node)
        if not shapes:
            return None
        axis = next(attribute.i for attribute in node.attribute if attribute.name == "axis") % len(shapes[0])
        sizes = zip(*shapes, strict=True)
        return [total(dims) if at == axis else self._same(dims) for at, dims in enumerate(sizes)]

    def _same(self, dims: Sequence[Dim]) -> Dim | None:
        """The size that several are, of which no run has others."""
        return next((dim for dim in dims if self._has_meaning(dim)), None)

    def _reshaped(self, node: NodeProto) -> Shape | None:
        source, given = self._type(node.input[0]), self._dims(node.input[1])
        copies = not any(attribute.i for attribute in node.attribute if attribute.name == "allowzero")
        if source == UNKNOWN_TYPE or given is None or (not copies and 0 in given):
            return None
        if any(dim == 0 and at >= source.rank for at, dim in enumerate(given)):
            return None
        shape: list[Dim | None] = [source.shape[at] if dim == 0 else dim for at, dim in enumerate(given)]
        if -1 not in shape:
            return shape
        rest = shape.index(-1)
        others = [dim for at, dim in enumerate(shape) if at != rest and dim is not None]
        whole, divisor = product(source.shape), product(tuple(others))
        shape[rest] = None if divisor == 0 else divide(whole, divisor)
        return shape

    def _repeated(self, node: NodeProto) -> Shape | None:
        kind, counts = self._type(node.input[0]), self._dims(node.input[1])
        if kind == UNKNOWN_TYPE or counts is None or len(counts) != kind.rank:
            return None
        return [size * count for size, count in zip(kind.shape, counts, strict=True)]

    def _cut(self, node: NodeProto) -> Shape | None:
        """Of axes whose size is a symbol those from the start on."""
        kind, bounds = self._type(node.input[0]), [self._dims(name) for name in node.input[1:]]
        starts, ends, axes, steps = [*bounds, None, None][:4]
        if kind == UNKNOWN_TYPE or starts is None or ends is None or None in bounds:
            return None
        chosen = [*range(len(starts))] if axes is None else [axis % kind.rank for axis in axes if isinstance(axis, int)]
        given = self._types[node.output[0]].shape
        shape: list[Dim | None] = list(kind.shape)
        for axis, start, end, step in zip(chosen, starts, ends, steps or (1,) * len(starts), strict=True):
            size = shape[axis]
            if isinstance(size, int) and all(isinstance(bound, int) for bound in (start, end, step)):
                shape[axis] = len(range(*slice(start, end, step).indices(size)))
            else:
                from_start = (start, step) == (0, 1)
                shape[axis] = self._kept(kind.shape[axis], end, given[axis]) if from_start else None
        return shape

    def _kept(self, size: Dim, end: Dim, result: Dim) -> Dim | None:
        """How much of an axis lies before an end; of a number and a size the less stays as it is, which is noted."""
        if size == end or (isinstance(end, int) and end >= FAR):
            return size
        if isinstance(size, int) and isinstance(end, int):
            return min(size, max(end + size, 0) if end < 0 else end)
        if isinstance(size, int) and size > 0 and is_never_negative(end):
            self._less[result] = end
        return None

    def _together(self, shapes: Iterable[Shape]) -> Shape:
        """The sizes that shapes broadcast to, None where that depends on what is not known."""
        aligned = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
        return [reduce(self._wider, dims) for dims in aligned][::-1]

    def _wider(self, one: Dim | None, other: Dim | None) -> Dim | None:
        """The size of an axis that two broadcast to: what is at most another and no zero before it gives way."""
        if one == other or other == 1:
            return one
        if one == 1:
            return other
        for size, given in ((one, other), (other, one)):
            if isinstance(size, int) and size > 1 and isinstance(given, Size):
                return size
            if size is not None and given is not None and self._less.get(given) == size:
                return size
        return None
