"""Every report that any test makes is checked against its schema; and the browser that pages are opened in."""

import json
import os
from importlib import resources

import pytest
from jsonschema import Draft202012Validator

import browser
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


@pytest.fixture(scope="module")
def chromium():
    program = browser.find()
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("expected a Chromium to open pages in, found none: run `make browser`")
        pytest.skip("no Chromium is installed to open pages in; `make browser` finds or installs one")
    with browser.opened(program) as opened:
        yield opened
