"""Where a model gives the result of operators that the runtime may fuse, they cost what they cost without a user."""

import pytest

from taso_opt.core.literal import literal
from taso_opt.core.term import Var
from taso_opt.core.types import TensorType
from taso_opt.cost import NOTHING, Around, CostModel, CostTable, Measurer
from taso_opt.cost.kernels.layout import GIVEN
from taso_opt.runtime import Absent, RunSettings, RuntimeInfo
from taso_opt.runtime.requests import FUSED, WHOLE
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.spec import load_specs

op = load_specs().builder()
X = Var("x", TensorType("float32", (64, 64)))
INFO = RuntimeInfo("onnxruntime", "1.32.0", ("CPUExecutionProvider",))


def activation(x):
    return op.Mul(x, op.Add(literal(1, "float32"), op.Tanh(x)))


@pytest.fixture
def asked(monkeypatch):
    """What part of each kernel the runtime was asked to time, by its key."""
    parts = {}

    def heard(process, batch, run, plan, beside=None):
        parts.update({item.key: item.part for item in batch})
        return {item.key: Absent() for item in batch}

    for place in ("measure", "steady"):
        monkeypatch.setattr(f"taso_opt.cost.measuring.{place}.measure_many", heard)
    monkeypatch.setattr("taso_opt.cost.measuring.overhead.measure_many", lambda *asked: {})
    return parts


@pytest.fixture
def cost(tmp_path):
    with CostTable(tmp_path / "costs.sqlite") as table:
        yield CostModel(op, table, Measurer(None, RunSettings(), INFO), opset=17)


def test_a_fusion_that_the_model_gives_is_timed_without_a_user_and_others_with_one(cost, asked):
    given, used = activation(X), op.MatMul(activation(X), X)
    cost.cost([given])
    cost.cost([used])
    (whole,) = cost.kernels([given], around=Around.of_model([given]))
    fused = next(unit for unit in cost.units([used]) if unit.computes("Tanh"))
    assert whole.key == fused.key + GIVEN
    assert asked[whole.key] == WHOLE and asked[fused.key] == FUSED


def test_single_operators_and_what_fuses_nothing_cost_the_same_wherever_they_stand(cost):
    outputs = [op.Tanh(X), op.MatMul(X, X)]
    assert cost.kernels(outputs, around=Around.of_model(outputs)) == cost.kernels(outputs)


def test_a_change_of_what_the_model_gives_is_priced_as_such(cost):
    inner, outer = op.Relu(X), op.Sigmoid(op.Relu(X))
    _, layouts = cost.execution([outer])
    here = Neighbourhood((outer,), (), op.rebuild, layouts)
    last = here.local_change((), ((outer, activation(inner)),))
    first = here.local_change((), ((inner, activation(X)),))
    assert last.around.given == {outer, activation(inner)} and first.around is NOTHING
    assert cost.kernels(last.added, last.kept, last.around)[0].is_given
    given = Around(given=frozenset({activation(X)}))
    assert len({cost.likeness((activation(X),), {X}, around) for around in (given, NOTHING)}) == 2
