"""What folding adds to a file is bounded, and told from the shapes before anything is folded."""

from types import SimpleNamespace

import pytest
from onnx import TensorProto, parser

from taso_opt.api.finals.costs import MOST_ADDED, Costs, finalists
from taso_opt.core.term import Apply
from taso_opt.cost import CostModel, CostTable, Goal
from taso_opt.onnx_io import read_model
from taso_opt.search.plan import Plan, SearchResult
from taso_opt.spec import load_specs

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
ROWS = 64


@pytest.fixture
def finalists_of(tmp_path):
    """Whether the finalists are the plan that folds the product of two weights, for so many columns of it."""

    def found(columns, goal=None):
        text = f"g (float[1,{ROWS}] x) => (float[1,{columns}] y) {{ p = MatMul(x, a)  y = MatMul(p, b) }}"
        proto = parser.parse_model(HEAD + text)
        for name, dims in (("a", [ROWS, 1]), ("b", [1, columns])):
            size = 4 * dims[0] * dims[1]
            proto.graph.initializer.add(name=name, dims=dims, data_type=TensorProto.FLOAT, raw_data=bytes(size))
        path = tmp_path / "model.onnx"
        path.write_bytes(proto.SerializeToString())
        model = read_model(path, load_specs())
        outer = model.graph.outputs[0]
        assert isinstance(outer, Apply) and isinstance(outer.args[0], Apply)
        (x, a), b = outer.args[0].args, outer.args[1]
        op = model.builder
        folded = Plan((op.MatMul(x, op.MatMul(a, b)),), 1.0)
        result = SearchResult((folded, Plan(model.graph.outputs, 2.0)), 2, 1, 0.0, "")
        with CostTable(tmp_path / "costs.sqlite") as table:
            cost = CostModel(op, table, SimpleNamespace(place="nowhere"), model.opset)
            job = SimpleNamespace(model=model, goal=goal or Goal(), has_another_base=False)
            return [plan is folded for plan in finalists(job, result, Costs(cost, None))]

    return found


def test_a_plan_that_folds_far_more_than_the_model_has_is_no_finalist(finalists_of):
    columns = MOST_ADDED // (4 * ROWS)
    assert finalists_of(columns - columns // 8) == [True]
    assert finalists_of(columns + columns // 8) == []


def test_growth_that_the_user_allows_is_his_own_affair(finalists_of):
    columns = MOST_ADDED // (4 * ROWS)
    assert finalists_of(columns + columns // 8, Goal(size_growth=100.0)) == [True]
