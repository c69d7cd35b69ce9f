"""The command line: one module a command, and the only part of the package that prints."""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on `argv` (the process's own arguments when None) and return the exit code."""
    from taso_opt.cli.root import run  # here, so that importing the package stays free of click

    return run(argv)
