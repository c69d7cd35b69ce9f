"""Looks at the axioms as a whole: that they do not collapse, which of them no proof uses, which follow from others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from taso_opt.core.rule import Rule
from taso_opt.spec import SpecLibrary, load_specs
from taso_opt.spec.rule_file import read_equations, read_records
from taso_opt.verify.prove import Prover

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
    show("used by no proof of the shipped library", unused(library), len(library.axioms))
    show("follow from the others", [name for name in library.axioms if prover.is_redundant(name)], len(library.axioms))
    return int(collapsed or bool(proved))


def show(what: str, names: Sequence[str], total: int) -> None:
    """One line with a count, then the names."""
    print(f"{len(names)} of {total} axioms {what}")
    for name in names:
        print(f"  {name}")


def false_rules(library: SpecLibrary) -> list[Rule]:
    """The known-false rules of the tests."""
    return [rule for path in sorted(BAD.glob("*.rule")) for _, rule in read_equations(path, library.builder())]


def unused(library: SpecLibrary) -> list[str]:
    """The axioms that no certificate of the shipped library names."""
    used = {name for record in read_records(None) for name in record.certificate.axioms}
    return [name for name in library.axioms if name not in used]


if __name__ == "__main__":
    sys.exit(main())
