"""The type of a tensor value: an element type and a shape whose sizes may be symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from taso_opt.core.dims import Dim, Size, bind, parse_dim

REAL = "real"
"""The element type of rule variables: any one of the floating-point types in FLOATS, the same throughout a rule."""

TRUTH = "bool"
"""The element type of what is true or false; meanings compute it as 1 and 0."""

PLACES = "int64"
"""The element type of variables that name places of an axis; what is known of one is its element type and its shape."""

WHOLE_NUMBERS = frozenset({"int32", "int64"})
"""The types that places of an axis have in models."""

FLOATS = frozenset({"float32", "float64"})
FRACTIONS = FLOATS | {"float16", "bfloat16"}
"""All types of which a quotient is not rounded to a whole number."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """An element type (NumPy's name, or `real` in rules) and one Dim an axis."""

    dtype: str
    shape: tuple[Dim, ...]

    @property
    def rank(self) -> int:
        """How many axes there are; a star symbol counts as one."""
        return len(self.shape)

    @property
    def has_star(self) -> bool:
        """Whether a symbol stands for any number of axes."""
        return any(isinstance(dim, Size) and dim.is_star for dim in self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every axis has a known integer size."""
        return all(isinstance(dim, int) for dim in self.shape)

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The sizes of a static shape as plain integers."""
        assert self.is_static, f"expected known sizes, found {self}"
        return tuple(dim for dim in self.shape if isinstance(dim, int))

    @property
    def elements(self) -> int | None:
        """The number of elements, or None when a size is symbolic."""
        total = 1
        for dim in self.shape:
            if isinstance(dim, Size):
                return None
            total *= dim
        return total

    def bind(self, values: Mapping[str, int]) -> TensorType:
        """Replace the symbols that `values` names by integers."""
        return TensorType(self.dtype, tuple(bind(dim, values) for dim in self.shape))

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.shape))}]"


def parse_scheme(text: str, size: Callable[[str], Dim] = parse_dim) -> TensorType:
    """Read the type of a rule variable from sizes parted by blanks or commas: `*b m k`; ValueError when malformed."""
    return TensorType(REAL, tuple(size(part) for part in text.replace(",", " ").split()))
