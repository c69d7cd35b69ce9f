"""Where a model has the body of one of ONNX's functions, the rules of the library lead back to the operator."""

import math
from fractions import Fraction

import pytest

from fake_cost import FakeCost
from taso_opt.api.session import usable_rules
from taso_opt.core.literal import literal
from taso_opt.core.rule import FpClass
from taso_opt.core.term import Var
from taso_opt.core.types import TensorType
from taso_opt.generate.schemes.bodies import said_by_onnx
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.plan import SearchLimits
from taso_opt.spec.shared.piecewise import fraction, ratio

WIDTH = 8


class Operators(FakeCost):
    """One second for each operator."""

    def known(self, unit):
        return 1.0

    def names(self, outputs):
        return sorted(unit.operator for unit in self.units(outputs))


def value(name, *shape):
    return Var(name, TensorType("float32", shape))


def number(exact):
    return literal(fraction(ratio(float(exact))), "float32")


X, SCALE, BIAS, EPSILON = value("x", 2, 3, WIDTH), value("s", WIDTH), value("b", WIDTH), number(Fraction(1, 100_000))
WHOLE = {
    "RMSNormalization": lambda op: op.RMSNormalization(X, EPSILON, SCALE),
    "Softmax": lambda op: op.Softmax(X, axis=-1),
    "LogSoftmax": lambda op: op.LogSoftmax(X, axis=-1),
    "Gelu": lambda op: op.Gelu(X, number(math.sqrt(1 / 2))),
    "Gelu by tanh": lambda op: op.Gelu(X, number(math.sqrt(2 / math.pi)), number(0.044715)),
    "HardSwish": lambda op: op.HardSwish(X),
    "LeakyRelu": lambda op: op.LeakyRelu(X, number(0.3)),
    "Mish": lambda op: op.Mish(X),
    "PRelu": lambda op: op.PRelu(X, SCALE),
    "Clamp": lambda op: op.Clamp(X, number(-1.5), number(2.5)),
    "Softplus": lambda op: op.Softplus(X),
    "Softsign": lambda op: op.Softsign(X),
    "ReduceL1": lambda op: op.ReduceL1(X, axes=(-1,)),
    "ReduceL2": lambda op: op.ReduceL2(X, axes=(-1,)),
    "ReduceSumSquare": lambda op: op.ReduceSumSquare(X, axes=(-1,)),
    "DepthToSpace": lambda op: op.DepthToSpace(value("x", 1, 8, 4, 4), block=2),
    "SpaceToDepth": lambda op: op.SpaceToDepth(value("x", 1, 2, 4, 4), block=2),
}
NORMALIZED = {
    "LayerNormalization": lambda op: op.LayerNormalization(X, EPSILON, SCALE, BIAS),
    "LayerNormalization without a bias": lambda op: op.LayerNormalization(X, EPSILON, SCALE),
    "GroupNormalization": lambda op: op.GroupNormalization(
        value("x", 2, 6, 4, 4), value("s", 6), value("b", 6), EPSILON, groups=3
    ),
}
PIECES = {"Div", "ReduceMean", "Sqrt", "Sub"}


@pytest.fixture(scope="module")
def rules():
    return usable_rules(None, FpClass.E4)  # a Softplus in pieces overflows earlier


def found(library, rules, term):
    """The operators of ONNX's bodies for a term, and of what the search makes of these."""
    builder = library.builder()
    cost = Operators(builder)
    for body in said_by_onnx(library, term):
        search = BacktrackingSearch(builder, Rewriter(builder, rules), cost, lambda term: True, 1.2, SearchLimits())
        yield cost.names((body,)), cost.names(search.run((body,)).plans[0].outputs)


@pytest.mark.parametrize("name", WHOLE)
def test_a_body_becomes_its_operator(library, rules, name):
    term = WHOLE[name](library.builder())
    results = list(found(library, rules, term))
    assert results
    for before, after in results:
        assert len(before) > 1
        assert after == [term.operator]


@pytest.mark.parametrize("name", NORMALIZED)
def test_a_normalization_of_rows_becomes_one_inside_of_its_reshapes(library, rules, name):
    """Its body has a variance by squares, and works on rows that are all axes in one."""
    ((before, after),) = found(library, rules, NORMALIZED[name](library.builder()))
    assert set(before) >= PIECES
    assert {"InstanceNormalization", "LayerNormalization"} & set(after)
    assert not PIECES & set(after)
