"""Turns the nodes of an ONNX graph into terms, one by one in topological order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import dropwhile

from onnx import GraphProto, ModelProto, NodeProto, numpy_helper

from taso_opt.core.dims import Dim, Size, substitute
from taso_opt.core.literal import PREFIX, literal_value
from taso_opt.core.term import OPAQUE, Apply, Const, Item, Term, Var, attributes_of
from taso_opt.core.types import TensorType
from taso_opt.errors import InvalidInputError, TasoError
from taso_opt.onnx_io.elements import UNKNOWN, element_name
from taso_opt.onnx_io.files.skeleton import overridable_inputs
from taso_opt.onnx_io.files.weights import Weights, constant_value
from taso_opt.onnx_io.nodes import constant_terms, node_attributes, spelled
from taso_opt.onnx_io.reading.model import NodeUse, Origin
from taso_opt.onnx_io.scopes import STANDARD, bodies, opset_of, topological_order, used_names
from taso_opt.onnx_io.sizes.inference import UNKNOWN_TYPE
from taso_opt.onnx_io.sizes.known import ASKING, MOVING, NO_NUMBER, asked_size, computed_size
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.operator import Array, OnnxNode

OLDEST_OPSET = 7
"""Before this opset element-wise operators broadcast in another way, and Dropout could train; all nodes are opaque."""

CASTS = ("Cast", "CastLike")
MISFITS = (TasoError, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, AssertionError)
"""What a spelling may raise on a node it was not made for."""


@dataclass
class TermGraph:
    """The result of reading: the term of every named value, and what ties terms to nodes.

    The `weights` are those of the file and what its nodes compute from sizes that are numbers.
    """

    builder: Builder
    order: tuple[int, ...]
    weights: Weights
    values: dict[str, Term] = field(default_factory=dict)
    origin: dict[Term, Origin] = field(default_factory=dict)
    known: list[int] = field(default_factory=list)
    uses: tuple[NodeUse, ...] = ()


def read_terms(
    proto: ModelProto, weights: Weights, library: SpecLibrary, types: Mapping[str, TensorType], opaque: Collection[int]
) -> TermGraph:
    """Read the main graph; the nodes in `opaque` are not looked into. InvalidInputError when the graph is cyclic."""
    reader = _Reader(proto, weights, library, types, opaque)
    reader.read_leaves()
    uses: dict[int, NodeUse] = {}
    for at in reader.result.order:
        uses[at] = reader.read_node(at)
    reader.result.uses = tuple(uses[at] for at in range(len(proto.graph.node)))
    return reader.result


class _Reader:
    """What is known while one graph is read."""

    def __init__(
        self,
        proto: ModelProto,
        weights: Weights,
        library: SpecLibrary,
        types: Mapping[str, TensorType],
        opaque: Collection[int],
    ) -> None:
        self._proto, self._spellings, self._types = proto, library.spellings, types
        self._weights = Weights(dict(weights.tensors), weights.file)
        self._opaque, self._opset = opaque, opset_of(proto)
        inputs = (types.get(value.name, UNKNOWN_TYPE) for value in proto.graph.input)
        self._stated = {dim.symbol for kind in inputs for dim in kind.shape if isinstance(dim, Size)}
        self._functions = {function.name for function in proto.functions if function.domain in STANDARD}
        self._used = _used(proto.graph)
        self._sizes: dict[str, Dim] = {}
        self._constants: dict[tuple[object, ...], Const] = {}
        self._computed: set[str] = set()
        self._numbers: set[str] = set()
        self._partly: dict[str, Array] = {}
        self.result = TermGraph(library.builder(), tuple(topological_order(proto.graph)), self._weights)
        self._builder = self.result.builder

    def read_leaves(self) -> None:
        """Inputs and sparse initializers become variables, initializers constants unless a caller may override them."""
        graph, variables = self._proto.graph, overridable_inputs(self._proto)
        # A weight with the name of a literal is a weight like any other, but nothing may look into it.
        variables |= {tensor.name for tensor in graph.initializer if tensor.name.startswith(PREFIX)}
        constant = {tensor.name for tensor in graph.initializer} - variables
        for sparse in graph.sparse_initializer:
            dtype, name = element_name(sparse.values.data_type), sparse.values.name
            self._define(name, Var(name, TensorType(dtype, tuple(int(size) for size in sparse.dims))), None)
        for value in graph.input:
            if value.name not in constant:
                self._define(value.name, Var(value.name, self._typed(value.name)), None)
        for tensor in graph.initializer:
            if tensor.name.startswith(PREFIX) and tensor.name not in self.result.values:
                self._define(tensor.name, Var(tensor.name, self._typed(tensor.name)), None)
            if tensor.name in constant:
                self._define(tensor.name, self._constant(tensor.name), None)

    def _typed(self, name: str) -> TensorType:
        return self._types.get(name, UNKNOWN_TYPE)

    def _define(self, name: str, term: Term, node: int | None) -> None:
        """Say what a value is; what is computed from sizes has no origin, so that no node need stay for it."""
        self.result.values[name] = term
        if name not in self._computed:
            self.result.origin.setdefault(term, Origin(name, node))

    def _constant(self, name: str) -> Const:
        """The constant of that name, or an equal one read before: equal small constants are one term."""
        tensor = self._weights.tensors[name]
        const = Const(name, TensorType(element_name(tensor.data_type), tuple(int(size) for size in tensor.dims)))
        content = self._weights.content(name)
        return const if content is None else self._constants.setdefault(content, const)

    def read_node(self, at: int) -> NodeUse:
        """Define the values that one node computes; all that it uses must be defined."""
        node = self._proto.graph.node[at]
        names = used_names(node)
        missing = [name for name in names if name not in self.result.values]
        if missing:
            raise InvalidInputError(f"expected a definition of every value, found none of {missing[0]!r} for node {at}")
        operands = tuple(self.result.values[name] for name in names)
        results = self._results(at, node, operands)
        outputs = []
        for name, term in zip(node.output, results, strict=True):
            if name:
                self._define(name, term, at)
            outputs.append(term if name else None)
        return NodeUse(operands, tuple(outputs))

    def _results(self, at: int, node: NodeProto, operands: tuple[Term, ...]) -> Sequence[Term]:
        """One term for each output, named or not."""
        if constant_value(node) is not None and not node.output[0].startswith(PREFIX):
            self._numbers.add(node.output[0])
            return (self._constant(node.output[0]),)
        if self._is_standard(node) and at not in self._opaque:
            size = self._size(node)
            if size is not None:
                return (self._new_constant(node.output[0], size),)
            alias = self._alias(node)
            known = (alias,) if alias is not None else self._known(node)
            if known is not None and (alias is not None or (self._is_writable(known) and self._fits(node, known))):
                self.result.known.append(at)
                absent = [known[0]] * (len(node.output) - len(known))
                return (*known, *absent)
        return self._opaque_results(at, node, operands)

    def _size(self, node: NodeProto) -> Array | None:
        """What a node computes from sizes that are numbers and from numbers that nodes state; None if from more."""
        if len(node.output) != 1 or node.output[0].startswith(PREFIX):
            return None
        operands = [self.result.values[name] for name in node.input if name]
        if node.op_type in ASKING and len(operands) == 1:
            found = asked_size(node, self._builder.type(operands[0]))
        elif node.op_type in MOVING and not self._partly.keys().isdisjoint(node.input[:1]):
            values = [self._partly[node.input[0]], *map(self._readable, operands[1:])]
            found = computed_size(node, values, self._opset)
        elif self._computed.isdisjoint(node.input) and not self._numbers.issuperset(filter(None, node.input)):
            return None
        else:
            return computed_size(node, [*map(self._readable, operands)], self._opset)
        if found is not None and NO_NUMBER in found:
            self._partly[node.output[0]] = found
            return None
        return found

    def _new_constant(self, name: str, value: Array) -> Const:
        self._weights.tensors[name] = numpy_helper.from_array(value, name)
        self._computed.add(name)
        return self._constant(name)

    def _is_standard(self, node: NodeProto) -> bool:
        plain = node.domain in STANDARD and node.op_type not in self._functions and not node.overload
        return plain and self._opset >= OLDEST_OPSET and not bodies(node)

    def _alias(self, node: NodeProto) -> Term | None:
        """The operand itself where a node passes it on: Identity, Dropout outside training, a cast to its own type."""
        if node.op_type == "Identity" or (node.op_type in CASTS and self._keeps_type(node)):
            return self.result.values[node.input[0]]
        if node.op_type != "Dropout" or self._uses_mask(node):
            return None
        training = node.input[2] if len(node.input) > 2 else ""
        if training:
            flag = self._readable(self.result.values[training])
            if flag is None or flag.any():
                return None
        return self.result.values[node.input[0]]

    def _keeps_type(self, node: NodeProto) -> bool:
        """Whether a cast gives the element type that its operand has anyway, as exporters write it to be sure."""
        known, *like = (self._builder.type(self.result.values[name]).dtype for name in node.input)
        if like:
            return known != UNKNOWN and like == [known]
        return known != UNKNOWN and any(one.name == "to" and element_name(one.i) == known for one in node.attribute)

    def _uses_mask(self, node: NodeProto) -> bool:
        if len(node.output) < 2 or not node.output[1]:
            return False
        return node.output[1] in self._used

    def _known(self, node: NodeProto) -> tuple[Term, ...] | None:
        """The results of a node as its spelling reads it, None when none covers it."""
        spelling = self._spellings.get(node.op_type)
        if spelling is None:
            return None
        inputs = tuple(self.result.values[name] if name else None for name in node.input)
        try:
            types = tuple(None if term is None else self._builder.type(term) for term in inputs)
            if any(kind is not None and kind.dtype == UNKNOWN for kind in types):
                return None
            constants = tuple(None if term is None else self._readable(term) for term in inputs)
            told = node_attributes(node), _output_count(node), self._inferred(node)
            call = OnnxNode(node.op_type, self._opset, inputs, types, constants, *told)
            found = spelling.read(self._builder, call)
        except MISFITS:
            return None
        results = found if found is None or isinstance(found, tuple) else (found,)
        return None if results is None else tuple(map(self._without_idle_axes, results))

    def _without_idle_axes(self, term: Term) -> Term:
        """An element-wise operation on constants from which leading axes of one element are left away, if any may be.

        Exporters write what is added to each channel as (c, 1, 1) or (1, c, 1, 1); rules know one of the two.
        """
        if not isinstance(term, Apply) or len(term.args) < 2:
            return term
        operator = self._builder.operator(term)
        if operator is None or not operator.elementwise:
            return term
        shorter = tuple(map(self._shortened, term.args))
        if shorter == term.args:
            return term
        found = self._builder.apply(term.operator, shorter, dict(term.attributes))
        return found if self._builder.type(found) == self._builder.type(term) else term

    def _shortened(self, term: Term) -> Term:
        """A constant without the axes of one element that it begins with, any other term as it is."""
        if not term.is_constant:
            return term
        constant = term.args[0] if isinstance(term, Apply) and term.operator == "Reshape" else term
        shape = self._builder.type(term).shape
        kept = tuple(dropwhile(lambda size: size == 1, shape))
        if kept == self._builder.type(constant).shape:
            return constant
        return term if kept == shape else self._builder.apply("Reshape", (constant,), {"shape": kept})

    def _inferred(self, node: NodeProto) -> tuple[TensorType | None, ...]:
        types = (self._substituted(self._typed(name)) for name in node.output)
        return tuple(None if kind == UNKNOWN_TYPE else kind for kind in types)

    def _readable(self, term: Term) -> Array | None:
        return self._weights.small(term.name) if isinstance(term, Const) else None

    def _is_writable(self, results: tuple[Term, ...]) -> bool:
        """Whether a node can be written anew, which a rewriting in front of it may ask for."""
        stack = list(results)
        while stack:
            term = stack.pop()
            whole = term.term if isinstance(term, Item) else term
            if not isinstance(whole, Apply) or not self.result.origin.keys().isdisjoint((term, whole)):
                continue
            if spelled(self._builder, whole, self._opset, self._number) is None and whole not in constant_terms(
                [whole]
            ):
                return False
            stack.extend(whole.args)
        return True

    def _number(self, term: Term) -> Fraction | None:
        if isinstance(term, Const) and term.name in self._weights.tensors:
            return self._weights.number(term.name)
        return literal_value(term)

    def _fits(self, node: NodeProto, results: tuple[Term, ...]) -> bool:
        """Whether the results are as many as the node has and of the types that ONNX infers; learns symbols if so."""
        if len(results) != _output_count(node):
            return False
        learned: dict[str, Dim] = {}
        for name, term in zip(node.output, results, strict=False):
            try:
                kind = self._builder.type(term)
            except TasoError:
                return False
            inferred = self._typed(name)
            if inferred != UNKNOWN_TYPE and not _agree(kind, inferred, learned):
                return False
        for name, size in learned.items():
            if name not in self._stated:
                self._sizes.setdefault(name, size)
        return True

    def _opaque_results(self, at: int, node: NodeProto, operands: tuple[Term, ...]) -> Sequence[Term]:
        """A term that stands for this very node, whatever it does."""
        types = tuple(self._substituted(self._typed(name)) if name else UNKNOWN_TYPE for name in node.output)
        whole = Apply(OPAQUE, operands, attributes_of({"node": at, "types": types}))
        if len(types) == 1:
            return (whole,)
        return tuple(self._builder.item(whole, index) for index in range(len(types)))

    def _substituted(self, kind: TensorType) -> TensorType:
        """A type in which the names that inference made up give way to the sizes that the terms have."""
        return TensorType(kind.dtype, tuple(substitute(dim, self._sizes.get) for dim in kind.shape))


def _used(graph: GraphProto) -> frozenset[str]:
    """The names of all values that a node or its bodies use or that the graph gives."""
    names = {name for node in graph.node for name in used_names(node)}
    return frozenset(names | {value.name for value in graph.output})


def _agree(kind: TensorType, inferred: TensorType, learned: dict[str, Dim]) -> bool:
    """Whether two types can be of one value; adds what names of inference stand for."""
    if kind.dtype != inferred.dtype or kind.rank != inferred.rank:
        return False
    for mine, other in zip(kind.shape, inferred.shape, strict=True):
        if isinstance(mine, int) and isinstance(other, int) and mine != other:
            return False
        name = other.symbol if isinstance(other, Size) else None
        if name is not None and not (isinstance(mine, Size) and name in mine.symbols()):
            learned.setdefault(name, mine)
    return True


def _output_count(node: NodeProto) -> int:
    """How many outputs a node has, absent ones at the end not counted."""
    return max((at + 1 for at, name in enumerate(node.output) if name), default=0)
