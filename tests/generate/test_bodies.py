"""ONNX's own functions are read as definitions: what operators mean is proved to be what their bodies compute."""

import pytest

from taso_opt.core.literal import literal
from taso_opt.core.term import Var
from taso_opt.core.types import TensorType
from taso_opt.generate.schemes.bodies import discover_bodies, said_by_onnx
from taso_opt.spec import load_specs
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.evaluation.refute import refute
from taso_opt.verify.scalars import prove_scalars

LIBRARY = load_specs()
EVERY = frozenset(LIBRARY.operators)
CLIPPED = "Where(Less(x, s), s, x)"
BODIES = [
    "HardSwish(x) = Mul(x, HardSigmoid(x; alpha=(1, 6), beta=(1, 2))) where x[*any_x]",
    "HardSigmoid(x; alpha=(1, 6), beta=(1, 2)) = Max(0, Min(1, Add(Mul(1/6, x), 1/2))) where x[*any_x]",
    "LeakyRelu(x, s) = Where(Less(x, 0), Mul(s, x), x) where s[], x[*any_x]",
    "Mish(x) = Mul(x, Tanh(Softplus(x))) where x[*any_x]",
    "PRelu(x, s) = Where(Less(x, 0), Mul(x, s), x) where s[*any_s], x[*any_x]",
    "Relu(x) = Max(x, 0) where x[*any_x]",
    "Softplus(x) = Log(Add(Exp(x), 1)) where x[*any_x]",
    "Softsign(x) = Div(x, Add(1, Abs(x))) where x[*any_x]",
    f"Clamp(x, s, t) = Where(Less(t, {CLIPPED}), t, {CLIPPED}) where s[], t[], x[*any_x]",
]


@pytest.fixture(scope="module")
def bodies():
    return discover_bodies(LIBRARY, EVERY, ())


@pytest.mark.parametrize("text", BODIES)
def test_a_body_is_read_for_all_shapes_and_numbers(bodies, text):
    assert parse_rule(text, LIBRARY.builder()) in bodies


def test_every_body_is_proved_to_be_what_its_operator_means(bodies):
    assert len(bodies) >= len(BODIES) + 2
    for rule in bodies:
        assert prove_scalars(LIBRARY.builder(), rule) is None, format_rule(rule)
        assert isinstance(refute(LIBRARY.builder(), rule), int), format_rule(rule)


def test_what_is_known_and_what_has_other_operators_is_left_out(bodies):
    known = parse_rule("Relu(x) = Max(x, 0) where x[*a]", LIBRARY.builder())
    texts = [format_rule(rule) for rule in discover_bodies(LIBRARY, frozenset({"Relu", "Max", "Softplus"}), ())]
    assert [text.partition(" where")[0] for text in texts] == ["Relu(x) = Max(0, x)"]
    assert discover_bodies(LIBRARY, frozenset({"Relu", "Max"}), (known,)) == ()


def test_an_operator_without_a_function_and_a_body_that_no_specification_covers_give_nothing():
    op, x = LIBRARY.builder(), Var("x", TensorType("float32", (2, 3)))
    assert list(said_by_onnx(LIBRARY, op.Tanh(x))) == []
    assert list(said_by_onnx(LIBRARY, op.LessOrEqual(x, literal(0, "float32")))) == []
