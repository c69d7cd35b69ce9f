"""Finds a Chromium to open pages in, for tests and pictures, and installs one where there is none.

Usage: make browser. TASOOPT_BROWSER names the program to take instead.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Error, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
APT = ("apt-get", "-o", "Acquire::Retries=3")


def find() -> str | None:
    """The program of a Chromium: the one that is named, one on the PATH, or the one that Playwright installed."""
    named = os.environ.get("TASOOPT_BROWSER")
    if named:
        return shutil.which(named)
    on_path = next((found for name in PROGRAMS if (found := shutil.which(name)) is not None), None)
    if on_path is not None:
        return on_path
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).is_file() else None


@contextmanager
def opened(program: str) -> Iterator[Browser]:
    """A headless browser; the sandbox is off because tests also run as root, and open only pages made here."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def recipes() -> Iterator[Sequence[Sequence[str]]]:
    """The ways to install one, each as commands in order: Playwright's own build, then the system's package."""
    yield [(sys.executable, "-m", "playwright", "install", "chromium")]
    if shutil.which("apt-get") is not None:
        prefix = () if os.geteuid() == 0 else ("sudo", "-n")
        yield [(*prefix, *APT, "update"), (*prefix, *APT, "install", "-y", "--no-install-recommends", "chromium")]


def works(program: str | None) -> bool:
    """Whether the program opens a page."""
    if program is None:
        return False
    try:
        with opened(program) as browser:
            return bool(browser.new_page().evaluate("1 + 1") == 2)
    except Error as error:
        print(f"{program} does not start: {error.message.splitlines()[0]}", file=sys.stderr)
        return False


def main() -> int:
    """Find or install a browser and say which one it is; 1 when none could be had."""
    for commands in [(), *recipes()]:
        for command in commands:
            print("+", " ".join(command), flush=True)
            if subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode != 0:
                break
        program = find()
        if works(program):
            print(f"browser: {program}")
            return 0
    print("expected a Chromium to open pages in, found none; install one and try again", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
