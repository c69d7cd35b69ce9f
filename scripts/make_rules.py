"""Makes the rule library anew: discovers candidates, proves them, and replaces rules/library.jsonl by what is left.

All candidates of at most --max-ops operators a side are verified; of those that have more, up to --useful-ops, the
useful ones that do not follow from the rules so far. What became of every candidate is written to docs/candidates.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import candidates_page
from taso_opt.core.machine.processors import cores
from taso_opt.core.rule import Rule
from taso_opt.generate.equations.usefulness import is_useful
from taso_opt.spec import load_specs
from taso_opt.spec.builder import Builder
from taso_opt.spec.rule_file import proofs_path, read_equations
from taso_opt.spec.text import format_rule

LIBRARY = Path(__file__).resolve().parent.parent / "rules" / "library.jsonl"
REFUTED = 1
"""What `tasoopt verify` returns when some candidate is false: expected here, as candidates come from samples."""


def main() -> int:
    """Run `tasoopt generate` and `tasoopt verify`, which checks the result; exit code of the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-ops", type=int, default=3, help="operators a side, all candidates [3]")
    parser.add_argument("--useful-ops", type=int, default=4, help="operators a side, useful candidates [4]")
    parser.add_argument("--operators", metavar="A,B", help="use these operators only [all]")
    parser.add_argument("--jobs", default=str(cores()), help="processes [one for each core]")
    parser.add_argument("--resume", type=Path, help="a folder that keeps what is found, to go on from after a break")
    parser.add_argument("--output", type=Path, default=LIBRARY, help="the library to write [rules/library.jsonl]")
    parser.add_argument("--page", type=Path, default=candidates_page.PAGE, help="the page [docs/candidates.md]")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.output.parent) as folder:
        return make(options, Path(folder))


def make(options: argparse.Namespace, folder: Path) -> int:
    """Make the library and the page, with drafts in a folder; only what passes the check replaces the old library."""
    candidates, larger, useless, first, library = (
        folder / name for name in ("candidates", "larger", "useless", "first.jsonl", "library.jsonl")
    )
    enumerated = folder / "enumerated"
    said = [folder / "verdicts", folder / "verdicts-larger"]
    code = _generate(options, options.max_ops, candidates) or _verify(options, candidates, said[0], "-o", str(first))
    if code == 0:
        code = _generate(options, max(options.max_ops, options.useful_ops), enumerated)
    if code == 0:
        choose(candidates, enumerated, larger, useless, options.max_ops)
        code = _verify(options, larger, said[1], "--given", str(first), "-o", str(library))
    if code == 0:
        code = _run("verify", "--check", str(library), "--jobs", options.jobs)
    if code != 0:
        return code
    proofs_path(library).replace(proofs_path(options.output))
    library.replace(options.output)
    told = ["--useless", str(useless), "--library", str(options.output), "--output", str(options.page)]
    return candidates_page.main([*map(str, said), *told])


def choose(candidates: Path, enumerated: Path, larger: Path, useless: Path, max_ops: int) -> None:
    """Tell what a larger enumeration found besides the candidates: what is small or useful, and what is neither."""
    builder = load_specs().builder()
    known, found = (_equations(file, builder) for file in (candidates, enumerated))
    others = {text: rule for text, rule in found.items() if text not in known}
    chosen = {text for text, rule in others.items() if rule.size <= max_ops or is_useful(rule, builder)}
    _write(larger, (text for text in others if text in chosen))
    _write(useless, (text for text in others if text not in chosen))
    print(f"{len(others)} more candidates, {len(chosen)} of them small or useful", file=sys.stderr)


def _equations(file: Path, builder: Builder) -> dict[str, Rule]:
    return {format_rule(rule): rule for _, rule in read_equations(file, builder)}


def _write(file: Path, equations: Iterable[str]) -> None:
    file.write_text("".join(f"{text}\n" for text in equations), encoding="utf-8")


def _generate(options: argparse.Namespace, size: int, output: Path) -> int:
    kept = ("--resume", str(options.resume / str(size))) if options.resume else ()
    chosen = ("--operators", options.operators) if options.operators else ()
    return _run("generate", "--max-ops", str(size), "--jobs", options.jobs, *chosen, *kept, "-o", str(output))


def _verify(options: argparse.Namespace, equations: Path, said: Path, *arguments: str) -> int:
    code = _run("verify", str(equations), "--jobs", options.jobs, "--json", *arguments, said=said)
    return 0 if code == REFUTED else code


def _run(*arguments: str, said: Path | None = None) -> int:
    """Run the tool; what it prints goes to a file or, like its errors, to stderr."""
    command = [sys.executable, "-m", "taso_opt", *arguments]
    if said is None:
        return subprocess.run(command, stdout=sys.stderr, check=False).returncode
    with said.open("w", encoding="utf-8") as file:
        return subprocess.run(command, stdout=file, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
