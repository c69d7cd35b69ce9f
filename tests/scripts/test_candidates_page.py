"""The page of candidates counts every verdict and says of each that is not proved why."""

import json

import pytest

import candidates_page
from taso_opt.cli import main
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule

PROVED = "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[m, k], y[k, n], z[n, p]"
FALSE = "Relu(Add(x, y)) = Add(Relu(x), Relu(y)) where x[m], y[m]"
MEANT = "Sub(x, Add(x, x)) = Sub(y, Add(y, x)) where x[*b], y[*b]"
OPEN = "Sqrt(Div(1, x)) = Pow(x; exponent=(-1, 2)) where x[*b]"
USELESS = "Add(Sub(x, y), z) = Sub(Add(x, z), y) where x[*b], y[*b], z[*b]"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verdicts")
    (folder / "few.rules").write_text("\n".join((PROVED, FALSE, MEANT, OPEN)))
    return folder / "few.rules"


@pytest.fixture
def entries(verdicts, capsys):
    assert main(["verify", str(verdicts), "--jobs", "1", "--json"]) == 1  # one of them is refuted
    return json.loads(capsys.readouterr().out)["verdicts"]


def test_every_candidate_that_is_not_proved_stands_with_its_counterexample_or_reason(entries):
    assert "| 4 | 2 | 1 | 1 | 1 | 100.0% |" in candidates_page.page(entries)
    text = "\n".join(candidates_page.unproved(entries))
    refuted, neither = text.partition("## Refuted")[2].split("## Neither proved nor refuted")
    assert FALSE in refuted
    assert "the sides are" in refuted
    assert OPEN in neither
    assert "the two sides differ for some real numbers" in neither
    assert PROVED not in text
    assert MEANT not in text


def test_sizes_and_families_tell_how_many_equations_came_how_far(entries):
    builder = load_specs().builder()
    useless, kept = ([parse_rule(text, builder) for text in texts] for texts in ([USELESS], [PROVED]))
    rows = list(candidates_page.what_is_kept(load_specs(), entries, useless, kept, kept))
    assert "| of 2 operators | 5 | 1 | 1 | 1 | 1 | 0 | 1 | 1 |" in rows
    assert "| of 3 operators | 1 | 0 | 0 | 0 | 0 | 1 | 0 | 0 |" in rows
    assert "| products, 2 operators | 2 | 0 | 1 | 1 | 0 | 0 | 0 | 1 |" in rows
    assert "| element by element, 2 operators | 3 | 1 | 0 | 0 | 1 | 0 | 1 | 0 |" in rows
    assert "| joins, splits and slices, 2 operators | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in rows


def test_the_page_counts_what_was_left_out_and_the_library(tmp_path, capsys):
    empty, following = {"verdicts": []}, {"verdicts": [], "following": [MEANT]}
    written = {"verdicts": empty, "more": following, "useless.txt": USELESS, "library.jsonl": ""}
    for name, content in written.items():
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    files = {
        option: str(tmp_path / name) for option, name in (("useless", "useless.txt"), ("library", "library.jsonl"))
    }
    told = [f"--{option}={file}" for option, file in files.items()]
    assert (
        candidates_page.main(
            [str(tmp_path / "verdicts"), str(tmp_path / "more"), *told, f"--output={tmp_path / 'page.md'}"]
        )
        == 0
    )
    assert "| of 2 operators | 2 | 1 | 1 | 0 | 0 | 0 | 0 | 0 |" in (tmp_path / "page.md").read_text()
    assert "0 candidates: 0 proved, 0 refuted, 0 unknown; 0 rules; see" in capsys.readouterr().err


def test_a_search_that_was_given_up_explains_nothing():
    entries = [
        {"verdict": "proved"},
        {"verdict": "refuted"},
        {"verdict": "unknown", "reason": "the axioms lead nowhere within the resource limit"},
        {"verdict": "unknown", "reason": "no axiom applies any more"},
    ]
    assert candidates_page.explained_share(entries) == pytest.approx(100 * 2 / 3)
    assert candidates_page.explained_share(entries[:1]) == 100


def test_too_few_explained_candidates_are_an_error(tmp_path):
    for reason, code in (("no axiom applies any more", 0), ("nowhere within the resource limit", 1)):
        entry = {"rule": MEANT, "verdict": "unknown", "reason": reason}
        (tmp_path / "verdicts").write_text(json.dumps({"verdicts": [entry]}))
        assert candidates_page.main([str(tmp_path / "verdicts"), "--output", str(tmp_path / "page.md")]) == code
        assert f"- `{MEANT}`<br>{reason}" in (tmp_path / "page.md").read_text()


def test_the_committed_page_explains_at_least_95_in_100_and_names_no_proved_rule():
    text = candidates_page.PAGE.read_text(encoding="utf-8")
    cells = [cell.strip() for cell in text.partition("|---|---|---|---|---|---|\n")[2].splitlines()[0].split("|")[1:-1]]
    total, proved, meant, refuted, neither = map(int, cells[:5])
    assert total == proved + refuted + neither > 1000
    assert 0 <= meant < proved
    assert float(cells[5].rstrip("%")) >= candidates_page.TARGET
    assert text.count("\n- `") == refuted + neither
