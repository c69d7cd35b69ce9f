"""Defaults for options from a file: [tool.tasoopt] in pyproject.toml, or tasoopt.toml, nearest to the current folder.

A table of a command's name holds that command's options under their long names; options beside the tables hold for
every command that has them. Environment variables are stronger than the file, and flags are stronger than both.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from taso_opt.errors import InvalidInputError, UsageError

OWN_FILE, PROJECT_FILE, NAME = "tasoopt.toml", "pyproject.toml", "tasoopt"
SECTION = f"tool.{NAME}"
PREFIX = "TASOOPT"
NOT_CONFIGURED = frozenset({"help", "version"})

Commands = Mapping[str, click.Command]


@dataclass(frozen=True)
class Configuration:
    """The file that was found and what its section says."""

    path: Path
    table: Mapping[str, Any]


def find_configuration(folder: Path) -> Configuration | None:
    """The nearest configuration at or above a folder; InvalidInputError for a file that is no TOML."""
    for place in (folder, *folder.parents):
        own, project = place / OWN_FILE, place / PROJECT_FILE
        if os.path.isfile(own):
            return Configuration(own, _read(own))
        section = _section(project)
        if section is not None:
            return Configuration(project, section)
    return None


def _section(project: Path) -> Mapping[str, Any] | None:
    """Our section of a file of others, which need not be without errors where it has none."""
    text = _text(project)
    if NAME not in text:
        return None
    try:
        tools = _read(project).get("tool")
    except InvalidInputError:
        if f"[{SECTION}" in text:
            raise
        return None
    section = tools.get(NAME) if isinstance(tools, Mapping) else None
    return section if isinstance(section, Mapping) else None


def defaults(found: Configuration, commands: Commands) -> dict[str, Any]:
    """The defaults as click takes them, by command and parameter; UsageError for a key that nothing has."""
    every = {name for command in commands.values() for name in option_names(command)}
    # A name such as `rules` is that of a command, whose options stand in a table, and of an option.
    shared = {
        key: value
        for key, value in found.table.items()
        if key not in commands or (key in every and not isinstance(value, Mapping))
    }
    for key in shared:
        _require(key, every | set(commands), f"an option or a command in {found.path}")
    made: dict[str, Any] = {}
    for name, command in commands.items():
        own = {} if name in shared else found.table.get(name, {})
        if not isinstance(own, Mapping):
            raise UsageError(f"expected a table {name} in {found.path}, found {own!r}")
        names = set(option_names(command))
        for key in own:
            _require(key, names, f"an option of {name} in {found.path}")
        made[name] = _values(command, {**shared, **own}, found.path)
    return made


def name_variables(name: str, command: click.Command) -> None:
    """Give the options of a command their environment variables: TASOOPT_COMMAND_OPTION, else TASOOPT_OPTION."""
    for one in leaves(command):
        for option in _options(one):
            option.envvar = [_variable(name, flag_name(option)), _variable(flag_name(option))]


def check_variables(environment: Iterable[str], commands: Commands) -> None:
    """UsageError for a variable that begins like those of a command and names none of its options."""
    for variable in sorted(environment):
        for name, command in commands.items():
            start = _variable(name, "")
            known = {_variable(name, option) for option in option_names(command)}
            if variable.startswith(start) and variable not in known:
                _require(variable, known, f"an environment variable of {name}")


def origin(error: click.BadParameter, path: Path | None) -> str:
    """Where a wrong value came from, to be put behind the message; empty when it was typed."""
    if error.ctx is None or error.param is None or error.param.name is None:
        return ""
    source = error.ctx.get_parameter_source(error.param.name)
    if source is click.core.ParameterSource.DEFAULT_MAP and path is not None:
        return f" in {path}"
    if source is click.core.ParameterSource.ENVIRONMENT and isinstance(error.param.envvar, list):
        return f" in the environment variable {next(name for name in error.param.envvar if os.environ.get(name))}"
    return ""


def leaves(command: click.Command) -> Iterator[click.Command]:
    """The command itself, or the commands of a group."""
    if isinstance(command, click.Group):
        yield from command.commands.values()
    else:
        yield command


def option_names(command: click.Command) -> list[str]:
    """The long names of the options of a command, or of all commands of a group."""
    return [flag_name(option) for one in leaves(command) for option in _options(one)]


def flag_name(option: click.Option) -> str:
    """The long name of an option without its dashes."""
    return max(option.opts, key=len).lstrip("-")


def _options(command: click.Command) -> list[click.Option]:
    found = [option for option in command.params if isinstance(option, click.Option)]
    return [option for option in found if flag_name(option) not in NOT_CONFIGURED]


def _values(command: click.Command, table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    if isinstance(command, click.Group):
        return {name: _values(one, table, path) for name, one in command.commands.items()}
    return {
        str(option.name): _value(option, table[flag_name(option)], path)
        for option in _options(command)
        if flag_name(option) in table
    }


def _value(option: click.Option, value: Any, path: Path) -> Any:
    """A value of the file at `path` as click expects it: a table as NAME=VALUE, a path taken from the file's folder."""
    if isinstance(value, Mapping):
        value = [f"{name}={part}" for name, part in value.items()]
    if option.multiple and not isinstance(value, list):
        value = [value]
    several = isinstance(value, list) and option.multiple
    taken = [_one_value(option, one, path) for one in (value if several else [value])]
    return taken if several else taken[0]


def _one_value(option: click.Option, value: Any, path: Path) -> str | bool:
    """One value of the file as it would be typed: no number is rounded, and none is a flag."""
    expected = "true or false" if option.is_flag else "text or a number"
    is_of_kind = isinstance(value, str) or isinstance(value, bool) is option.is_flag
    if not is_of_kind or not isinstance(value, str | int | float):
        raise UsageError(f"expected {expected} for {flag_name(option)} in {path}, found {value}")
    if isinstance(option.type, click.Path):
        return str(path.parent / str(value))
    return value if isinstance(value, bool) else str(value)


def _text(path: Path) -> str:
    """What a file says that may be of others; nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    except OSError:
        return ""


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"expected a TOML file, found in {path}: {error}") from error


def _require(key: str, known: Iterable[str], what: str) -> None:
    names = sorted(set(known))
    if key not in names:
        near = get_close_matches(key, names, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(f"expected {what}, found {key!r}{hint}")


def _variable(*parts: str) -> str:
    return "_".join((PREFIX, *parts)).replace("-", "_").upper()
