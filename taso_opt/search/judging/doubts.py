"""How much an agreement of outputs proves: whether they answer to the inputs at all, and what else weakens it."""

from __future__ import annotations

from collections.abc import Sequence

from taso_opt.runtime import sensitivity, special_share
from taso_opt.runtime.inputs import Array

Outputs = Sequence[Array]


def doubts(runs: Sequence[Outputs], moved: Outputs | None) -> tuple[str, ...]:
    """What a user must know of the original's outputs before believing that equal outputs mean equal models.

    `runs` are its outputs on each set of inputs, `moved` those on the first set with every float moved by a few per
    cent. An output that stays the same on other inputs is constant; one that jumps between sets of inputs and yet does
    not follow small movements is saturated: both hide errors of whatever stands before them.
    """
    still = _still(runs[0], runs[1]) if len(runs) > 1 else set()
    stuck = _still(runs[0], moved) if moved is not None else set()
    warnings = []
    for index, value in enumerate(runs[0]):
        if index in still:
            warnings.append(f"output {index} does not react to the inputs: its agreement is weak evidence")
        elif index in stuck and value.dtype.kind == "f":
            warnings.append(
                f"output {index} does not follow small changes of the inputs, as saturated outputs do: "
                "its agreement is weak evidence"
            )
        # A sequence may have fewer tensors in another run.
        share = max(special_share(run[index]) for run in runs if index < len(run))
        if share:
            warnings.append(
                f"output {index} is NaN or infinite in {share:.0%} of its elements: only their places are compared"
            )
    if len(runs) == 1 and moved is None:
        warnings.append("there is one set of inputs: whether the outputs react to others is not known")
    return tuple(warnings)


def _still(first: Outputs, second: Outputs) -> set[int]:
    """The outputs that do not differ by more than rounding."""
    if len(first) != len(second):  # sequences of other lengths: something did react
        return set()
    return {reaction.index for reaction in sensitivity(first, second) if not reaction.reacts}
