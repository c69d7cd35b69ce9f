"""Places of rows as other operators of ONNX give them, brought into the form that Gather has them in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taso_opt.core.dims import Dim
from taso_opt.core.term import Apply, Term

if TYPE_CHECKING:
    from taso_opt.spec.builder import Builder


def in_shape(op: Builder, places: Term, shape: tuple[Dim, ...]) -> Term:
    """Places in a shape of as many elements, without the reshapes that they have gone through."""
    while isinstance(places, Apply) and places.operator == "Reshape":
        places = places.args[0]
    return places if op.type(places).shape == shape else op.Reshape(places, shape=shape)


def before_expanding(places: Term) -> Term:
    """Places before they were repeated."""
    while isinstance(places, Apply) and places.operator == "Expand":
        places = places.args[0]
    return places
