"""Patterns: what rules look like to the matcher, with pairs lifted to sequences of any length.

A rule of the library joins or splits two tensors. `Join`, `Part` and `Fold` say the same for k of them: the private
variables and sizes of one element repeat for each element, the shared ones do not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from taso_opt.core.condition import Bounds
from taso_opt.core.dims import Dim, Size
from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute
from taso_opt.core.types import PLACES, TensorType


@dataclass(frozen=True)
class Variable:
    """Matches any term whose type fits `scheme`; a size None in `shape` fits anything.

    With `bounds` only a constant whose values lie within them; where these are `ANY`, what depends on constants alone.
    """

    name: str
    scheme: TensorType
    shape: tuple[Dim | None, ...]
    private: bool
    bounds: Bounds | None = None

    @cached_property
    def star(self) -> int | None:
        """Where in `shape` any number of sizes may stand."""
        return next((at for at, dim in enumerate(self.shape) if isinstance(dim, Size) and dim.is_star), None)

    @cached_property
    def fixed(self) -> tuple[tuple[int, int], ...]:
        """The sizes that are numbers with their places, counted from the end behind the star."""
        behind = -1 if self.star is None else self.star
        places = ((at if at < behind else at - len(self.shape), dim) for at, dim in enumerate(self.shape))
        return tuple((at, dim) for at, dim in places if isinstance(dim, int))

    def may_fit(self, shape: tuple[Dim, ...]) -> bool:
        """Whether the rank and the sizes that are numbers agree with a shape; cheap, and most often no."""
        if not self.shape:  # as many axes as places have stand in what is looked up by them
            return not shape or (len(shape) == 1 and shape[0] == 1 and self.scheme.dtype != PLACES)
        extra = len(shape) - len(self.shape)
        if extra and (self.star is None or extra < -1):
            return False
        return all(shape[at] == dim for at, dim in self.fixed)


@dataclass(frozen=True)
class Literal:
    """Matches a constant of one element that has this value."""

    value: Fraction


@dataclass(frozen=True)
class Application:
    """Matches an operator with these attributes; `commutative` operands match in both orders."""

    operator: str
    args: tuple[Pattern, ...]
    attributes: tuple[tuple[str, Summed], ...]
    commutative: bool
    private: bool


@dataclass(frozen=True)
class Total:
    """A private size summed up over all elements: an attribute of a target, or one of the numbers that it has."""

    size: Dim


Summed: TypeAlias = "Attribute | Total | tuple[Summed, ...]"
"""An attribute in which sums over all elements may stand."""


@dataclass(frozen=True)
class Output:
    """Matches one numbered output of an operator with several."""

    inner: Pattern
    index: int


@dataclass(frozen=True)
class Join:
    """A concatenation with one operand for each element."""

    inner: Pattern
    axis: int


@dataclass(frozen=True)
class Part:
    """What a split of `inner` along `axis` gives the current element; `size` is its size there."""

    inner: Pattern
    axis: int
    size: Dim


@dataclass(frozen=True)
class Fold:
    """An associative, commutative operator over one operand for each element; in a source only as the whole of it."""

    operator: str
    inner: Pattern


Pattern: TypeAlias = Variable | Literal | Application | Output | Join | Part | Fold


@dataclass(frozen=True)
class CompiledRule:
    """A rule in one direction, ready to match.

    With `merges` the source matches each of k separate terms and the target gives the k terms that replace them;
    otherwise the source matches one term or, where it is a fold, some of the operands of one sum or product. `lifted`
    tells whether sequences of any length match. With `others` the source tells what other terms are, as one state of a
    recurrent cell tells the other: each of these, with what replaces it.
    """

    rule: Rule
    source: Pattern
    target: Pattern
    merges: bool
    lifted: bool
    private_sizes: frozenset[str]
    others: tuple[tuple[Pattern, Pattern], ...] = ()

    @property
    def folds(self) -> bool:
        """Whether the source matches operands of a sum or product of any length."""
        return isinstance(self.source, Fold)


def head(pattern: Pattern) -> str | None:
    """The operator that a term must have to match, `Item` for one of several outputs, None when any will do."""
    match pattern:
        case Application(operator):
            return operator
        case Join():
            return "Concat"
        case Part() | Output():
            return "Item"
        case Fold(operator):
            return operator
        case _:
            return None


def joined_axis(pattern: Pattern) -> int | None:
    """The axis along which a pattern joins its elements, None where it joins none."""
    match pattern:
        case Join(_, axis):
            return axis
        case Application(_, args):
            return next((axis for axis in map(joined_axis, args) if axis is not None), None)
        case Output(inner) | Part(inner) | Fold(_, inner):
            return joined_axis(inner)
        case _:
            return None


def shared_leaves(pattern: Pattern, with_elements: bool) -> Counter[str | Fraction]:
    """How often each variable that all elements share, and each literal, stands in a pattern.

    `with_elements` counts those inside the pattern of an element too, once for all elements.
    """
    match pattern:
        case Variable(name, _, _, private):
            return Counter() if private else Counter([name])
        case Literal(value):
            return Counter([value])
        case Application(_, args):
            return sum((shared_leaves(argument, with_elements) for argument in args), Counter())
        case Output(inner) | Part(inner):
            return shared_leaves(inner, with_elements)
        case Join(inner) | Fold(_, inner):
            return shared_leaves(inner, with_elements) if with_elements else Counter()
