"""One runtime's process for the tests of a file, and costs that no other test has measured."""

import pytest

from taso_opt.runtime import RuntimeProcess


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TASOOPT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def process():
    with RuntimeProcess() as running:
        yield running
