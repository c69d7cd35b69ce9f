"""Reports on disk: JSON that its schema describes, HTML, and bad places refused before anything long begins."""

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from documentation.sample_reports import SAMPLES, improved, mismatch
from taso_opt.errors import UsageError
from taso_opt.report import evidence, record
from taso_opt.report.files import check_report_path, check_report_paths, write_report


def test_the_schema_is_one(report_schema):
    Draft202012Validator.check_schema(report_schema)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_record_is_written_as_its_schema_says(name, tmp_path, report_schema):
    path = tmp_path / "report.json"
    write_report(SAMPLES[name](), path)
    document = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator(report_schema).validate(document)
    assert (document["schema_version"], document["command"]) == (1, "optimize")


def test_the_schema_describes_exactly_the_fields_of_the_records(report_schema):
    described = {**report_schema["$defs"], "Record": report_schema}
    kinds = [kind for module in (record, evidence) for kind in vars(module).values() if is_dataclass(kind)]
    kinds = [kind for kind in kinds if kind is not record.Comparison]
    assert {kind.__name__ for kind in kinds} == set(described)
    for kind in kinds:
        names = {field.name for field in fields(kind)}
        extra = {"schema_version", "command"} if kind is record.Record else set()
        assert set(described[kind.__name__]["properties"]) == names | extra
        assert set(described[kind.__name__]["required"]) == names | extra
        assert all(entry["description"] for entry in described[kind.__name__]["properties"].values())


def test_what_is_not_finite_is_null():
    document = mismatch().document()
    assert document["max_abs_error"] is document["max_rel_error"] is None
    assert [output["max_abs"] for output in document["outputs"]] == [0.0, None]


def test_a_page_is_written_too(tmp_path):
    path = tmp_path / "report.html"
    write_report(improved(), path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_name_that_is_not_text_is_spelled_out_in_a_page(tmp_path):
    path = tmp_path / "report.html"
    write_report(replace(improved(), output="out\udcff.onnx"), path)
    assert "out\\udcff.onnx" in path.read_text(encoding="utf-8")


def test_an_older_report_is_lost_only_to_a_whole_one(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("older")
    monkeypatch.setattr("taso_opt.report.page.render_html", lambda record: "\udcff")
    with pytest.raises(UnicodeEncodeError):
        write_report(improved(), path)
    assert path.read_text() == "older"


@pytest.mark.parametrize(
    ("name", "wording"),
    [
        ("report.pdf", "expected --report FILE.html or FILE.json, found 'report.pdf'"),
        ("none/report.html", "expected a folder for the report, found none at"),
        ("folder.json", "found a folder"),
        (f"{'a' * 300}.html", "expected a report file that can be written, found .*: File name too long"),
    ],
)
def test_a_place_where_no_report_can_be_is_refused(name, wording, tmp_path):
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(UsageError, match=wording):
        check_report_path(tmp_path / name)


def test_a_folder_that_takes_no_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UsageError, match="expected a report file that can be written, found"):
        check_report_path(tmp_path / "report.html")


def test_no_report_takes_the_place_of_another_file_of_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reports = [Path("a.json"), tmp_path / "b.html"]
    check_report_paths(reports, (Path("model.onnx"), None))
    for taken in ((tmp_path / "a.json",), (None, Path("b.html"))):
        with pytest.raises(UsageError, match="expected a report in a file of its own, found"):
            check_report_paths(reports, taken)
    with pytest.raises(UsageError, match=r"found a\.json, which is used already"):
        check_report_paths([tmp_path / "a.json", Path("a.json")])
