"""Other shapes and orders of axes, as schemes write them."""

from __future__ import annotations

from taso_opt.core.term import Attribute, Term
from taso_opt.spec.builder import Builder
from taso_opt.spec.shared.elementwise import SWAP


def reshaped(builder: Builder, term: Term, shape: tuple[Attribute, ...]) -> Term:
    """The same elements in another shape."""
    return builder.apply("Reshape", (term,), {"shape": shape})


def transposed(builder: Builder, term: Term, perm: tuple[int, ...] = SWAP) -> Term:
    """The same elements with the last axes in another order; the columns as rows unless said."""
    return builder.apply("Transpose", (term,), {"perm": perm})
