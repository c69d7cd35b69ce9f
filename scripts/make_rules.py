"""Makes the rule library anew: discovers candidates, proves them, and replaces rules/library.jsonl by what is left.

All candidates of at most --max-ops operators a side are verified, and of those that have more, up to --useful-ops, the
useful ones. What became of every candidate is written to docs/candidates.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import candidates_page
from taso_opt.core.rule import Rule
from taso_opt.generate.usefulness import is_useful
from taso_opt.spec import load_specs
from taso_opt.spec.builder import Builder
from taso_opt.spec.rule_file import proofs_path, read_equations
from taso_opt.spec.text import format_rule

LIBRARY = Path(__file__).resolve().parent.parent / "rules" / "library.jsonl"
REFUTED = 1
"""What `tasoopt verify` returns when some candidate is false: expected here, as candidates come from samples."""


def main() -> int:
    """Run `tasoopt generate` and `tasoopt verify`; exit code of the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-ops", type=int, default=3, help="operators a side, all candidates [3]")
    parser.add_argument("--useful-ops", type=int, default=4, help="operators a side, useful candidates [4]")
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1), help="processes [one for each core]")
    parser.add_argument("--resume", type=Path, help="a folder that keeps what is found, to go on from after a break")
    parser.add_argument("--output", type=Path, default=LIBRARY, help="the library to write [rules/library.jsonl]")
    parser.add_argument("--page", type=Path, default=candidates_page.PAGE, help="the page [docs/candidates.md]")
    options = parser.parse_args()
    sizes = sorted({options.max_ops, max(options.max_ops, options.useful_ops)})
    with tempfile.TemporaryDirectory(dir=options.output.parent) as folder:
        names = ("candidates.txt", "useless.txt", "library.jsonl", "verdicts")
        candidates, useless, library, verdicts = (Path(folder, name) for name in names)
        found = [Path(folder, f"candidates-{size}.txt") for size in sizes]
        for size, file in zip(sizes, found, strict=True):
            kept = ("--resume", str(options.resume / str(size))) if options.resume else ()
            code = _run("generate", "--max-ops", str(size), "--jobs", options.jobs, *kept, "-o", str(file))
            if code != 0:
                return code
        choose(found, candidates, useless)
        code = _run("verify", str(candidates), "--jobs", options.jobs, "-o", str(library), "--json", said=verdicts)
        if code not in (0, REFUTED):
            return code
        # Only a complete library takes the place of the old one.
        proofs_path(library).replace(proofs_path(options.output))
        library.replace(options.output)
        told = [str(verdicts), "--useless", str(useless), "--library", str(options.output)]
        return candidates_page.main([*told, "--output", str(options.page)])


def choose(found: Sequence[Path], candidates: Path, useless: Path) -> None:
    """Write all candidates of the first file and the useful others of the rest; those of no use go to a file apart.

    Equations that a smaller enumeration finds are kept whatever they are good for.
    """
    builder = load_specs().builder()
    first, *rest = (_equations(file, builder) for file in found)
    others = {text: rule for file in rest for text, rule in file.items() if text not in first}
    useful = {text for text, rule in others.items() if is_useful(rule, builder)}
    _write(candidates, [*first, *(text for text in others if text in useful)])
    _write(useless, (text for text in others if text not in useful))
    print(f"{len(others)} larger candidates, {len(useful)} useful", file=sys.stderr)


def _equations(file: Path, builder: Builder) -> dict[str, Rule]:
    return {format_rule(rule): rule for _, rule in read_equations(file, builder)}


def _write(file: Path, equations: Iterable[str]) -> None:
    file.write_text("".join(f"{text}\n" for text in equations), encoding="utf-8")


def _run(*arguments: str, said: Path | None = None) -> int:
    """Run the tool; what it prints goes to a file or, like its errors, to stderr."""
    command = [sys.executable, "-m", "taso_opt", *arguments]
    if said is None:
        return subprocess.run(command, stdout=sys.stderr, check=False).returncode
    with said.open("w", encoding="utf-8") as file:
        return subprocess.run(command, stdout=file, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
