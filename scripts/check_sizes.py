"""Lists Python files and functions that have grown too long to be read in one go; exits 1 when there are any.

Usage: python scripts/check_sizes.py [FOLDER ...], by default taso_opt, specs and scripts of this repository.
"""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("taso_opt", "specs", "scripts")
FILE_LIMIT = 400
FUNCTION_LIMIT = 40

# A file ("specs/conv.py") or a function ("specs/conv.py::infer") that may be longer, with the reason in a sentence.
ALLOWED: Mapping[str, str] = {
    "taso_opt/api/models.py::optimize": "It has every option of the command as a parameter, and explains each.",
}


def oversized(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """What is too long in one file, as pairs of its key in ALLOWED and a line to print; `name` is the file's name."""
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    if lines > FILE_LIMIT:
        yield name, f"{name}: {lines} lines, expected at most {FILE_LIMIT}"
    for node in ast.walk(ast.parse(text, filename=name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LIMIT:
                where = f"{name}:{node.lineno}"
                yield f"{name}::{node.name}", f"{where}: {node.name}: {length} lines, expected at most {FUNCTION_LIMIT}"


def main(folders: Sequence[str]) -> int:
    """Print every file and function that is too long and not allowed to be, and every permission no longer needed."""
    unused = set(ALLOWED)
    complaints = []
    files = 0
    for folder in [Path(folder) for folder in folders] or [ROOT / folder for folder in FOLDERS]:
        for path in sorted(folder.rglob("*.py")):
            files += 1
            name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
            for key, line in oversized(path, name):
                unused.discard(key)
                if key not in ALLOWED:
                    complaints.append(line)
    if not folders:
        complaints += [f"scripts/check_sizes.py: {key} is in ALLOWED and needs it no more" for key in sorted(unused)]
    print("\n".join(complaints) if complaints else f"{files} files: nothing is too long")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
