"""The session of a new user holds what the pages say, and starts from nothing."""

import subprocess
import sys
from pathlib import Path

from documentation.pages import CLONE, PAGES, ROOT, pieces
from documentation.terminal import draw, record, screen
from first_steps import clean, lines


def test_all_that_is_marked_for_a_clone_is_typed_there_and_the_whole_readme():
    session = list(lines())
    for page in PAGES:
        for piece in pieces(page):
            if piece.marker == CLONE or (page.name == "README.md" and page.parent == ROOT and piece.kind == "console"):
                assert piece.steps
                assert all(command in session for command, _ in piece.steps)
    written = next(line for line in session if line.startswith("cat > specs/ceil.py"))
    assert 'OPERATOR = unary_operator("Ceil", CEIL)' in written and written.endswith("END_OF_FILE")
    assert subprocess.run(["bash", "-n", "-c", "\n".join(session)], check=False).returncode == 0


def test_a_new_user_has_no_environment_and_no_options(monkeypatch, tmp_path):
    monkeypatch.setenv("TASOOPT_THREADS", "4")
    monkeypatch.setenv("VIRTUAL_ENV", "/somewhere")
    own = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", f"{own}:/usr/bin:/bin")
    environment = clean(tmp_path)
    assert "TASOOPT_THREADS" not in environment and "VIRTUAL_ENV" not in environment
    assert environment["PATH"] == "/usr/bin:/bin"
    assert environment["TASOOPT_CACHE"].startswith(str(tmp_path))


def test_a_screen_is_what_a_terminal_shows_after_what_was_erased(tmp_path):
    command = [sys.executable, "-c", "print('gone\\rkept \\033[1;32mgreen\\033[0m <&>')"]
    written, code = record(command, 20, {}, tmp_path)
    shown = screen("$ python", written, 20)
    assert (code, shown.text) == (0, "kept green <&>")
    picture = draw(shown)
    assert "green" in picture and "&lt;&amp;&gt;" in picture
    assert "@font-face" not in picture and "url(http" not in picture
