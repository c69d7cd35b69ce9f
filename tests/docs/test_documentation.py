"""What the documentation tells people to type works, and prints what it shows.

A block in a fence after `<!-- run -->` is run: `console` blocks line by line, with what they show compared (`...`
stands for anything), `python` blocks as programs. `<!-- setup: COMMAND -->` is run as well. The blocks of one page
share a folder. Other `console` blocks are looked at: their tasoopt commands and options must exist.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from taso_opt.cli.configuration import leaves
from taso_opt.cli.root import COMMANDS, group

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PIECE = re.compile(
    r"<!-- setup: (?P<setup>.+?) -->|(?P<run><!-- run -->\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.M | re.S
)


def pieces(page):
    return list(PIECE.finditer(page.read_text(encoding="utf-8")))


def runnable(page):
    return any(piece["run"] for piece in pieces(page))


def steps(body):
    """The commands of a console block, each with the lines that it is shown to print."""
    found = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


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


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are typed into bash")
@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=lambda page: page.name)
def test_what_a_page_tells_to_type_works_and_prints_what_it_shows(page, shell):
    for piece in pieces(page):
        if piece["setup"]:
            assert shell(piece["setup"]).returncode == 0, piece["setup"]
        elif piece["run"] and piece["kind"] == "python":
            result = shell(piece["body"], (sys.executable, "-c"))
            assert result.returncode == 0, result.stdout
        elif piece["run"]:
            for command, shown in steps(piece["body"]):
                result = shell(command)
                assert result.returncode == 0, f"{command}\n{result.stdout}"
                assert matches(shown, result.stdout), f"{command}\nprints\n{result.stdout}\nbut is shown with\n{shown}"


def typed_commands():
    for page in PAGES:
        for piece in pieces(page):
            if piece["kind"] in ("console", "yaml") and not piece["run"]:
                for line in re.findall(r"^\s*(?:\$|- run:|-) (tasoopt .*)$", piece["body"], re.M):
                    yield pytest.param(line, id=f"{page.name}: {line}")


@pytest.mark.parametrize("line", list(typed_commands()))
def test_commands_that_are_only_shown_exist_with_their_options(line):
    words = shlex.split(line.partition(" > ")[0], comments=True)[1:]
    assert words[0] in COMMANDS
    command = group.get_command(click.Context(group), words[0])
    known = {flag for one in leaves(command) for option in one.params for flag in option.opts}
    assert {word for word in words if word.startswith("-")} <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_pages_are_all_listed():
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md")]:
        assert page.name == "README.md" or f"({page.relative_to(ROOT / 'docs')})" in listed, page.name
