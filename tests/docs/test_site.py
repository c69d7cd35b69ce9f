"""The documentation as a site: built without a warning, asking for nothing from elsewhere, readable on a phone."""

import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from documentation.pages import ROOT

OVERFLOWING = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the site, served on this machine alone."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_ask_for_nothing_from_elsewhere_and_fit_the_window(site, width, chromium):
    page = chromium.new_page(viewport={"width": width, "height": 844})
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for name in ("index", "tutorial", "rules", "commands", "reference", "comparison"):
        page.goto(f"{site}/{name}.html")
        assert not page.evaluate(OVERFLOWING), name
    page.close()
    assert all(url.startswith((site, "data:", "blob:")) for url in asked), asked
    assert complaints == []


def test_the_search_finds_what_the_pages_say(site, chromium):
    page = chromium.new_page(viewport={"width": 1280, "height": 844})
    page.goto(f"{site}/index.html")
    page.locator(".md-search__input").click()
    page.keyboard.type("completion")
    page.locator(".md-search-result__item").first.wait_for()
    assert "Configuration" in page.locator(".md-search-result__list").inner_text()
    page.close()


def test_the_reference_shows_every_public_function(site, chromium):
    page = chromium.new_page()
    page.goto(f"{site}/reference.html")
    text = page.locator("article").inner_text()
    for name in ("optimize", "compare", "explain", "generate", "verify", "verify_library", "Result", "MismatchError"):
        assert name in text
    page.close()
