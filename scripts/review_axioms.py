"""Looks at the axioms as a whole: that they do not collapse, which of them no proof uses, which follow from others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from taso_opt.core.rule import Rule
from taso_opt.spec import SpecLibrary, load_specs
from taso_opt.spec.rule_file import read_equations, read_records
from taso_opt.verify.derivation.prove import Prover

STACKS = "joins stacks of matrices, to each of which one matrix is added and the like: no pool has both"
NOT_DISCOVERED = {
    **{
        f"concat_of_{what}_of_matrices_of_{part}": STACKS
        for what in ("sums", "products", "differences", "reversed_differences")
        for part in ("columns", "rows")
    },
    "channel_scale_leaves_kernel": "speaks of one group and a scale of channels; discovered rules are about any groups",
    "strided_pointwise_conv_of_average": "the convolution behind the average takes the stride over: four operators",
    "scale_between_a_transposed_factor_and_another": "proofs use its mirror image, with the factors transposed",
    "split_of_three_is_nested": "lets rules about two parts be lifted to any number of them, which no certificate says",
}
"""Axioms that no certificate names and that do not follow from others, each with what it is there for."""

BAD = Path(__file__).resolve().parent.parent / "tests" / "rules" / "bad"


def main() -> int:
    """Print what was found; exit code 1 when the axioms make everything equal or prove a false rule."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    library = load_specs()
    prover = Prover(library)
    false = false_rules(library)
    proved = [rule for rule in false if prover.prove(rule) is None]
    collapsed = prover.collapses(false)
    print(f"collapse: {'everything is equal' if collapsed else 'two unknown tensors stay different'}")
    print(f"false rules proved: {len(proved)} of {len(false)}")
    idle = unused(library)
    print(f"{len(idle)} of {len(library.axioms)} axioms are used by no proof of the shipped library")
    for name in idle:
        print(f"| `{name}` | {reason(prover, name)} |")
    show("follow from the others", [name for name in library.axioms if prover.is_redundant(name)], len(library.axioms))
    return int(collapsed or bool(proved))


def show(what: str, names: Sequence[str], total: int) -> None:
    """One line with a count, then the names."""
    print(f"{len(names)} of {total} axioms {what}")
    for name in names:
        print(f"  {name}")


def reason(prover: Prover, name: str) -> str:
    """Why no certificate names an axiom: it follows from others, or nothing that is discovered needs it."""
    if name in NOT_DISCOVERED:
        return NOT_DISCOVERED[name]
    return f"follows from {', '.join(f'`{other}`' for other in prover.follows_from(name))}"


def false_rules(library: SpecLibrary) -> list[Rule]:
    """The known-false rules of the tests."""
    return [rule for path in sorted(BAD.glob("*.rule")) for _, rule in read_equations(path, library.builder())]


def unused(library: SpecLibrary) -> list[str]:
    """The axioms that no certificate of the shipped library names."""
    used = {name for record in read_records(None) for name in record.certificate.axioms}
    return [name for name in library.axioms if name not in used]


if __name__ == "__main__":
    sys.exit(main())
