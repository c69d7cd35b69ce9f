"""The whole way to a library, of a few operators."""

import subprocess
import sys

import make_rules
from documentation.pages import ROOT

SMALL = "Relu(Relu(x)) = Relu(x) where x[*b]"
TURNED = "Transpose(Relu(x); perm=(-1, -2)) = Relu(Transpose(x; perm=(-1, -2))) where x[*b, m, n]"
OTHER_TURN = "Tanh(Transpose(x; perm=(-1, -2))) = Transpose(Tanh(x); perm=(-1, -2)) where x[*b, m, n]"
REORDERED = "Add(Sub(x, y), z) = Sub(Add(z, x), y) where x[*b], y[*b], z[*b]"
SHORTER = "Relu(Relu(Relu(x))) = Relu(x) where x[*b]"


def test_a_small_library_is_discovered_proved_and_written_with_its_proofs(tmp_path):
    made, page = tmp_path / "library.jsonl", tmp_path / "candidates.md"
    written = ["--output", str(made), "--page", str(page)]
    options = ["--max-ops", "1", "--useful-ops", "2", "--operators", "Add,Relu,MatMul,Transpose"]
    command = [sys.executable, str(ROOT / "scripts" / "make_rules.py"), *options, *written]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "0 refuted" in done.stderr
    assert "rules checked, 0 failed" in done.stderr
    lines = made.read_text(encoding="utf-8").splitlines()
    assert lines and (tmp_path / "library.proofs.jsonl").is_file()
    assert "## Refuted\n\nNone." in page.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "candidates.md",
        "library.jsonl",
        "library.proofs.jsonl",
    ]


def test_of_a_larger_enumeration_what_is_small_or_useful_is_chosen(tmp_path):
    files = candidates, enumerated, larger, useless = [tmp_path / name for name in ("known", "found", "larger", "rest")]
    candidates.write_text(f"{SMALL}\n{TURNED}\n")
    enumerated.write_text(f"{SMALL}\n{OTHER_TURN}\n{REORDERED}\n{SHORTER}\n")
    make_rules.choose(*files, max_ops=2)
    assert larger.read_text().splitlines() == [OTHER_TURN, REORDERED, SHORTER]
    assert useless.read_text() == ""
    make_rules.choose(*files, max_ops=1)
    assert larger.read_text().splitlines() == [SHORTER]
    assert useless.read_text().splitlines() == [OTHER_TURN, REORDERED]
