"""The page of candidates counts every verdict and says of each that is not proved why."""

import json

import pytest

import candidates_page
from taso_opt.cli import main
from taso_opt.spec import load_specs

PROVED = "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[m, k], y[k, n], z[n, p]"
FALSE = "Relu(Add(x, y)) = Add(Relu(x), Relu(y)) where x[m], y[m]"
MEANT = "Sub(x, Add(x, x)) = Sub(y, Add(y, x)) where x[*b], y[*b]"
OPEN = "Sqrt(Div(1, x)) = Pow(x; exponent=(-1, 2)) where x[*b]"


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
    reasons = candidates_page.explanations(load_specs(), entries)
    text = "\n".join(candidates_page.page(entries, reasons))
    assert "| 4 | 1 | 1 | 1 | 1 | 100.0% |" in text
    refuted, rest = text.partition("## Refuted")[2].split("## Neither proved nor refuted")
    neither, meant = rest.split("## True at all sizes")
    assert FALSE in refuted
    assert "the sides are" in refuted
    assert OPEN in neither
    assert "the two sides differ for some real numbers" in neither
    assert MEANT in meant
    assert PROVED not in text


def test_a_search_that_was_given_up_explains_nothing():
    entries = [
        {"rule": str(at), "verdict": verdict} for at, verdict in enumerate(["proved", "refuted", *["unknown"] * 2])
    ]
    reasons = {"2": "the axioms lead nowhere within the resource limit", "3": "no axiom applies any more"}
    assert candidates_page.explained_share(entries, reasons) == pytest.approx(100 * 2 / 3)
    assert candidates_page.explained_share(entries[:1], {}) == 100


def test_too_few_explained_candidates_are_an_error(tmp_path, monkeypatch):
    (tmp_path / "verdicts").write_text(json.dumps({"verdicts": [{"rule": "a", "verdict": "unknown", "reason": "b"}]}))
    arguments = [str(tmp_path / "verdicts"), "--output", str(tmp_path / "page.md")]
    for reason, code in (("no axiom applies any more", 0), ("nowhere within the resource limit", 1)):
        monkeypatch.setattr(candidates_page, "explanations", lambda *_, said=reason: {"a": said})
        assert candidates_page.main(arguments) == code
        assert f"- `a`<br>{reason}" in (tmp_path / "page.md").read_text()


def test_the_committed_page_explains_at_least_95_in_100_and_names_no_proved_rule():
    text = candidates_page.PAGE.read_text(encoding="utf-8")
    cells = [cell.strip() for cell in text.partition("|---|---|---|---|---|---|\n")[2].splitlines()[0].split("|")[1:-1]]
    total, proved, refuted, meant, others = map(int, cells[:5])
    assert total == proved + refuted + meant + others > 1000
    assert float(cells[5].rstrip("%")) >= candidates_page.TARGET
    assert text.count("\n- `") == refuted + meant + others
