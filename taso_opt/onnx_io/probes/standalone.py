"""Makes small ONNX models of a few terms, for measuring what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import prod, sqrt

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from taso_opt.core.literal import literal_value
from taso_opt.core.term import Apply, Const, Item, Term, Var
from taso_opt.core.types import TensorType
from taso_opt.errors import SpecError
from taso_opt.onnx_io.elements import element_code
from taso_opt.onnx_io.files.external import VALUE_FIELDS
from taso_opt.onnx_io.nodes import constant_terms, node_of, ordered_operands, spelled
from taso_opt.onnx_io.reading.fold import fold_constant
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array
from taso_opt.spec.shared.piecewise import simplest_fraction

OLDEST_IR = 4
"""The first file format in which a constant need not be listed among the inputs."""

MOST_DIFFERENT = 65_521
"""Of the random numbers of one tensor: a prime, so that hardly any two rows are the same."""

LARGE_BYTES = 1 << 18
"""From here on the numbers of a tensor are kept beside its model."""

ELSEWHERE = "elsewhere"
"""The file that a model names for them; there is none."""

TYPICAL = Fraction(1, 1000)
"""The value of a number that stands in an attribute where values are left open."""

ConstantValues = Callable[[Const], Array]


def standalone_model(
    builder: Builder,
    outputs: Sequence[Term],
    inputs: Sequence[Term] = (),
    *,
    opset: int,
    ir_version: int,
    constant_values: ConstantValues | None = None,
    seed: int = 0,
    hollow: bool = False,
) -> bytes:
    """A model that computes `outputs` from `inputs` and from every variable between them, all shapes being numbers.

    The builder gives the types, so its bindings must cover every symbol. `inputs` are terms whose own computation is
    left out; inputs are called i0, i1, ... in the order given, then variables in order of first occurrence; outputs
    o0, o1, ..., those of an application with several outputs in their order. What depends on constants alone becomes
    an initializer, as it does in a written model: seeded random numbers scaled as weights are, or what follows from
    what `constant_values` answers. In a `hollow` model the random numbers are left out (see `fill_weights`). Equal
    structures give equal bytes. Raises SpecError for a term that ONNX cannot
    express and for a size that is not bound.
    """
    model = _Standalone(builder, opset, constant_values, None if hollow else seed)
    for term in dict.fromkeys(inputs):
        model.add_input(term)
    roots = [root for output in outputs for root in _single_outputs(builder, output)]
    model.add_terms(roots)
    for root in roots:
        model.add_output(root)
    return model.serialized(max(ir_version, OLDEST_IR))


def _single_outputs(builder: Builder, term: Term) -> list[Term]:
    """The term itself, or one item for each output of an application with several."""
    count = len(builder.types(term))
    return [term] if count == 1 else [builder.item(term, index) for index in range(count)]


class _Standalone:
    """A model under construction: the name of each term, and the parts of the graph."""

    def __init__(self, builder: Builder, opset: int, constant_values: ConstantValues | None, seed: int | None) -> None:
        self._builder, self._opset, self._constant_values, self._seed = builder, opset, constant_values, seed
        self._names: dict[Term, str] = {}
        self._arrays: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._constant: set[Term] = set()
        self._nodes: list[NodeProto] = []
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []
        self._initializers: list[TensorProto] = []

    def add_input(self, term: Term) -> None:
        """Make a graph input of a term."""
        name = f"i{len(self._inputs)}"
        self._inputs.append(self._value_info(name, term))
        self._names[term] = name

    def add_terms(self, roots: Sequence[Term]) -> None:
        """Add what the roots need, children before parents, down to the inputs."""
        self._constant = constant_terms(roots)
        pending = list(reversed(roots))
        while pending:
            term = pending[-1]
            missing = [child for child in self._needed(term) if child not in self._names]
            if missing:
                pending.extend(reversed(missing))
                continue
            if term not in self._names:
                self._add_term(term)
            pending.pop()

    def _needed(self, term: Term) -> tuple[Term, ...]:
        known = term in self._names or term in self._constant
        return () if known else term.children

    def _add_term(self, term: Term) -> None:
        if term in self._constant:
            self._add_constant(term)
        elif isinstance(term, Var):
            self.add_input(term)
        elif isinstance(term, Item):
            whole = self._names[term.term]
            self._names[term] = f"{whole}_{term.index}" if len(self._builder.types(term.term)) > 1 else whole
        else:
            assert isinstance(term, Apply)
            self._add_node(term)

    def _add_constant(self, term: Term) -> None:
        kind = self._builder.type(term)
        number = literal_value(term)
        if number is not None:
            value = np.asarray(float(number), kind.dtype)
        elif self._constant_values is not None:
            value = fold_constant(self._builder, term, self._constant_values)
        elif self._seed is None:
            self._names[term] = self._hollow(kind)
            return
        else:
            value = random_weight(kind.dtype, static_shape(kind), [self._seed, len(self._initializers)])
        self._names[term] = self._initializer(value)

    def _add_node(self, term: Apply) -> None:
        call = spelled(self._builder, term, self._opset, self._number)
        if call is None:
            raise SpecError(f"expected an operator that ONNX can express at opset {self._opset}, found {term.operator}")
        call = ordered_operands(self._builder, term, call, self._constant.__contains__)
        name = f"v{len(self._nodes)}"
        outputs = [name] if call.output_count == 1 else [f"{name}_{index}" for index in range(call.output_count)]
        self._nodes.append(node_of(call, name, outputs, self._names.__getitem__, self._array))
        self._names[term] = name

    def _number(self, term: Term) -> Fraction | None:
        """The value of a constant of one element; a made-up one where values do not matter."""
        if not isinstance(term, Const) or self._builder.type(term).elements != 1:
            return None
        if self._constant_values is None or literal_value(term) is not None:
            known = literal_value(term)
            return TYPICAL if known is None else known
        return simplest_fraction(self._constant_values(term).reshape(()))

    def add_output(self, term: Term) -> None:
        """Make a graph output of a term that was added; what no node computes passes through an Identity."""
        name, known = f"o{len(self._outputs)}", self._names[term]
        self._outputs.append(self._value_info(name, term))
        if not known.startswith("v"):
            self._nodes.append(helper.make_node("Identity", [known], [name], name=name))
            return
        self._names[term] = name
        for node in self._nodes:
            node.input[:] = [name if value == known else value for value in node.input]
            node.output[:] = [name if value == known else value for value in node.output]

    def _array(self, value: Array) -> str:
        key = value.dtype.str, value.shape, value.tobytes()
        if key not in self._arrays:
            self._arrays[key] = self._initializer(value)
        return self._arrays[key]

    def _initializer(self, value: Array) -> str:
        name = f"c{len(self._initializers)}"
        self._initializers.append(numpy_helper.from_array(value, name))
        return name

    def _hollow(self, kind: TensorType) -> str:
        name = f"c{len(self._initializers)}"
        tensor = TensorProto(name=name, data_type=element_code(kind.dtype), dims=static_shape(kind))
        self._initializers.append(tensor)
        return name

    def _value_info(self, name: str, term: Term) -> ValueInfoProto:
        kind = self._builder.type(term)
        return helper.make_tensor_value_info(name, element_code(kind.dtype), static_shape(kind))

    def serialized(self, ir_version: int) -> bytes:
        """The finished model."""
        graph = helper.make_graph(self._nodes, "unit", self._inputs, self._outputs, self._initializers)
        opsets = [helper.make_opsetid("", self._opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
        return bytes(model.SerializeToString(deterministic=True))


def fill_weights(model: ModelProto, seed: int = 0) -> None:
    """Give a hollow standalone model the random numbers that it would have had."""
    for tensor, weight in _missing_weights(model, seed):
        tensor.raw_data = weight.tobytes()


def set_weights_aside(model: ModelProto, seed: int = 0) -> dict[str, Array]:
    """The same for small tensors; the numbers of large ones are answered, and the model says that they lie elsewhere.

    A runtime that takes them beside the model copies them once, and not each time that the model is handed on. Tensors
    that lie elsewhere already get new numbers.
    """
    aside: dict[str, Array] = {}
    for tensor, weight in _missing_weights(model, seed):
        if weight.nbytes < LARGE_BYTES:
            tensor.raw_data = weight.tobytes()
        else:
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=ELSEWHERE)
            aside[tensor.name] = weight
    return aside


def _missing_weights(model: ModelProto, seed: int) -> Iterator[tuple[TensorProto, Array]]:
    """Each tensor without its numbers, which lie nowhere any more, with random ones."""
    for place, tensor in enumerate(model.graph.initializer):
        stored = tensor.raw_data or any(len(getattr(tensor, field)) for field in VALUE_FIELDS)
        if prod(tensor.dims) and not stored:
            tensor.ClearField("data_location")
            tensor.ClearField("external_data")
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.data_type)).name
            yield tensor, random_weight(dtype, tuple(tensor.dims), [seed, place])


def static_shape(kind: TensorType) -> tuple[int, ...]:
    """The sizes of a type; SpecError where one is no number."""
    sizes = tuple(dim for dim in kind.shape if isinstance(dim, int))
    if len(sizes) != len(kind.shape):
        raise SpecError(f"expected a number for every size of a model to be measured, found {kind}")
    return sizes


def random_weight(dtype: str, shape: tuple[int, ...], seed: Sequence[int]) -> Array:
    """Random numbers of one type: floats with the deviation 1 / sqrt(fan-in) that weights have, others 0 or 1."""
    generator = np.random.default_rng(seed)
    if dtype not in ("float16", "float32", "float64"):
        return generator.integers(0, 2, shape).astype(dtype)
    fan_in = prod(shape[1:]) if len(shape) > 3 else shape[-2] if len(shape) > 1 else 1
    # Uniform numbers are several times as fast as normal ones, repeated ones even more, and no kernel cares.
    numbers = generator.random(min(prod(shape), MOST_DIFFERENT), np.float32)
    numbers -= np.float32(0.5)
    numbers *= np.float32(sqrt(12 / max(fan_in, 1)))
    return np.resize(numbers.astype(dtype, copy=False), shape)
