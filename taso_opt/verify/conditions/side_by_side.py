"""States an equation about two convolutions beside one of two groups for any numbers of groups that add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from taso_opt.core.dims import Dim, Size
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Attribute, Term, Var
from taso_opt.core.types import TensorType

CHANNELS = (-3, -4, -1)
"""The axes of the image, the kernel and the bias of a convolution that all of its groups share out."""

Places = Mapping[Apply, Mapping[str, Attribute]]
Types = Mapping[Var, TensorType]


def places_and_types(rule: Rule, first: Size, second: Size) -> tuple[Places, Types] | None:
    """New attributes by place and new types by variable; None unless there are two convolutions and one of two groups.

    The two get `first` and `second` groups, the other one as many as both together. What belongs to one of them alone
    has so many times the channels; a size that was twice a number is now that number times all groups, and a split
    into equal parts is one in proportion to the groups.
    """
    singles = [term for term in rule.applications if term.operator == "Conv" and term.attribute("group") == 1]
    doubles = [term for term in rule.applications if term.operator == "Conv" and term.attribute("group") == 2]
    if len(singles) != 2 or not doubles:
        return None
    groups = _Groups(first, second)
    places: dict[Apply, Mapping[str, Attribute]] = {term: {"group": first + second} for term in doubles}
    places |= {term: {"group": share} for term, share in zip(singles, (first, second), strict=True)}
    places |= {term: {"sizes": sizes} for term in rule.applications if (sizes := groups.of_parts(term)) is not None}
    types = {one: groups.of_whole(one.type) for one in rule.variables}
    for conv, share in zip(singles, (first, second), strict=True):
        types |= {
            operand: _with_channels(operand.type, axis, share)
            for operand, axis in zip(conv.args, CHANNELS, strict=False)
            if isinstance(operand, Var)
        }
    return places, types


@dataclass(frozen=True)
class _Groups:
    first: Size
    second: Size

    def of_parts(self, term: Term) -> tuple[Dim, Dim] | None:
        """The sizes of a split into two equal parts, in proportion to the groups."""
        sizes = term.attribute("sizes") if isinstance(term, Apply) and term.operator == "Split" else None
        if not isinstance(sizes, tuple) or len(sizes) != 2 or sizes[0] != sizes[1]:
            return None
        (size, _) = sizes
        return (self.first * size, self.second * size) if isinstance(size, int | Size) else None

    def of_whole(self, kind: TensorType) -> TensorType:
        """A type with every size that is twice another as all groups times that."""
        return TensorType(kind.dtype, tuple(self._whole(dim) for dim in kind.shape))

    def _whole(self, dim: Dim) -> Dim:
        if isinstance(dim, Size) and all(coefficient == 2 for _, coefficient in dim.terms):
            return (dim // 2) * (self.first + self.second)
        return dim


def _with_channels(kind: TensorType, axis: int, share: Size) -> TensorType:
    if kind.rank < -axis:
        return kind
    at = kind.rank + axis
    return TensorType(kind.dtype, (*kind.shape[:at], share * kind.shape[at], *kind.shape[at + 1 :]))
