"""Which plans of a search are measured whole: what promises enough, and of what promises the same the first."""

from types import SimpleNamespace

import pytest
from onnx import parser

from taso_opt.api.finals.costs import FINALISTS, MOST_FINALISTS, Costs, finalists
from taso_opt.cost import CostModel, CostTable, Goal
from taso_opt.onnx_io import read_model
from taso_opt.search.plan import Plan, SearchResult
from taso_opt.spec import load_specs

CHAIN = """<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Relu(x) }"""


@pytest.fixture
def numbers(tmp_path):
    """The places, among plans of these costs, of those that are finalists; the original costs 1."""
    path = tmp_path / "model.onnx"
    path.write_bytes(parser.parse_model(CHAIN).SerializeToString())
    model = read_model(path, load_specs())
    (outer,) = model.graph.outputs

    def chosen(*costs):
        op, term, plans = model.builder, outer, []
        for cost in costs:
            term = op.Relu(term)
            plans.append(Plan((term,), cost))
        result = SearchResult((*plans, Plan(model.graph.outputs, 1.0)), 2, 1, 0.0, "")
        with CostTable(tmp_path / "costs.sqlite") as table:
            cost = CostModel(op, table, SimpleNamespace(place="nowhere"), model.opset)
            job = SimpleNamespace(model=model, goal=Goal(), has_another_base=False)
            return [plans.index(plan) for plan in finalists(job, result, Costs(cost, None))]

    return chosen


def test_a_plan_that_promises_too_little_is_not_measured(numbers):
    assert numbers(0.9, 0.95, 0.995) == [0, 1]
    assert numbers(0.995) == []


def test_of_plans_of_one_cost_the_first_is_measured(numbers):
    assert numbers(0.8, 0.8, 0.8001, 0.81, 0.8105) == [0, 3]


def test_no_more_are_measured_than_the_weights_leave_time_for(numbers, monkeypatch):
    costs = [0.5 + at / 100 for at in range(2 * MOST_FINALISTS)]
    assert numbers(*costs) == list(range(MOST_FINALISTS))
    monkeypatch.setattr("taso_opt.api.finals.costs.LIGHT_BYTES", 0)
    assert numbers(*costs) == list(range(FINALISTS))
