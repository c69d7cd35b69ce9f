"""Writes the proof file of the shipped rule library, or of another one, without discovering anything anew.

With --renew each rule is first proved from the specs as they are now and gets a new certificate; the rules stay the
same. A library needs that after a change of the specs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from taso_opt.core.machine.processors import cores
from taso_opt.errors import TasoError
from taso_opt.spec import SpecLibrary, load_specs
from taso_opt.spec.rule_file import proofs_path, read_rules, write_rules
from taso_opt.verify.library.pipeline import renewed
from taso_opt.verify.library.proofs import write_proofs
from taso_opt.verify.processes.crew import Crew

LIBRARY = Path(__file__).resolve().parent.parent / "rules" / "library.jsonl"


def main() -> int:
    """Find a chain of axioms and a witness for each rule; exit code 1 when the library cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", nargs="?", type=Path, default=LIBRARY, help="[rules/library.jsonl]")
    parser.add_argument("--renew", action="store_true", help="prove each rule anew and renew its certificate")
    parser.add_argument("--jobs", type=int, default=cores(), help="processes [one for each core]")
    options = parser.parse_args()
    path, specs = options.library, load_specs()
    try:
        if options.renew and not renew(path, specs, options.jobs):
            return 1
        write_proofs(path, specs, tuple(read_rules(path, specs.builder())))
    except TasoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"proofs in {proofs_path(path)}", file=sys.stderr)
    return 0


def renew(path: Path, specs: SpecLibrary, jobs: int) -> bool:
    """Write the library with new certificates; when a rule has lost its proof, name it and write nothing."""
    with Crew(jobs) as crew:
        kept, lost = renewed(crew, specs, tuple(read_rules(path, specs.builder())))
    for problem in lost:
        print(problem, file=sys.stderr)
    if not lost:
        write_rules(path, kept)
    return not lost


if __name__ == "__main__":
    sys.exit(main())
