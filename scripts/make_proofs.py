"""Writes the proof file of the shipped rule library, or of another one, without discovering anything anew."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from taso_opt.errors import TasoError
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import proofs_path, read_rules
from taso_opt.verify.proofs import write_proofs

LIBRARY = Path(__file__).resolve().parent.parent / "rules" / "library.jsonl"


def main() -> int:
    """Find a chain of axioms and a witness for each rule; exit code 1 when the library cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", nargs="?", type=Path, default=LIBRARY, help="[rules/library.jsonl]")
    path = parser.parse_args().library
    specs = load_specs()
    try:
        write_proofs(path, specs, tuple(read_rules(path, specs.builder())))
    except TasoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"proofs in {proofs_path(path)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
