"""A model as read: its file, its graph as terms, and the side table that ties terms to nodes and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import file_digest
from pathlib import Path

from onnx import ModelProto

from taso_opt.core.condition import Bounds
from taso_opt.core.graph import Graph
from taso_opt.core.literal import literal_value
from taso_opt.core.term import Const, Term, Var, postorder
from taso_opt.onnx_io.files.external import data_beside
from taso_opt.onnx_io.files.weights import Weights, collect_weights, only_number
from taso_opt.onnx_io.reading.fold import Folded
from taso_opt.onnx_io.reading.ranges import Ranges
from taso_opt.onnx_io.scopes import opset_of
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Array


@dataclass(frozen=True)
class Origin:
    """Where a term comes from: the name of its value and the number of its node, None for inputs and initializers."""

    value: str
    node: int | None = None


@dataclass(frozen=True)
class NodeUse:
    """What one node of the file takes and gives, as terms.

    `operands` are the values of its named inputs in order, then the values that its bodies capture. `results` has one
    entry for each output, None where the output has no name.
    """

    operands: tuple[Term, ...]
    results: tuple[Term | None, ...]


@dataclass(frozen=True)
class ModelInput:
    """An input that a caller must give: name, NumPy's type name, shape as the file states it and as it is bound.

    A dim is a number, a name, or None. `bound` is None for a value that is no tensor or has no known rank, whose type
    is spelled as ONNX spells it (`seq(tensor(float))`); strings have type `object`. Whole numbers lie
    `below` a bound where the model tells one, as the number of rows of a table that they are looked up in.
    """

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]
    bound: tuple[int, ...] | None
    below: int | None = None


@dataclass(frozen=True, eq=False)
class Model:
    """One model file, read.

    `graph` has symbolic sizes; `builder` is the one that made it and must be used to change it; `bindings` give a
    number to every symbol, for costs only. `order` lists the nodes of the file in a topological order. Of the values
    named in `guessed`, results of nodes that no specification covers, the numbers for some sizes are guesses.
    """

    path: Path
    proto: ModelProto
    graph: Graph
    builder: Builder
    origin: Mapping[Term, Origin]
    uses: tuple[NodeUse, ...]
    order: tuple[int, ...]
    inputs: tuple[ModelInput, ...]
    bindings: Mapping[str, int]
    weights: Weights
    guessed: tuple[str, ...] = ()

    def as_of(self, path: Path, proto: ModelProto) -> Model:
        """The same under the name of another file, of which `proto` is made: the data of its weights stands there.

        For a model that was read from a file that is soon gone.
        """
        found = collect_weights(proto.graph, path)
        weights = Weights({**self.weights.tensors, **found.tensors}, path)
        return replace(self, path=path, proto=proto, weights=weights)

    @property
    def opset(self) -> int:
        """The version of ONNX's own operators; 0 when the model imports none."""
        return opset_of(self.proto)

    @property
    def ir_version(self) -> int:
        """The version of the file format."""
        return int(self.proto.ir_version)

    @cached_property
    def digest(self) -> str:
        """A digest of the model file and of all data beside it."""
        with self.path.open("rb") as stream:
            found = file_digest(stream, "sha256")
        for piece in data_beside(self.proto, self.path):
            found.update(piece)
        return found.hexdigest()

    @cached_property
    def leaves(self) -> tuple[Term, ...]:
        """The inputs in the order of the file, and the constants in the order in which its nodes use them."""
        inputs = [term for term in self.origin if isinstance(term, Var)]
        used = (operand for node in self.order for operand in self.uses[node].operands)
        return tuple(dict.fromkeys([*inputs, *(term for term in used if isinstance(term, Const))]))

    def literal(self, const: Const) -> Fraction | None:
        """The value of a constant of one float, as the simplest fraction that rounds to it; None for others."""
        if const.name in self.weights.tensors:
            return self.weights.number(const.name)
        return literal_value(const)

    def number(self, term: Term) -> Fraction | None:
        """As `literal`, for any term: what is computed from single numbers alone is one as well."""
        if isinstance(term, Const):
            return self.literal(term)
        if term not in self._numbers:
            self._numbers[term] = only_number(self.folded(term)) if self._is_made_of_numbers(term) else None
        return self._numbers[term]

    def _is_made_of_numbers(self, term: Term) -> bool:
        """Whether a term of one element comes from constants of one float each."""
        if self.builder.type(term).elements != 1:
            return False
        leaves = (part for part in postorder((term,)) if not part.children)
        return all(isinstance(leaf, Const) and self.literal(leaf) is not None for leaf in leaves)

    @cached_property
    def _numbers(self) -> dict[Term, Fraction | None]:
        return {}

    def within(self, term: Term, bounds: Bounds) -> bool:
        """Whether a term depends on constants alone and all its values, which must be floats, lie within bounds."""
        return self.ranges.within(term, bounds)

    @cached_property
    def ranges(self) -> Ranges:
        """What is known of the values of constants."""
        return Ranges(self.builder, self.weights)

    @cached_property
    def folded(self) -> Folded:
        """The values of terms over constants."""
        return Folded(self.builder, self.weights)

    def constant(self, name: str) -> Array:
        """The value of the constant of that name, read when asked for; KeyError when there is none."""
        return self.weights(name)
