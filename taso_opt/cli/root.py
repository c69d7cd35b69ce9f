"""The command group: knows every command by name, loads only the one that runs, and turns errors into exit codes."""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from click.shell_completion import shell_complete

from taso_opt import __version__
from taso_opt.core.printable import cut_short, printable
from taso_opt.errors import InvalidInputError, TasoError, UsageError

PROGRAM = "tasoopt"
INTERNAL_ERROR = 70
INTERRUPTED = 130
BROKEN_PIPE = 141
COMPLETION = "_TASOOPT_COMPLETE"
"""The variable through which a shell asks for completions, see docs/configuration.md."""

LONGEST_MESSAGE = 1000

COMMANDS: Mapping[str, str] = {
    "optimize": "Find a faster equivalent of an ONNX model and write it.",
    "explain": "Say which rules fit one node of a model, and why others do not.",
    "generate": "Discover candidate rules from the operator specifications.",
    "verify": "Prove or refute candidates; build or re-check the rule library.",
    "rules": "List, show and explain the rules of the library.",
    "compare": "Compare two models: same outputs, and which one is faster.",
    "cost": "Show, export or clear the costs measured on this machine.",
    "doctor": "Say what is installed, which device answers, what is missing.",
}
"""The commands with their line of help, so that `--help` loads none of them; NAME is taso_opt/cli/NAME.py."""


class LazyGroup(click.Group):
    """A group whose commands are modules of this package, imported when they are run and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of a user's work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, or None when there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        from taso_opt.cli.configuration import name_variables

        module = importlib.import_module(f"taso_opt.cli.{cmd_name}")
        command: click.Command = module.command
        name_variables(cmd_name, command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the section that lists the commands, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name=PROGRAM)
@click.pass_context
def group(context: click.Context) -> None:
    """Rewrite ONNX models into equivalent, faster ones with machine-discovered, proved rules."""
    from taso_opt.cli.configuration import check_variables, defaults, find_configuration

    found = find_configuration(Path.cwd())
    if found is None and not any(name.startswith(f"{PROGRAM.upper()}_") for name in os.environ):
        return
    commands = {name: command for name in COMMANDS if (command := group.get_command(context, name)) is not None}
    check_variables(os.environ, commands)
    if found is not None:
        context.obj = found.path
        context.default_map = defaults(found, commands)


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; nothing but SystemExit leaves this function.

    A command is a click command; the integer that it returns, if any, is the exit code.
    """
    _open_streams()
    try:
        instruction = os.environ.get(COMPLETION)
        if instruction:
            return shell_complete(group, {}, PROGRAM, COMPLETION, instruction)
        code = _invoke(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()  # a reader that has gone away is noticed here, not while the interpreter shuts down
        return code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.UsageError as error:
        return _fail(_with_hint(error), error.exit_code)
    except click.FileError as error:
        return _fail(error.format_message(), InvalidInputError.exit_code)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except TasoError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        _discard_stdout()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            return _internal_error(error)
        _discard_stdout()
        return _fail(f"expected an output that can be written, found: {error.strerror}", UsageError.exit_code)
    except Exception as error:  # noqa: BLE001 - the last guard: a defect of ours must not bury the user in a traceback
        return _internal_error(error)


def _open_streams() -> None:
    """Take nothing in the place of a standard stream that is closed, and write out what its encoding lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - it lasts as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _invoke(arguments: list[str]) -> int:
    # click's own main() would turn a stray EOFError into an abort and a broken pipe into exit code 1.
    try:
        with group.make_context(PROGRAM, arguments) as context:
            result = group.invoke(context)
    except click.exceptions.Exit as exit_request:
        return exit_request.exit_code
    return result if isinstance(result, int) else 0


def _with_hint(error: click.UsageError) -> str:
    from taso_opt.cli.configuration import origin

    path = error.ctx.command_path if error.ctx else PROGRAM
    place = origin(error, error.ctx.obj if error.ctx else None) if isinstance(error, click.BadParameter) else ""
    return f"{error.format_message().rstrip('.')}{place} (see {path} --help)"


def _fail(message: str, code: int) -> int:
    click.echo(f"{PROGRAM}: error: {_one_line(message)}", err=True)
    return code


def _internal_error(error: Exception) -> int:
    if os.environ.get("TASOOPT_TRACEBACK") == "1":
        traceback.print_exception(error)
    what = _one_line(f"{type(error).__name__}: {error}")
    click.echo(f"{PROGRAM}: internal error: {what} (TASOOPT_TRACEBACK=1 shows where)", err=True)
    return INTERNAL_ERROR


def _one_line(message: str) -> str:
    """A message as one line that a terminal prints and does not obey."""
    return cut_short(printable(" ".join(message.split())), LONGEST_MESSAGE)


def _discard_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush does not complain about the closed pipe."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
