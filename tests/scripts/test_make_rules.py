"""The whole way to a library, at one operator a side."""

import subprocess
import sys

from pages import ROOT


def test_a_small_library_is_discovered_proved_and_written_with_its_proofs(tmp_path):
    made, page = tmp_path / "library.jsonl", tmp_path / "candidates.md"
    options = ["--max-ops", "1", "--output", str(made), "--page", str(page)]
    command = [sys.executable, str(ROOT / "scripts" / "make_rules.py"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "0 refuted" in done.stderr
    lines = made.read_text(encoding="utf-8").splitlines()
    assert lines and (tmp_path / "library.proofs.jsonl").is_file()
    assert "## Refuted\n\nNone." in page.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "candidates.md",
        "library.jsonl",
        "library.proofs.jsonl",
    ]
