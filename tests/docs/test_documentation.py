"""What the documentation tells people to type works, and prints what it shows.

The marks are described in scripts/documentation/pages.py.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from jsonschema import Draft202012Validator

from documentation.pages import CLONE, FILE, PAGES, ROOT, RUN, SETUP, TYPED, name, pieces
from taso_opt.cli.configuration import leaves
from taso_opt.cli.root import COMMANDS, group

WITH_SOMETHING_TO_RUN = [page for page in PAGES if any(piece.marker == RUN for piece in pieces(page))]
INSTALLS = re.compile(r"pip install ")
"""What a CI recipe installs: `make first-steps` runs the same command from the README."""


def matches(shown, printed):
    """Whether the output fits, with `...` for anything; a block that shows nothing says nothing."""
    if not shown:
        return True
    wanted = ".*?".join(re.escape(part) for part in "\n".join(shown).strip().split("..."))
    loose = re.sub(r"(\\ )+", r"\\s+", wanted)
    return re.fullmatch(loose, printed.strip(), re.S) is not None


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def shell(tmp_path, cache):
    """Runs a command as a reader would, in a folder that looks like a clone."""
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")
    binaries = str(Path(sys.executable).parent)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TASOOPT_")}
    environment |= {"PATH": f"{binaries}:{os.environ['PATH']}", "TASOOPT_CACHE": str(cache), "COLUMNS": "100"}

    def run(command, program=("bash", "-c")):
        words = [*program, command]
        return subprocess.run(
            words,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    return run


def recipe_lines(body):
    """The commands of a CI recipe."""
    return re.findall(r"^\s*- (?:run: )?((?:tasoopt|pip|python) .*)$", body, re.M)


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are typed into bash")
@pytest.mark.parametrize("page", WITH_SOMETHING_TO_RUN, ids=name)
def test_what_a_page_tells_to_type_works_and_prints_what_it_shows(page, shell, tmp_path, report_schema):
    for piece in pieces(page):
        if piece.marker == RUN and piece.kind == "python":
            result = shell(piece.body, (sys.executable, "-c"))
            assert result.returncode == 0, result.stdout
        elif piece.marker == RUN and piece.kind == "yaml":
            lines = recipe_lines(piece.body)
            assert lines
            for command in lines:
                if not INSTALLS.match(command):
                    result = shell(command)
                    assert result.returncode == 0, f"{command}\n{result.stdout}"
        elif piece.marker in (RUN, SETUP):
            for command, shown in piece.steps:
                result = shell(command)
                assert result.returncode == 0, f"{command}\n{result.stdout}"
                assert matches(shown, result.stdout), f"{command}\nprints\n{result.stdout}\nbut is shown with\n{shown}"
    for written in tmp_path.glob("report*.json"):
        Draft202012Validator(report_schema).validate(json.loads(written.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nothing_is_shown_to_be_typed_that_is_not_run(page):
    for piece in pieces(page):
        typed = piece.kind in TYPED and (piece.kind != "yaml" or recipe_lines(piece.body))
        if typed and piece.marker != SETUP:
            assert piece.marker in (RUN, CLONE) or piece.marker.startswith(FILE), piece.body
    outside = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert re.findall(r"^(?:    |\t)\s*(?:\$ .*|(?:make|pip|python|tasoopt|git|npm) .*)$", outside, re.M) == []


def test_what_recipes_install_is_installed_from_the_readme_in_an_empty_environment():
    typed = {command for piece in pieces(ROOT / "README.md") if piece.marker == CLONE for command, _ in piece.steps}
    recipes = [
        line for piece in pieces(ROOT / "docs" / "ci.md") if piece.kind == "yaml" for line in recipe_lines(piece.body)
    ]
    installed = {shlex.join(shlex.split(line, comments=True)) for line in recipes if INSTALLS.match(line)}
    assert installed and installed <= {shlex.join(shlex.split(command)) for command in typed}


def test_what_recipes_name_of_this_repository_is_there():
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    recipes = [piece.body for piece in pieces(ROOT / "docs" / "ci.md") if piece.kind == "yaml"]
    inputs = set(yaml.safe_load(next(body for body in recipes if "/tasoopt@" in body))[0]["with"])
    assert inputs and inputs <= set(action["inputs"])
    named = yaml.safe_load(next(body for body in recipes if "repos:" in body))["repos"][0]["hooks"]
    assert {hook["id"] for hook in named} == {hook["id"] for hook in hooks}


def mentioned(start):
    """The commands that texts mention in code marks and that begin so, with the page."""
    for page in PAGES:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for command in re.findall(rf"`({start} [^`]*)`", text):
            yield name(page), " ".join(command.split())


def test_commands_that_texts_mention_exist_with_their_options():
    found = list(mentioned("tasoopt"))
    assert len(found) > 20
    for page, command in found:
        words = [word for word in command.split()[1:] if re.match(r"^-*[a-z]", word)]
        if not words or words[0] not in COMMANDS:
            assert not words or words[0].startswith("-"), (page, command)
            continue
        known_command = group.get_command(click.Context(group), words[0])
        known = {flag for one in leaves(known_command) for option in one.params for flag in option.opts} | {"--help"}
        assert {word for word in words if word.startswith("-")} <= known, (page, command)


def test_targets_that_texts_mention_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    found = list(mentioned("make"))
    assert len(found) > 8
    for page, command in found:
        words = [word for word in command.split()[1:] if re.fullmatch(r"[a-z-]+", word)]
        assert set(words) <= targets, (page, command)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_pages_are_all_listed():
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md")]:
        assert page.name == "README.md" or f"({page.relative_to(ROOT / 'docs')})" in listed, page.name
