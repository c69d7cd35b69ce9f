"""The whole way to a library, at one operator a side."""

import subprocess
import sys

import make_rules
from pages import ROOT

SMALL = "Relu(Relu(x)) = Relu(x) where x[*b]"
TURNED = "Transpose(Relu(x); perm=(-1, -2)) = Relu(Transpose(x; perm=(-1, -2))) where x[*b, m, n]"
REORDERED = "Add(Sub(x, y), z) = Sub(Add(z, x), y) where x[*b], y[*b], z[*b]"
SHORTER = "Relu(Relu(Relu(x))) = Relu(x) where x[*b]"


def test_a_small_library_is_discovered_proved_and_written_with_its_proofs(tmp_path):
    made, page = tmp_path / "library.jsonl", tmp_path / "candidates.md"
    options = ["--max-ops", "1", "--useful-ops", "1", "--output", str(made), "--page", str(page)]
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


def test_all_small_candidates_are_chosen_and_only_the_useful_larger_ones(tmp_path):
    small, larger, chosen, useless = (tmp_path / name for name in ("small", "larger", "chosen", "useless"))
    small.write_text(f"{TURNED}\n{SMALL}\n")
    larger.write_text(f"{SMALL}\n{TURNED}\n{REORDERED}\n{SHORTER}\n")
    make_rules.choose([small, larger], chosen, useless)
    assert [line.partition(" where ")[0].count("Relu") for line in chosen.read_text().splitlines()] == [2, 3, 4]
    assert useless.read_text().splitlines() == [REORDERED]


def test_without_larger_candidates_none_is_left_out(tmp_path):
    small, chosen, useless = (tmp_path / name for name in ("small", "chosen", "useless"))
    small.write_text(f"{TURNED}\n{SMALL}\n")
    make_rules.choose([small], chosen, useless)
    assert len(chosen.read_text().splitlines()) == 2
    assert useless.read_text() == ""
