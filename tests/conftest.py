"""What many tests need: the specifications, reports that fit their schema, a browser to open pages in."""

import json
import os
from importlib import resources

import pytest
from hypothesis import settings
from jsonschema import Draft202012Validator

import browser
from taso_opt.report.record import Record
from taso_opt.runtime import RuntimeProcess
from taso_opt.spec import load_specs

settings.register_profile("tests", deadline=None, derandomize=True, database=None)
settings.load_profile("tests")


@pytest.fixture(scope="session")
def report_schema():
    return json.loads(resources.files("taso_opt.report").joinpath("schema.json").read_text(encoding="utf-8"))


OF_MACHINES = ("TASOOPT_BROWSER", "TASOOPT_CACHE")
"""Variables that say where things are, no options."""


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_the_user():
    """What the user's environment says of options is not what the tests are about."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("TASOOPT_") and name not in OF_MACHINES]:
            patch.delenv(name)
        yield


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """What a test measures is its own."""
    monkeypatch.setenv("TASOOPT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def library():
    return load_specs()


@pytest.fixture(scope="module")
def op(library):
    """Makes terms over the operators of specs/."""
    return library.builder()


@pytest.fixture(scope="module")
def process():
    with RuntimeProcess() as running:
        yield running


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
