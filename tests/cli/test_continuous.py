"""JUnit files and step summaries tell what the verifier found, and nothing in a rule file can break them."""

from xml.etree import ElementTree

import pytest

from taso_opt.cli import main
from taso_opt.cli.continuous import Case, check_cases, junit_xml, step_summary
from taso_opt.verify.library.check import CheckResult, Failure

TRUE = "Relu(Relu(x)) = Relu(x) where x[*a]"
FALSE = "Relu(x) = x where x[*a]"
UNKNOWN = "Elu(x; alpha=(1, 0)) = x where x[*any_x]"


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    path = tmp_path / "mine.rules"
    path.write_text(f"{TRUE}\n# a comment\n{FALSE}\n{UNKNOWN}\n")

    def call(*arguments):
        code = main(["verify", *map(str, arguments), "--jobs", "1"])
        return code, capsys.readouterr()

    return call


def test_a_junit_file_has_one_case_for_each_equation(run, tmp_path):
    code, output = run(tmp_path / "mine.rules", "--junit", tmp_path / "result.xml")
    assert code == 1 and "1 proved, 1 refuted, 1 unknown" in output.out
    root = ElementTree.parse(tmp_path / "result.xml").getroot()
    assert {name: root.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "skipped": "1",
    }
    proved, refuted, unknown = root.iter("testcase")
    assert proved.get("name") == f"line 1: {TRUE}" and len(proved) == 0
    assert refuted.get("name") == f"line 3: {FALSE}"
    assert refuted.find("failure").get("message").startswith("refuted: Relu(x) is ")
    assert unknown.find("skipped").get("message").startswith("unknown: it cannot be evaluated")


def test_strict_turns_an_unknown_case_into_a_failed_one(run, tmp_path):
    run(tmp_path / "mine.rules", "--strict", "--junit", tmp_path / "result.xml")
    assert ElementTree.parse(tmp_path / "result.xml").getroot().get("failures") == "2"


def test_a_check_has_a_case_for_each_rule_and_one_for_the_library(run, tmp_path):
    run(tmp_path / "mine.rules", "-o", tmp_path / "mine.jsonl")
    code, _ = run(tmp_path / "mine.jsonl", "--check", "--junit", tmp_path / "good.xml")
    assert code == 0
    assert ElementTree.parse(tmp_path / "good.xml").getroot().get("tests") == "2"
    (tmp_path / "mine.jsonl").write_text((tmp_path / "mine.jsonl").read_text().replace('"E1"', '"E0"'))
    code, _ = run(tmp_path / "mine.jsonl", "--check", "--junit", tmp_path / "bad.xml")
    assert code == 1
    failures = [element.get("message") for element in ElementTree.parse(tmp_path / "bad.xml").getroot().iter("failure")]
    assert len(failures) == 2
    assert any("its floating-point class was changed: expected E1, found E0" in text for text in failures)


def test_the_summary_of_a_step_is_appended_where_github_says(run, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    run(tmp_path / "mine.rules")
    text = summary.read_text()
    assert text.startswith("before\n### tasoopt verify: 1 passed, 1 failed, 1 unknown\n")
    assert f"| `line 3: {FALSE}` | `refuted: Relu(x) is " in text
    assert TRUE not in text


def test_a_failure_of_the_library_as_a_whole_is_a_case_of_its_own():
    result = CheckResult(
        1, (Failure("abc", 1, "false"), Failure("", 0, "stale"), Failure("gone", 0, "removed")), 0, ("abc",)
    )
    assert check_cases(result) == [
        Case("abc", "failure", "false"),
        Case("the library as a whole", "failure", "stale; removed"),
    ]


def test_nothing_in_a_name_leaves_its_place():
    hostile = Case("a\x00b|c`d<e>&\n# heading\ud800", "failure", "</testcase>|`")
    assert "heading" in step_summary([hostile]) and len(step_summary([hostile]).splitlines()) == 5
    assert "`a b\\|c d<e>& # heading" in step_summary([hostile])
    (element,) = ElementTree.fromstring(junit_xml([hostile])).iter("testcase")
    assert element.get("name") == "a?b|c`d<e>&\n# heading?"
    assert element.find("failure").get("message") == "</testcase>|`"


def test_a_long_summary_is_cut():
    text = step_summary([Case(f"rule {at}", "failure", "no") for at in range(70)])
    assert "| `rule 49` | `no` |" in text and "rule 50" not in text and text.endswith("and 20 more\n")


def test_a_file_that_cannot_be_written_is_named(run, tmp_path):
    code, output = run(tmp_path / "mine.rules", "--junit", tmp_path / "missing" / "result.xml")
    assert code == 2
    assert "expected a file that can be written for --junit, found" in output.err
