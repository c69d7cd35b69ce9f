"""Writes the texts that users see and scripts rely on to tests/golden/: help, wording of errors, fields of reports.

docs/commands.md is made of the help texts as well.

Usage: make golden, then read the difference before you commit it.
"""

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import click

from taso_opt.cli import main as tasoopt
from taso_opt.cli.root import group

ROOT = Path(__file__).resolve().parent.parent
GOLDEN, PAGE = ROOT / "tests" / "golden", ROOT / "docs" / "commands.md"
COLUMNS = "100"

MISTAKES: Sequence[str] = (
    "optimise",
    "optimize",
    "optimize none.onnx",
    "optimize text.onnx",
    "optimize .",
    "optimize none.onnx --threads many",
    "optimize none.onnx --threads -1",
    "optimize none.onnx --budget 0",
    "optimize none.onnx --device abacus",
    "optimize none.onnx --dim batch",
    "optimize none.onnx --report report.pdf",
    "optimize none.onnx --report none/report.html",
    "optimize none.onnx -o none/out.onnx",
    "compare none.onnx none.onnx",
    "explain none.onnx",
    "explain none.onnx --at node",
    "generate --max-ops 9",
    "verify",
    "verify none.rules",
    "verify wrong.rules",
    "verify untyped.rules",
    "verify --check text.onnx",
    "verify wrong.rules untyped.rules --json",
    "rules show zz",
    "rules list --rules none.jsonl",
    "cost export -o .",
    "cost show --limit 0",
)
"""Command lines that fail, in a folder that has the files of FILES."""

FILES: Mapping[str, str] = {
    "text.onnx": "this is no model\n" * 40,
    "wrong.rules": "Relu(x) = Tanh( where x[*b]\n",
    "untyped.rules": "Relu(x) = Relu(x)\n",
}


HEAD = """\
# Commands

Written by `make golden` from the help texts; do not edit. [Files and variables](configuration.md) can change
the defaults. Results go to stdout; progress goes to stderr and is silent when that is not a terminal.

## Exit codes

| code | meaning |
|---|---|
| 0 | done, also when the answer is "unchanged" |
| 1 | a negative answer: refuted, outputs differ, a library or an axiom that does not pass |
| 2 | wrong usage |
| 3 | an input that cannot be read or is not valid |
| 4 | something needed is not available here, or the runtime refused the model |
| 5 | unknown, with `--strict` |
| 70 | an internal error: please report it, with what `TASOOPT_TRACEBACK=1` shows |
| 130 | interrupted |

An error is one line on stderr: what was expected, what was found, where. A reader that goes away, as in
`tasoopt rules list | head`, ends the program quietly with 141, as the shell's own tools end.
"""


def commands_page() -> str:
    """The page that shows the help of every command."""
    parts = [HEAD]
    for words in commands(group, ()):
        level = "#" * (2 + (len(words) > 1))
        parts.append(f"{level} {' '.join(('tasoopt', *words))}\n\n```text\n{help_of(words)}```\n")
    return "\n".join(parts)


def golden_texts() -> dict[str, str]:
    """Every golden file by its name."""
    texts = {f"help/{'-'.join(words) or 'tasoopt'}.txt": help_of(words) for words in commands(group, ())}
    texts["errors.txt"] = "\n".join(mistakes())
    texts["report_fields.txt"] = "\n".join(report_fields()) + "\n"
    return texts


def commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The words of every command and group."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, f"a command {name} that is listed"
            yield from commands(inner, (*words, name))


def help_of(words: Sequence[str]) -> str:
    """What `tasoopt WORDS --help` prints."""
    _, out, _ = run([*words, "--help"])
    return out


def mistakes() -> Iterator[str]:
    """Each command line that fails with its exit code and what it prints."""
    with TemporaryDirectory() as name, contextlib.chdir(name):
        for file, text in FILES.items():
            Path(file).write_text(text, encoding="utf-8")
        for line in MISTAKES:
            code, out, err = run(line.split())
            assert out == "", f"{line!r} prints on stdout: {out!r}"
            yield f"$ tasoopt {line}"
            yield f"{err}exit code {code}\n"


def report_fields() -> Iterator[str]:
    """Each field of a report with its type, as the schema says."""
    schema = json.loads(resources.files("taso_opt.report").joinpath("schema.json").read_text(encoding="utf-8"))
    for name, definition in {"report": schema, **schema["$defs"]}.items():
        for field, described in definition["properties"].items():
            kind = {key: value for key, value in described.items() if key != "description"}
            yield f"{name}.{field}: {json.dumps(kind)}"


def run(arguments: Sequence[str]) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of one command line on a terminal of fixed width."""
    out, err = io.StringIO(), io.StringIO()
    terminal = mock.patch.dict(os.environ, {"COLUMNS": COLUMNS})
    with terminal, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = tasoopt(arguments)
    return code, out.getvalue(), err.getvalue()


def main() -> int:
    """Write the files, and remove those that are no longer made."""
    texts = golden_texts()
    for path in GOLDEN.rglob("*.txt"):
        if str(path.relative_to(GOLDEN)) not in texts:
            path.unlink()
    for name, text in texts.items():
        path = GOLDEN / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    PAGE.write_text(commands_page(), encoding="utf-8")
    print(f"{len(texts)} files in {GOLDEN}, and {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
