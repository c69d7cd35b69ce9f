"""The command group: help without heavy imports, and one exit code and one line for each kind of failure."""

import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from taso_opt import __version__
from taso_opt.cli import main
from taso_opt.cli.root import COMMANDS
from taso_opt.errors import InvalidInputError, MismatchError, TasoError, UnsupportedError
from taso_opt.spec.rule_file import read_records

HEAVY = ("cupy", "jinja2", "numpy", "onnx", "onnxruntime", "rich", "z3")

Body = Callable[[], object]
Install = Callable[[Body], None]


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Replaces what `tasoopt cost` does."""

    def install(body: Body) -> None:
        module = types.ModuleType("taso_opt.cli.cost")
        module.command = click.command("cost")(lambda: body())  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "taso_opt.cli.cost", module)

    return install


def raising(error: BaseException) -> Body:
    def body() -> None:
        raise error

    return body


def test_help_lists_every_command_and_imports_nothing_heavy() -> None:
    program = (
        "import sys; from taso_opt.cli import main; code = main(['--help']);"
        "print('code', code);"
        "print('loaded', *sorted(name for name in sys.modules"
        f" if name.split('.')[0] in {HEAVY} or name.startswith('taso_opt')))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    *help_lines, code, loaded = result.stdout.splitlines()
    assert code == "code 0"
    light = [
        "taso_opt",
        "taso_opt.cli",
        "taso_opt.cli.root",
        "taso_opt.core",
        "taso_opt.core.printable",
        "taso_opt.errors",
    ]
    assert loaded.split()[1:] == light
    commands = [line.split()[0] for line in help_lines[help_lines.index("Commands:") + 1 :]]
    assert commands == ["optimize", "explain", "generate", "verify", "rules", "compare", "cost", "doctor"]


@pytest.mark.parametrize("command", list(COMMANDS))
def test_the_help_of_a_command_imports_nothing_heavy(command: str) -> None:
    program = (
        f"import sys; from taso_opt.cli import main; code = main(['{command}', '--help']);"
        f"print('code', code, [name for name in {HEAVY} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "code 0 []"


def test_the_help_lines_are_whole_sentences_that_fit_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, line in COMMANDS.items():
        assert line.endswith(".")
        assert f"  {name.ljust(8)}  {line}\n" in text


def test_without_a_command_the_help_goes_to_stderr_and_the_code_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Usage: tasoopt ")


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tasoopt, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["optimise"], "tasoopt: error: No such command 'optimise'"),
        (["--fast"], "tasoopt: error: No such option '--fast'"),
        (["cost", "--fast"], "tasoopt: error: No such option '--fast'"),
    ],
)
def test_a_usage_error_is_one_line_and_exits_2(
    arguments: list[str], line: str, cost: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    cost(lambda: None)
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(line)
    assert err.count("\n") == 1
    assert err.endswith("--help)\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MismatchError("expected equal outputs,\nfound 3 and 4"), 1),
        (InvalidInputError("expected equal outputs,\nfound 3 and 4"), 3),
        (UnsupportedError("expected equal outputs,\nfound 3 and 4"), 4),
    ],
)
def test_a_users_error_is_one_line_with_its_own_exit_code(
    error: TasoError, code: int, cost: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    cost(raising(error))
    assert main(["cost"]) == code
    assert capsys.readouterr() == ("", "tasoopt: error: expected equal outputs, found 3 and 4\n")


def test_an_unreadable_file_exits_3(cost: Install, capsys: pytest.CaptureFixture[str]) -> None:
    cost(raising(click.FileError("model.onnx", "it is a folder")))
    assert main(["cost"]) == 3
    assert capsys.readouterr().err == "tasoopt: error: Could not open file 'model.onnx': it is a folder\n"


@pytest.mark.parametrize("error", [KeyError("x"), EOFError("x"), AssertionError("x"), RecursionError("x")])
def test_an_internal_error_is_one_line_without_a_traceback(
    error: Exception, cost: Install, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TASOOPT_TRACEBACK", raising=False)
    cost(raising(error))
    assert main(["cost"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"tasoopt: internal error: {type(error).__name__}: {error} (TASOOPT_TRACEBACK=1 shows where)\n"


def test_the_traceback_of_an_internal_error_is_shown_on_request(
    cost: Install, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASOOPT_TRACEBACK", "1")
    cost(raising(KeyError("x")))
    assert main(["cost"]) == 70
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last)")
    assert err.splitlines()[-1].startswith("tasoopt: internal error: KeyError: 'x'")


def test_an_interrupt_exits_130(cost: Install, capsys: pytest.CaptureFixture[str]) -> None:
    cost(raising(KeyboardInterrupt()))
    assert main(["cost"]) == 130
    assert capsys.readouterr() == ("", "tasoopt: error: interrupted\n")


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (1, 1), (5, 5)])
def test_the_integer_that_a_command_returns_is_the_exit_code(returned: object, code: int, cost: Install) -> None:
    cost(lambda: returned)
    assert main(["cost"]) == code


def test_a_reader_that_goes_away_ends_the_program_without_a_word() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-m", "taso_opt", "--help"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, "")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_stream_that_is_closed_takes_nothing(stream: str) -> None:
    command = f"{sys.executable} -m taso_opt --version {'1' if stream == 'stdout' else '2'}>&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_behind_stdout_is_one_line() -> None:
    command = f"{sys.executable} -m taso_opt --help > /dev/full"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "tasoopt: error: expected an output that can be written, found: No space left on device\n"


def test_what_an_encoding_lacks_is_written_out() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    shown = [sys.executable, "-m", "taso_opt", "rules", "show", next(iter(read_records(None))).identity]
    done = subprocess.run(shown, capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u2500" in done.stdout
