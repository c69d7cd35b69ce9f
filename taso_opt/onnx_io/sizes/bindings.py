"""Numbers for symbolic sizes: what the user says, else stated defaults, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from taso_opt.core.dims import Dim, Size, bind, open_symbols, symbols_in
from taso_opt.core.term import Apply, Attribute, Const, Term, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.errors import UsageError
from taso_opt.onnx_io.sizes.inference import symbol_name

FIRST_AXIS, IMAGE_AXIS, OTHER_AXIS = 1, 224, 32
"""Sizes assumed for symbols that the user does not bind: the first axis is mostly a batch; axes behind the second of
tensors of rank 4 and more are mostly heights and widths of images; others are mostly lengths of sequences."""


LARGEST_SIZE = 2**31 - 1
"""The largest number that a dim may be bound to."""


def default_size(axis: int, rank: int) -> int:
    """The number assumed for a symbolic size at an axis of an input."""
    if axis == 0:
        return FIRST_AXIS
    return IMAGE_AXIS if rank >= 4 and axis >= 2 else OTHER_AXIS


def input_bindings(
    types: Mapping[str, TensorType], dims: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    """A number for every symbol of the inputs, whose types stand under their names.

    It is the user's, in `dims` by the name in the model, else what follows from the shapes of inputs, else that of its
    first axis. Raises UsageError for a name that no input has and for a number below 1.
    """
    found: dict[str, int] = {}
    for name, kind in types.items():
        if name in shapes:
            learn(kind, TensorType(kind.dtype, tuple(shapes[name])), found)
    for kind in types.values():
        for axis, dim in enumerate(kind.shape):
            for symbol in symbols_in(dim):
                found.setdefault(symbol, default_size(axis, kind.rank))
    for given, number in dims.items():
        wanted = symbol_name(given)
        if wanted is None or wanted not in found:
            known = ", ".join(sorted(found)) or "none"
            raise UsageError(f"expected the name of a dim of an input (there are: {known}), found {given!r}")
        if not 1 <= number <= LARGEST_SIZE:
            raise UsageError(f"expected a size from 1 to {LARGEST_SIZE} for dim {given!r}, found {number}")
        found[wanted] = number
    return found


def learn(symbolic: TensorType, numeric: TensorType, bindings: dict[str, int]) -> None:
    """Add to `bindings` what follows from one value having both types."""
    if symbolic.rank != numeric.rank:
        return
    for dim, number in zip(symbolic.shape, numeric.shape, strict=True):
        if isinstance(number, int):
            _solve(dim, number, bindings)


def _solve(dim: Dim, number: int, bindings: dict[str, int]) -> None:
    """Solve `dim = number` where one symbol is left and stands alone in its monomial."""
    rest = bind(dim, bindings)
    if not isinstance(rest, Size) or len(rest.symbols()) != 1:
        return
    (name,) = rest.symbols()
    factors = dict(rest.terms)
    factor = factors.pop((name,), 0)
    constant = factors.pop((), 0)
    if factor and not factors and number >= constant and (number - constant) % factor == 0:
        bindings[name] = (number - constant) // factor


def complete_bindings(roots: Iterable[Term], bindings: dict[str, int]) -> None:
    """Give every symbol below `roots` that is still open the default of the axis where it first stands."""
    for term in postorder(roots):
        if isinstance(term, Var | Const):
            _default(term.type, bindings)
        elif isinstance(term, Apply):
            for _, value in term.attributes:
                _default(value, bindings)


def _default(value: Attribute, bindings: dict[str, int]) -> None:
    shape = value.shape if isinstance(value, TensorType) else value if isinstance(value, tuple) else (value,)
    for axis, part in enumerate(shape):
        if isinstance(part, Size):
            for name in list(open_symbols(part, bindings)):
                bindings[name] = default_size(axis, len(shape))
        elif isinstance(part, tuple | TensorType):
            _default(part, bindings)
