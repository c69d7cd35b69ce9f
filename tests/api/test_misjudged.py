"""Where the best plan loses although much was predicted, the search is made again without what it rests on, once."""

import math
from types import SimpleNamespace

import pytest

from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.api.finals.misjudged import misleading_operator
from taso_opt.core.term import Const, Var
from taso_opt.search.judging import finals
from taso_opt.spec import load_specs
from terms import tensor

OP = load_specs().builder()
X, W = tensor(Var, "x", 8, 8), tensor(Const, "w", 8, 8)
ORIGINAL = (OP.Relu(OP.MatMul(X, W)),)
OTHER = (OP.Softplus(OP.Sigmoid(OP.MatMul(X, W))),)
SECONDS = {"Relu": 1.0, "MatMul": 5.0, "Softplus": 3.0, "Sigmoid": 2.0}


class Latency:
    """Costs of kernels that are one operator each."""

    def kernels(self, outputs, around):
        (last,) = outputs
        terms = [last, *(child for child in last.children if child.children)]
        return [SimpleNamespace(members=frozenset({term}), seconds=SECONDS[term.operator]) for term in terms]

    def known(self, unit):
        return unit.seconds


def misled(predicted=(10.0, 8.0), without=(), stopped_by="patience", deadline=math.inf):
    model = SimpleNamespace(graph=SimpleNamespace(outputs=ORIGINAL))
    job = SimpleNamespace(without=without, model=model, deadline=deadline)
    record = SimpleNamespace(search=SimpleNamespace(stopped_by=stopped_by))
    costs = SimpleNamespace(predicted=predicted, latency=Latency())
    return misleading_operator(job, record, SimpleNamespace(outputs=OTHER), costs)


def test_the_new_operator_with_the_longest_kernels_is_it():
    assert misled() == "Softplus"


@pytest.mark.parametrize(
    "case",
    [
        {"predicted": (10.0, 9.8)},  # that may have been noise
        {"predicted": (100.0, 80.0)},  # the new operators are a small part of it
        {"without": ("Gelu",)},
        {"stopped_by": "budget"},
        {"stopped_by": "interrupt"},
        {"deadline": -math.inf},
    ],
)
def test_nothing_is_left_out_of_plans_that_promised_little_nor_twice_nor_without_time(case):
    assert misled(**case) is None


def test_a_second_search_keeps_to_what_the_model_has_and_its_outcome_is_written(process, tanh_gelu, monkeypatch):
    judged = finals._judged
    monkeypatch.setattr(finals, "_judged", lambda *asked: (judged(*asked)[0], False))
    monkeypatch.setattr("taso_opt.api.finals.misjudged.LEAST_SHARE", 0.01)
    told = []
    record = optimize_file(tanh_gelu, OptimizeSettings(budget=10.0), told.append, process)
    assert record.result == "unchanged"
    (remark,) = [warning for warning in record.warnings if "made again" in warning]
    assert remark.startswith("with Gelu ") and remark in told
    assert (tanh_gelu.parent / "model.opt.onnx").read_bytes() == tanh_gelu.read_bytes()
