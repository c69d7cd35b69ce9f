"""Whether two sets of model outputs agree, how far they may differ, and whether outputs react to inputs at all.

Errors of a float output are measured element by element in float64. The *relative error* of an element is
|reference - other| / max(rms, |reference|), where rms is the root mean square of the finite elements of the reference:
relative to the scale of the output, or to the element itself where that is larger. An output that is zero everywhere
has no scale of its own and is judged at scale 1. NaN must stand at the same places, Inf also with the same sign.
Integer, boolean and string outputs must be equal.

The *yardstick* is the difference that the runtime's own optimizations make on the original: the tolerance of an output
is max(base, 2 * that difference), where base depends on its type (float64 1e-9, float32 1e-4, float16 1e-2), and at
most 1000 * base (and 0.1), so that a model that the runtime itself cannot reproduce does not excuse everything. A
float64 output of a model that computes in float32 somewhere is judged as a float32 output.

The *reference*: rounding may add up to more than that in a model whose outputs nearly cancel. An output in float32 or
less beyond its tolerance still agrees when its relative error against values computed in float64 is at most base plus
twice that of the original (see `judged_by_reference`). Where the original's own is above 100 * base, rounding does not
explain it: the reference then computes something else, and excuses nothing.

NaN and Inf: where the original gives them, the other must give the same ones at the same places, and their agreement
proves no more than that; such outputs are named in a warning (see `special_share`). Everything else is compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from taso_opt.errors import MismatchError
from taso_opt.runtime.inputs import Array

BASE_TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2}
YARDSTICK_FACTOR = 2.0
REFERENCE_FACTOR = 2.0
LARGEST_DISTANCE = 100.0
LARGEST_FACTOR = 1000.0
LARGEST_TOLERANCE = 0.1
REACTION_FACTOR = 10.0


@dataclass(frozen=True)
class OutputDifference:
    """One output compared: largest absolute and relative error, what was allowed, and why it disagrees (or '')."""

    index: int
    max_abs: float
    max_rel: float
    tolerance: float
    reason: str

    @property
    def agrees(self) -> bool:
        """Whether this output is the same within its tolerance."""
        return not self.reason


@dataclass(frozen=True)
class OutputComparison:
    """All outputs compared, in order."""

    outputs: tuple[OutputDifference, ...]

    @property
    def agrees(self) -> bool:
        """Whether every output agrees."""
        return all(output.agrees for output in self.outputs)

    @property
    def max_abs(self) -> float:
        """Largest absolute error of any output."""
        return max((output.max_abs for output in self.outputs), default=0.0)

    @property
    def max_rel(self) -> float:
        """Largest relative error of any output."""
        return max((output.max_rel for output in self.outputs), default=0.0)

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence for each output that disagrees."""
        return tuple(output.reason for output in self.outputs if output.reason)


@dataclass(frozen=True)
class Reaction:
    """How one output answers to other inputs: share of its elements that changed, largest relative change."""

    index: int
    changed: float
    max_rel: float
    reacts: bool


def base_tolerance(dtype: np.dtype[np.generic]) -> float:
    """The relative error that rounding alone may cause in an output of this type; 0 for types that must be equal."""
    if dtype.kind != "f":
        return 0.0
    return BASE_TOLERANCE.get(dtype.name, BASE_TOLERANCE["float32"])


def compare_outputs(
    reference: Sequence[Array], other: Sequence[Array], tolerance: float | Sequence[float] | None = None
) -> OutputComparison:
    """Compare output by output; the tolerance is a relative error, one for all, one for each, or None for the base.

    Raises MismatchError if the numbers of outputs differ.
    """
    _require_same_count(reference, other)
    if tolerance is None:
        allowed = [base_tolerance(array.dtype) for array in reference]
    elif isinstance(tolerance, (int, float)):
        allowed = [float(tolerance)] * len(reference)
    else:
        allowed = list(tolerance)
    return OutputComparison(
        tuple(_compare(*item) for item in zip(range(len(reference)), reference, other, allowed, strict=True))
    )


def yardstick(optimized: Sequence[Array], plain: Sequence[Array], singles: bool = False) -> tuple[float, ...]:
    """The tolerance of each output from the original's outputs with all and with no optimizations of the runtime.

    With `singles` the model computes in float32 or less somewhere, and outputs in float64 are no more exact than that.
    Raises MismatchError if the numbers of outputs differ.
    """
    _require_same_count(optimized, plain)
    return tuple(_tolerance(*pair, singles) for pair in zip(optimized, plain, strict=True))


def judged_by_reference(
    comparison: OutputComparison, exact: Sequence[Array], reference: Sequence[Array], other: Sequence[Array]
) -> OutputComparison:
    """A comparison whose disagreements are judged again by `exact`, the original's outputs computed in float64.

    An output that agrees now has the tolerance that its distances from the exact values allow, other outputs stay as
    they are. Raises MismatchError if the numbers of outputs differ.
    """
    _require_same_count(exact, reference)
    cases = zip(comparison.outputs, exact, reference, other, strict=True)
    return OutputComparison(tuple(_judged(*case) for case in cases))


def sensitivity(first: Sequence[Array], second: Sequence[Array]) -> tuple[Reaction, ...]:
    """How each output of one model differs between two seeds of its inputs.

    A float output reacts if it moves by ten times its base tolerance, any other if it changes at all: agreement on an
    output that does not react (constant or saturated) proves nothing. An output that is empty both times has nothing
    to compare and counts as reacting. Raises MismatchError if the numbers of outputs differ.
    """
    _require_same_count(first, second)
    return tuple(_reaction(*item) for item in zip(range(len(first)), first, second, strict=True))


def special_share(array: Array) -> float:
    """The share of the elements of an output that are NaN or infinite; 0 for types that know neither and for none."""
    return float(np.mean(~np.isfinite(array))) if array.dtype.kind == "f" and array.size else 0.0


def _require_same_count(reference: Sequence[Array], other: Sequence[Array]) -> None:
    if len(reference) != len(other):
        raise MismatchError(f"expected {len(reference)} outputs, found {len(other)}")


def _compare(index: int, reference: Array, other: Array, tolerance: float) -> OutputDifference:
    worst = float("inf")
    if reference.dtype != other.dtype or reference.shape != other.shape:
        found = f"{other.dtype}{list(other.shape)}"
        reason = f"expected {reference.dtype}{list(reference.shape)} at output {index}, found {found}"
        return OutputDifference(index, worst, worst, tolerance, reason)
    if reference.dtype.kind != "f":
        return _compare_exactly(index, reference, other)
    if not _same_special_values(reference, other):
        reason = f"expected NaN and Inf at the same places of output {index}, found them elsewhere"
        return OutputDifference(index, worst, worst, tolerance, reason)
    max_abs, max_rel = _errors(reference, other)
    reason = ""
    if not max_rel <= tolerance:
        reason = f"expected a relative error of at most {tolerance:.2g} at output {index}, found {max_rel:.2g}"
    return OutputDifference(index, max_abs, max_rel, tolerance, reason)


def _compare_exactly(index: int, reference: Array, other: Array) -> OutputDifference:
    differing = int(np.count_nonzero(reference != other))
    if not differing:
        return OutputDifference(index, 0.0, 0.0, 0.0, "")
    max_abs, max_rel = float("inf"), float("inf")
    if reference.dtype.kind in "iu":
        max_abs, max_rel = _errors(reference, other)
    reason = f"expected equal {reference.dtype} values at output {index}, found {differing} that differ"
    return OutputDifference(index, max_abs, max_rel, 0.0, reason)


def _judged(found: OutputDifference, exact: Array, reference: Array, other: Array) -> OutputDifference:
    single = reference.dtype.kind == "f" and reference.dtype.itemsize < exact.dtype.itemsize
    if found.agrees or not single or exact.shape != reference.shape or not np.isfinite(found.max_rel):
        return found
    if not (_same_special_values(exact, reference) and _same_special_values(exact, other)):
        return found
    base, before, after = base_tolerance(reference.dtype), _errors(exact, reference)[1], _errors(exact, other)[1]
    allowed = base + REFERENCE_FACTOR * before
    if before > LARGEST_DISTANCE * base or not after <= allowed:
        return found
    return replace(found, tolerance=before + allowed, reason="")


def _same_special_values(reference: Array, other: Array) -> bool:
    if not np.array_equal(np.isnan(reference), np.isnan(other)):
        return False
    infinite = np.isinf(reference)
    if not np.array_equal(infinite, np.isinf(other)):
        return False
    return bool(np.array_equal(np.signbit(reference[infinite]), np.signbit(other[infinite])))


def _errors(reference: Array, other: Array) -> tuple[float, float]:
    """Largest absolute and relative error over the finite elements; 0 where there are none."""
    relative, absolute = _relative_errors(reference, other)
    if not absolute.size:
        return 0.0, 0.0
    return float(absolute.max()), float(relative.max())


def _relative_errors(reference: Array, other: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    finite = np.isfinite(reference) & np.isfinite(other)
    expected = reference[finite].astype(np.float64)
    absolute = np.abs(expected - other[finite].astype(np.float64))
    largest = float(np.abs(expected).max(initial=0.0))
    if largest == 0.0:
        return absolute, absolute
    rms = largest * float(np.sqrt(np.mean(np.square(expected / largest))))  # scaled: squares of 1e200 overflow
    return absolute / np.maximum(rms, np.abs(expected)), absolute


def _tolerance(optimized: Array, plain: Array, singles: bool) -> float:
    dtype = np.dtype(np.float32) if singles and optimized.dtype == np.float64 else optimized.dtype
    base = base_tolerance(dtype)
    if optimized.dtype.kind != "f" or optimized.shape != plain.shape or not _same_special_values(optimized, plain):
        return base
    largest = max(base, min(LARGEST_FACTOR * base, LARGEST_TOLERANCE))
    return min(largest, max(base, YARDSTICK_FACTOR * _errors(optimized, plain)[1]))


def _reaction(index: int, first: Array, second: Array) -> Reaction:
    if first.shape != second.shape or first.size == 0:
        return Reaction(index, 1.0, float("inf"), True)
    if first.dtype.kind != "f":
        changed = float(np.mean(first != second))
        return Reaction(index, changed, changed, changed > 0)
    if not _same_special_values(first, second):
        return Reaction(index, float(np.mean(~_equal(first, second))), float("inf"), True)
    max_rel = _errors(first, second)[1]
    reacts = max_rel > REACTION_FACTOR * base_tolerance(first.dtype)
    return Reaction(index, float(np.mean(~_equal(first, second))), max_rel, reacts)


def _equal(first: Array, second: Array) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = (first == second) | (np.isnan(first) & np.isnan(second))
    return result
