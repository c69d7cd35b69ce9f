"""The onnx package's own backend tests: what comes out computes what the suite expects, or there is a clear refusal."""

import pytest

from backend.models import load_cases
from backend.worker import FINE, Suite


@pytest.fixture(scope="session")
def suite():
    running = Suite()
    yield running
    running.close()


@pytest.mark.parametrize("name", sorted(load_cases()))
def test_the_outputs_are_those_of_the_suite_or_there_is_a_clear_refusal(name, suite, record_property):
    outcomes = suite.outcomes(name)
    for outcome in outcomes:
        record_property(outcome.mode, outcome.result)
        record_property(f"{outcome.mode} rewritten", outcome.rewritten)
        record_property(f"{outcome.mode} detail", "".join(filter(str.isprintable, outcome.detail))[:200])
    failures = [
        f"{outcome.mode}: {outcome.result}: {outcome.detail}" for outcome in outcomes if outcome.result not in FINE
    ]
    assert not failures, "; ".join(failures)
