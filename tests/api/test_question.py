"""The cost table answers a question by an earlier answer only where nothing that matters differs."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from taso_opt.api import OptimizeSettings
from taso_opt.api.finals.question import contest_question, search_question
from taso_opt.search.judging.finals import Standard


@pytest.fixture
def job():
    return SimpleNamespace(
        settings=OptimizeSettings(),
        source=SimpleNamespace(digest="a model", bindings={"n": 1}),
        samples=({"x": np.ones(3, np.float32)},),
        goal="latency",
        budget=40.0,
        without=frozenset(),
        obstacle="",
        has_another_base=False,
        model=SimpleNamespace(proto=SimpleNamespace(SerializeToString=lambda deterministic: b"tidied")),
    )


def but(job, **changes):
    return SimpleNamespace(**{**vars(job), **changes})


def plan(digest):
    return SimpleNamespace(outputs=(SimpleNamespace(digest=digest),))


def rules(*names):
    return [SimpleNamespace(name=name) for name in names]


def test_a_search_is_another_one_where_anything_differs_that_it_depends_on(job):
    questions = [
        search_question(job, rules("a", "b")),
        search_question(job, rules("a", "c")),
        search_question(but(job, source=SimpleNamespace(digest="a model", bindings={"n": 2})), rules("a", "b")),
        search_question(but(job, source=SimpleNamespace(digest="another model", bindings={"n": 1})), rules("a", "b")),
        search_question(but(job, goal="flops"), rules("a", "b")),
        search_question(but(job, budget=60.0), rules("a", "b")),
        search_question(but(job, settings=replace(job.settings, alpha=1.2)), rules("a", "b")),
        search_question(but(job, without=frozenset({"LSTM"})), rules("a", "b")),
        search_question(but(job, has_another_base=True), rules("a", "b")),
    ]
    assert len(set(questions)) == len(questions)
    assert search_question(but(job, samples=()), rules("a", "b")) == questions[0]


def test_another_version_of_the_tool_asks_other_questions(job, monkeypatch):
    search, contest = search_question(job, rules("a")), contest_question(job, (plan(b"1"),), Standard())
    monkeypatch.setattr("taso_opt.api.finals.question._own_code", lambda: "other modules")
    monkeypatch.setattr("taso_opt.api.finals.question.__version__", "other")
    assert search_question(job, rules("a")) != search
    assert contest_question(job, (plan(b"1"),), Standard()) != contest


def test_a_contest_is_another_one_where_anything_differs_that_it_depends_on(job):
    standard, plans = Standard(), (plan(b"1"), plan(b"2"))
    questions = [
        contest_question(job, plans, standard),
        contest_question(job, plans[:1], standard),
        contest_question(job, plans[::-1], standard),
        contest_question(job, plans, replace(standard, latency=0.5)),
        contest_question(but(job, settings=replace(job.settings, seed=1)), plans, standard),
        contest_question(but(job, settings=replace(job.settings, dims={"n": (2,)})), plans, standard),
        contest_question(but(job, samples=()), plans, standard),
        contest_question(but(job, samples=({"y": np.ones(3, np.float32)},)), plans, standard),
        contest_question(but(job, samples=({"x": np.ones(3, np.float64)},)), plans, standard),
        contest_question(but(job, samples=({"x": np.zeros(3, np.float32)},)), plans, standard),
        contest_question(but(job, obstacle="an operator of one's own"), plans, standard),
        contest_question(but(job, has_another_base=True), plans, standard),
    ]
    assert len(set(questions)) == len(questions)
    assert contest_question(but(job, budget=60.0), plans, standard) == questions[0]
