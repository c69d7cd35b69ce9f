"""Makes the rule library anew: discovers candidates, proves them, and replaces rules/library.jsonl by what is left.

What became of every candidate is written to docs/candidates.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import candidates_page
from taso_opt.spec.rule_file import proofs_path

LIBRARY = Path(__file__).resolve().parent.parent / "rules" / "library.jsonl"
REFUTED = 1
"""What `tasoopt verify` returns when some candidate is false: expected here, as candidates come from samples."""


def main() -> int:
    """Run `tasoopt generate` and `tasoopt verify`; exit code of the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-ops", default="3", help="operators a side [3]")
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1), help="processes [one for each core]")
    parser.add_argument("--output", type=Path, default=LIBRARY, help="the library to write [rules/library.jsonl]")
    parser.add_argument("--page", type=Path, default=candidates_page.PAGE, help="the page [docs/candidates.md]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.output.parent) as folder:
        candidates, library, verdicts = (Path(folder, name) for name in ("candidates.txt", "library.jsonl", "verdicts"))
        code = _run("generate", "--max-ops", options.max_ops, "--jobs", options.jobs, "-o", str(candidates))
        if code == 0:
            code = _run("verify", str(candidates), "--jobs", options.jobs, "-o", str(library), "--json", said=verdicts)
        if code not in (0, REFUTED):
            return code
        # Only a complete library takes the place of the old one.
        proofs_path(library).replace(proofs_path(options.output))
        library.replace(options.output)
        return candidates_page.main([str(verdicts), "--output", str(options.page)])


def _run(*arguments: str, said: Path | None = None) -> int:
    """Run the tool; what it prints goes to a file or, like its errors, to stderr."""
    command = [sys.executable, "-m", "taso_opt", *arguments]
    if said is None:
        return subprocess.run(command, stdout=sys.stderr, check=False).returncode
    with said.open("w", encoding="utf-8") as file:
        return subprocess.run(command, stdout=file, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
