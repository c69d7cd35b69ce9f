"""The digest of the specifications changes with every module that a meaning, a type or a law comes from."""

import ast
from pathlib import Path

from taso_opt import spec
from taso_opt.spec import library

LANGUAGE = {"axiom", "builder", "library", "operator", "rule_file", "text"}
"""Modules that say how specifications are written, not what they say."""


def imported(path):
    """The modules of taso_opt.spec that a file imports."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    return {node.module.removeprefix("taso_opt.spec.") for node in nodes if node.module.startswith("taso_opt.spec.")}


def test_it_covers_all_that_specifications_import():
    folder = Path(spec.__file__).parent
    shared = {f"shared.{path.stem}" for path in library.SHARED_FOLDER.glob("*.py")} - {"shared.__init__"}
    found, new = set(), {name for path in Path("specs").glob("*.py") for name in imported(path)}
    while new:
        found |= new
        new = {name for module in new for name in imported(folder / f"{module.replace('.', '/')}.py")} - found
    assert found - LANGUAGE == shared
