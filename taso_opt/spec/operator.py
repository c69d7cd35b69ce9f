"""What is declared about one operator: its types, its meaning, its axioms' building blocks and its ONNX spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from taso_opt.core.dims import Dim
from taso_opt.core.literal import literal_value
from taso_opt.core.term import Apply, Attribute, Term
from taso_opt.core.types import TensorType

if TYPE_CHECKING:
    from taso_opt.spec.builder import Builder

Array = NDArray[Any]


@dataclass(frozen=True)
class ScalarFunction:
    """A function of one real number; exact interpretations know of it only the facts declared here.

    `positive_part` says that it is max(x, 0), by which all piecewise linear meanings are spelled, and `positive` that
    it is 1 for numbers above 0 and 0 for others; `by_exponentials` says what it is in exponentials.
    """

    name: str
    real: Callable[[Array], Array]
    zero_preserving: bool = False
    one_preserving: bool = False
    idempotent: bool = False
    monotone: bool = False
    positive_part: bool = False
    positive: bool = False
    by_exponentials: Callable[[ArrayModule, Array], Array] | None = None


class ArrayModule(Protocol):
    """The primitives in which meanings are written (`xp`); axes are those of one tensor, first or last as usual.

    Implementations may carry hidden sample axes: a meaning never sees them.
    """

    def shape(self, x: Array) -> tuple[int, ...]: ...
    def add(self, x: Array, y: Array) -> Array: ...
    def subtract(self, x: Array, y: Array) -> Array: ...
    def multiply(self, x: Array, y: Array) -> Array: ...
    def divide(self, x: Array, y: Array) -> Array: ...
    def constant(self, value: Fraction) -> Array: ...
    def identity(self, like: Array, size: int) -> Array: ...
    def numbers(self, like: Array, name: str, shape: Sequence[int], values: Callable[[], Array]) -> Array: ...
    def scale(self, x: Array, factors: Fraction | Array) -> Array: ...
    def apply(self, function: ScalarFunction, x: Array) -> Array: ...
    def contract(self, subscripts: str, x: Array, y: Array) -> Array: ...
    def sum(self, x: Array, axes: Sequence[int]) -> Array: ...
    def maximum(self, x: Array, axes: Sequence[int]) -> Array: ...
    def concatenate(self, parts: Sequence[Array], axis: int) -> Array: ...
    def slice(self, x: Array, axis: int, start: int, stop: int) -> Array: ...
    def gather(self, x: Array, places: Array, axis: int) -> Array: ...
    def transpose(self, x: Array, permutation: Sequence[int]) -> Array: ...
    def reshape(self, x: Array, shape: Sequence[int]) -> Array: ...
    def broadcast(self, x: Array, shape: Sequence[int]) -> Array: ...
    def pad(self, x: Array, widths: Sequence[tuple[int, int]], lowest: bool = False) -> Array: ...
    def iterate(
        self, step: Recurrence, rows: Array, state: Sequence[Array], operands: Sequence[Array]
    ) -> tuple[Array, ...]: ...
    def windows(self, x: Array, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Array: ...


class Recurrence(Protocol):
    """The state after one more row, from the state before it and operands that stay; it depends on nothing else."""

    def __call__(
        self, xp: ArrayModule, row: Array, state: tuple[Array, ...], operands: tuple[Array, ...], /
    ) -> tuple[Array, ...]: ...


@dataclass(frozen=True)
class OnnxNode:
    """An ONNX node as a spelling reads it: terms and known values in place of names; an absent input is None.

    `results` are the types of its outputs as ONNX infers them, None where it infers no rank.
    """

    op_type: str
    opset: int
    inputs: tuple[Term | None, ...]
    types: tuple[TensorType | None, ...]
    constants: tuple[Array | None, ...]
    attributes: Mapping[str, Any]
    output_count: int
    results: tuple[TensorType | None, ...] = ()

    def attribute(self, name: str, default: Any) -> Any:
        """An attribute's value, or ONNX's default for it."""
        return self.attributes.get(name, default)


@dataclass(frozen=True)
class OnnxCall:
    """An ONNX node as a spelling writes it: operands are terms, or arrays that become constants."""

    op_type: str
    inputs: tuple[Term | Array | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    output_count: int = 1


@dataclass(frozen=True)
class WriteContext:
    """What a spelling may ask while it writes: the opset of the model, the types of terms and values of numbers.

    `value_of` answers None for what is no constant of one element; ONNX keeps some operands in attributes.
    """

    opset: int
    type_of: Callable[[Term], TensorType]
    value_of: Callable[[Term], Fraction | None] = literal_value


Reader = Callable[["Builder", OnnxNode], "Term | tuple[Term, ...] | None"]
Writer = Callable[[Apply, WriteContext], "OnnxCall | None"]


@dataclass(frozen=True)
class Spelling:
    """How ONNX says an operator; `read` and `write` answer None for what the operator does not cover.

    `in_many_ways` tells that attributes of a node may say the same as others do, of which `write` has one choice.
    """

    op_types: tuple[str, ...]
    read: Reader
    write: Writer | None = None
    in_many_ways: bool = False


@dataclass(frozen=True)
class Operator:
    """One operator: `infer(*types, **attributes)`, `evaluate(xp, *arrays, **attributes)` and its ONNX spelling.

    `arity` None means one or more operands. `arithmetic` is False for pure data movement. `choices` names, for each
    family of shapes, the attribute values that enumeration tries. `conditions(**attributes)` lists sizes that must not
    be negative for the operator to be defined, each with the reason, besides those that its primitives ask for.
    `elementwise` operators compute every element from the elements at the same place; where operands but the first are
    `numbers`, each of these is one element. Those that are `scalar` besides
    have a meaning that needs the order of the real numbers, or divides: only the family of scalar functions enumerates
    them, and rules with them are judged over the reals, element by element.
    Those that take the `greatest` of several elements know of the order of numbers as well, but axioms say what they do
    to joined and split operands.
    `weights_only` operators have no ONNX node: they may stand only where they are computed ahead of time.
    Of those that are `defined` no axiom speaks: rules with them are judged by their meanings at all sizes, and only
    the families that they name in `choices` enumerate them.
    """

    name: str
    infer: Callable[..., TensorType | tuple[TensorType, ...]]
    evaluate: Callable[..., Any]
    spelling: Spelling
    arity: int | None
    commutative: bool = False
    arithmetic: bool = True
    outputs: int = 1
    choices: Mapping[str, Sequence[Mapping[str, Attribute]]] = field(default_factory=dict)
    conditions: Callable[..., Sequence[tuple[Dim, str]]] | None = None
    elementwise: bool = False
    numbers: bool = False
    scalar: bool = False
    weights_only: bool = False
    defined: bool = False
    greatest: bool = False

    @property
    def is_map(self) -> bool:
        """Whether it maps a function over one operand; those beside it are numbers."""
        return self.elementwise and (self.arity == 1 or self.numbers)

    @property
    def is_enumerated(self) -> bool:
        """Whether residues can evaluate it: the others belong to the scalar functions or have definitions alone."""
        return not self.scalar and bool(self.choices or not self.defined)

    def result_types(self, types: Sequence[TensorType], attributes: Mapping[str, Attribute]) -> tuple[TensorType, ...]:
        """The types of all outputs; TypeMismatch when the operands do not fit."""
        inferred = self.infer(*types, **attributes)
        return inferred if isinstance(inferred, tuple) else (inferred,)


def plain_spelling(op_type: str) -> Spelling:
    """The spelling of an operator whose ONNX node has the same operands and no attributes."""

    def read(op: Builder, node: OnnxNode) -> Term | None:
        terms = [term for term in node.inputs if term is not None]
        return op.apply(op_type, terms, {}) if len(terms) == len(node.inputs) else None

    def write(term: Apply, context: WriteContext) -> OnnxCall:
        return OnnxCall(op_type, term.args)

    return Spelling((op_type,), read, write)


def weight_operator(
    name: str,
    infer: Callable[..., TensorType],
    evaluate: Callable[..., Any],
    *,
    arity: int | None = 1,
    write: Writer | None = None,
    choices: Mapping[str, Sequence[Mapping[str, Attribute]]] | None = None,
    defined: bool = True,
) -> Operator:
    """An operator for weights only: no node of ONNX is read as one, and what it gives is computed ahead of time.

    The runtime does that where its nodes are what `write` gives.
    """
    spelling = Spelling((), lambda op, node: None, write)
    return Operator(name, infer, evaluate, spelling, arity, choices=choices or {}, weights_only=True, defined=defined)
