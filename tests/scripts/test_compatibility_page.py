"""The page of compatibility figures is made from test reports."""

import pytest

import compatibility
from compatibility import MODES, Result, feature_rows, figures, read_report, real_models


def outcome(name, result, rewritten="False"):
    modes = dict.fromkeys(MODES, result)
    return Result(name, {**modes, **{f"{mode} rewritten": rewritten for mode in MODES}}, result != "wrong")


def test_results_are_counted_by_mode():
    table = figures(
        [outcome("a", "agrees", "True"), outcome("b", "agrees"), outcome("c", "refused"), Result("d", {}, False)]
    )
    lines = table.splitlines()
    assert "| gives the outputs of the suite | 2 | 2 | 2 | 2 |" in lines
    assert "| refused in one line, the original untouched | 1 | 1 | 1 | 1 |" in lines
    assert "| **crash** | 1 | 1 | 1 | 1 |" in lines
    assert lines[-1] == "| *something was rewritten* | 1 | 1 | 1 | 1 |"


def test_a_feature_survives_when_it_does_in_all_its_models():
    results = [
        Result("test_the_ir_version[3]", {}, True),
        Result("test_the_ir_version[4]", {}, False),
        Result("test_strings", {}, True),
    ]
    assert list(feature_rows(results)) == ["| the ir version | 2 | **no** |", "| strings | 1 | yes |"]


def test_reports_of_pytest_are_read(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase name="one"><properties><property name="optimized" value="agrees"/>'
        '</properties></testcase><testcase name="two"><failure message="no"/></testcase></testsuite></testsuites>'
    )
    assert list(read_report(report)) == [Result("one", {"optimized": "agrees"}, True), Result("two", {}, False)]


def test_real_models_have_a_row_each_with_a_star_where_something_was_rewritten():
    modes = {**dict.fromkeys(("optimized", "respelled", "shrunk", "wandered"), "agrees"), "far": "wrong"}
    found = {**modes, "operators": "12", "far rewritten": "True", "optimized rewritten": "False"}
    text = real_models([Result("test_a_real_model[magika]", found, False), Result("test_a_real_model[none]", {}, True)])
    assert "1 pre-trained models" in text
    assert "| magika | 12 | agrees | agrees | agrees | agrees | wrong \\* |" in text
    assert "none" not in text


def test_a_suite_that_did_not_run_is_no_success(monkeypatch, tmp_path):
    monkeypatch.setattr(compatibility, "REPORTS", tmp_path)
    (tmp_path / "nosuch.xml").write_text("<testsuites/>")  # of an earlier run
    with pytest.raises(SystemExit, match=r"expected pytest to run tests/nosuch\.py, found exit code 4"):
        compatibility._run("tests/nosuch.py", reuse=False)
