"""Every report that any test makes is checked against the schema that ships with the tool."""

import json
from importlib import resources

import pytest
from jsonschema import Draft202012Validator

from taso_opt.report.record import Record


@pytest.fixture(scope="session")
def report_schema():
    return json.loads(resources.files("taso_opt.report").joinpath("schema.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _valid_reports(report_schema, monkeypatch):
    validator, document = Draft202012Validator(report_schema), Record.document

    def validated(record):
        made = document(record)
        validator.validate(json.loads(json.dumps(made, allow_nan=False)))
        return made

    monkeypatch.setattr(Record, "document", validated)
