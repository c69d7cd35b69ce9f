"""The alpha of a LeakyRelu, or of an Elu where it is not 1, is an operand that rules bind; files keep it as it was."""

import numpy as np
import pytest

from taso_opt.core.graph import Graph
from taso_opt.core.literal import literal_value
from taso_opt.core.term import Apply, Var
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.onnx_io import spellable, write_model
from taso_opt.rewrite.patterns.apply import substitute_terms

X = np.array([[-np.inf, -90, -0.5, -0.0], [0.5, 90, np.inf, np.nan]], np.float32)


def model(node, inputs="float[2,4] x"):
    return f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => (float[2,4] y) {{ t = Neg(x)  y = {node} }}'


def test_an_alpha_of_one_is_an_attribute(read):
    (term,) = read(model("Elu(t)")).graph.outputs
    assert isinstance(term, Apply) and (term.operator, term.attribute("alpha")) == ("Elu", (1, 1))


@pytest.mark.parametrize(
    ("node", "operator", "alpha"),
    [("Elu", "ScaledElu", alpha) for alpha in (0.1, 0.5, 2.0, -1.5)]
    + [("LeakyRelu", "LeakyRelu", alpha) for alpha in (0.01, 0.3, -1.5)],
)
def test_another_alpha_is_an_operand_and_written_as_it_was(read, run, node, operator, alpha):
    found = read(model(f"{node}<alpha = {alpha}>(t)"))
    op, (term,) = found.builder, found.graph.outputs
    assert isinstance(term, Apply) and term.operator == operator
    assert float(literal_value(term.args[1])) == alpha
    assert write_model(found, found.graph).SerializeToString() == found.path.read_bytes()
    turned = substitute_terms(op, (term,), {term: getattr(op, operator)(op.Neg(term.args[0]), term.args[1])})
    written = write_model(found, Graph(found.graph.inputs, turned))
    assert written.graph.node[-1].op_type == node
    assert written.graph.node[-1].attribute[0].f == np.float32(alpha)
    below = X if node == "LeakyRelu" else np.expm1(np.minimum(X, 0))
    expected = np.where(X > 0, X, np.float32(alpha) * below)
    np.testing.assert_allclose(run(written, {"x": X})["y"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("node", "operator"), [("Elu", "ScaledElu"), ("LeakyRelu", "LeakyRelu")])
def test_an_alpha_that_nobody_knows_ahead_of_time_cannot_be_written(read, node, operator):
    found = read(model(f"{node}<alpha = 0.5>(t)", "float[2,4] x, float s"))
    apply, (term,) = getattr(found.builder, operator), found.graph.outputs
    _, unknown = found.graph.inputs
    can_say = spellable(found)
    assert can_say(apply(term, term.args[1]))
    assert not can_say(apply(term, unknown))


def test_a_slope_that_differs_from_element_to_element_is_no_leaky_relu(read):
    op = read(model("Neg(t)")).builder
    x = Var("x", TensorType("float32", (2, 4)))
    with pytest.raises(TypeMismatch, match="expected a number for every operand of LeakyRelu but the first"):
        op.LeakyRelu(x, Var("s", TensorType("float32", (4,))))
