"""Draws what users see: terminal output at two widths, the report's page and the documentation at two sizes.

Usage: make screenshots, then look at build/screenshots. With --publish it draws the pictures that docs/ shows instead.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser
from rich.console import Console

import browser
from documentation import terminal
from documentation.sample_reports import SAMPLES
from taso_opt.report.page import render_html, render_summary
from taso_opt.report.text import print_report
from taso_opt.spec.rule_file import read_records

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "build" / "screenshots"
IMAGES = ROOT / "docs" / "images"
WIDTHS = (80, 120)
LOOKS: Mapping[str, Mapping[str, str]] = {"dark": {}, "plain": {"NO_COLOR": "1"}}
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
TALLEST = 14000
"""Pixels of a page that are photographed; browsers refuse pictures that are much taller."""

SCHEMES = ("light", "dark")
RULES = """\
MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[k, n], z[n, p]
Relu(Add(x, y)) = Add(Relu(x), Relu(y)) where x[*a], y[*a]
"""

COMMANDS: Mapping[str, str] = {
    "optimize": "tasoopt optimize model.onnx --force --budget 10 --report report.html",
    "unchanged": "tasoopt optimize model.opt.onnx --force --budget 5 -o again.onnx",
    "dry-run": "tasoopt optimize model.onnx --dry-run --budget 5",
    "compare": "tasoopt compare model.onnx model.opt.onnx --rounds 9",
    "explain": "tasoopt explain model.onnx --at MatMul_node_1",
    "rules-show": "tasoopt rules show {rule}",
    "rules-explain": "tasoopt rules explain {rule}",
    "rules-stats": "tasoopt rules stats",
    "verify": "tasoopt verify mine.rules",
    "cost": "tasoopt cost show --limit 5",
    "doctor": "tasoopt doctor",
    "help": "tasoopt --help",
    "optimize-help": "tasoopt optimize --help",
    "error": "tasoopt optimize none.onnx",
}
"""Pictures of commands in a folder with a model, in order: later ones use what earlier ones wrote."""


@dataclass(frozen=True)
class Stage:
    """Where commands run, and what they find there."""

    folder: Path
    environment: Mapping[str, str]


def main(argv: Sequence[str] | None = None) -> int:
    """Draw everything, or print one made-up report for its own picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--publish", action="store_true", help="draw the pictures that docs/ shows instead")
    parser.add_argument("--only", choices=("terminal", "page", "site"), help="draw only these")
    parser.add_argument("--print", dest="sample", choices=sorted(SAMPLES), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.sample:
        print_report(SAMPLES[options.sample](), Console(highlight=False))
        return 0
    program = browser.find()
    if program is None:
        print("expected a Chromium, found none; run `make browser` first", file=sys.stderr)
        return 1
    with browser.opened(program) as chromium, TemporaryDirectory() as folder:
        stage = prepared(Path(folder))
        if options.publish:
            publish(stage, chromium)
            return 0
        for kind, pictures in (("terminal", terminals), ("page", pages), ("site", site)):
            if options.only in (None, kind):
                shutil.rmtree(TARGET / kind, ignore_errors=True)
                (TARGET / kind).mkdir(parents=True)
                print(f"{sum(1 for _ in pictures(stage, chromium))} pictures in {TARGET / kind}", flush=True)
    return 0


def prepared(folder: Path) -> Stage:
    """A folder with a model and rules, and the environment of a user who has just begun."""
    (folder / "mine.rules").write_text(RULES, encoding="utf-8")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"TASOOPT_CACHE": str(folder / "cache"), "PATH": path}
    making = [sys.executable, str(ROOT / "scripts" / "make_network.py"), "towers", "-o", "model.onnx"]
    subprocess.run(making, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return Stage(folder, environment)


def terminals(stage: Stage, chromium: Browser) -> Iterator[Path]:
    """Every command and every made-up report at every width, dark and without colour."""
    scenes = {name: command.format(rule=followed_rule()).split() for name, command in COMMANDS.items()}
    scenes |= {f"report-{name}": [sys.executable, __file__, "--print", name] for name in SAMPLES}
    for width in WIDTHS:
        for look, environment in LOOKS.items():
            for name, command in scenes.items():
                told = " ".join(command) if name in COMMANDS else f"tasoopt optimize ({name.partition('-')[2]})"
                written, _ = terminal.record(command, width, {**stage.environment, **environment}, stage.folder)
                shots = {name: written}
                if name == "optimize":
                    shots["progress"] = half_way(written)
                for shot, part in shots.items():
                    drawn = terminal.draw(terminal.screen(told, part, width))
                    path = TARGET / "terminal" / f"{shot}-{width}-{look}.svg"
                    path.write_text(drawn, encoding="utf-8")
                    yield photograph(chromium, path, path.with_suffix(".png"), (1500, 400), "dark")


def half_way(written: bytes) -> bytes:
    """What a command had written in the middle of its search."""
    told = b"s left"
    return written[: written.find(told, written.rfind(told) // 2) + len(told)]


def followed_rule() -> str:
    """The id of the rule that docs/how-it-works.md follows."""
    start = "(MatMul(x, y), MatMul(z, y)) = (Split(MatMul(Concat(x, z; axis=-2), y)"
    return next(entry.identity for entry in read_records(None) if entry.text.startswith(start))


def pages(stage: Stage, chromium: Browser) -> Iterator[Path]:
    """The page of every made-up report and of a real one, and the short form that notebooks show, at every size."""
    texts = {name: render_html(sample()) for name, sample in SAMPLES.items()}
    texts |= {f"notebook-{name}": f"<!DOCTYPE html>{render_summary(SAMPLES[name]())}" for name in SAMPLES}
    command = [*COMMANDS["optimize"].split(), "-o", "page.onnx"]
    subprocess.run(
        command, cwd=stage.folder, env={**os.environ, **stage.environment}, check=True, stdout=subprocess.DEVNULL
    )
    texts["real"] = (stage.folder / "report.html").read_text(encoding="utf-8")
    for name, text in texts.items():
        path = TARGET / "page" / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        for size, pixels in SIZES.items():
            for scheme in SCHEMES:
                yield photograph(chromium, path, path.with_name(f"{name}-{size}-{scheme}.png"), pixels, scheme)


def site(stage: Stage, chromium: Browser) -> Iterator[Path]:
    """The pages of the documentation."""
    del stage
    built = ROOT / "build" / "site"
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"], cwd=ROOT, check=True)
    for page in sorted(built.glob("*.html")):
        for size, pixels in SIZES.items():
            yield photograph(chromium, page, TARGET / "site" / f"{page.stem}-{size}.png", pixels, "light")


def photograph(chromium: Browser, page: Path, picture: Path, size: tuple[int, int], scheme: str) -> Path:
    """A picture of a whole page as a window of this size shows it."""
    width, height = size
    shown = chromium.new_page(
        viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
    )
    shown.goto(page.as_uri())
    if page.suffix == ".svg":
        shown.locator("svg").screenshot(path=picture)
    else:
        tall = int(shown.evaluate("document.documentElement.scrollHeight"))
        shown.set_viewport_size({"width": width, "height": max(height, min(tall, TALLEST))})
        shown.screenshot(path=picture)
    shown.close()
    return picture


def publish(stage: Stage, chromium: Browser) -> None:
    """The pictures that the documentation shows."""
    IMAGES.mkdir(exist_ok=True)
    command = "tasoopt optimize model.onnx --report report.html"
    written, _ = terminal.record(command.split(), WIDTHS[0], stage.environment, stage.folder)
    drawn = terminal.draw(terminal.screen(f"$ {command}", written, WIDTHS[0]))
    (IMAGES / "optimize.svg").write_text(drawn, encoding="utf-8")
    shown = chromium.new_page(viewport={"width": 1100, "height": 760})
    shown.goto((stage.folder / "report.html").as_uri())
    shown.screenshot(path=IMAGES / "report.png")
    shown.close()


if __name__ == "__main__":
    sys.exit(main())
