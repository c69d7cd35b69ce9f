"""Rules that ask for a number: given by a constant of a model, or computed from such constants alone."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from taso_opt.core.rule import RuleSet
from taso_opt.onnx_io import read_model
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule

LIBRARY = load_specs()
SIXTH = "Mul(1/6, Relu(x)) = Abs(x) where x[*any_x]"
"""No truth, but a rule that asks for a number."""


def targets(folder, value, spell):
    """What the rule makes of a product of x with what is spelled with a constant of that value."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Mul", ["r", "c"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(np.asarray(value, np.float32), "c")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "model.onnx")
    model = read_model(folder / "model.onnx", LIBRARY, {})
    (product,) = model.graph.outputs
    rewriter = Rewriter.of_model(model, RuleSet((parse_rule(SIXTH, LIBRARY.builder()),)))
    (constant,) = filter(rewriter.is_constant, product.args)
    (rectified,) = (part for part in product.args if part is not constant)
    spelled = model.builder.apply("Mul", (rectified, spell(model.builder, constant, rectified)), {})
    return [step.image.operator for step in rewriter.rewrites(spelled)]


@pytest.mark.parametrize(
    ("value", "spell", "fits"),
    [
        (1 / 6, lambda op, c, r: c, True),
        (0.2, lambda op, c, r: c, False),
        (6, lambda op, c, r: op.apply("Reciprocal", (c,), {}), True),
        (5, lambda op, c, r: op.apply("Reciprocal", (c,), {}), False),
        ([6], lambda op, c, r: op.apply("Reciprocal", (c,), {}), True),
        ([6, 6, 6], lambda op, c, r: op.apply("Reciprocal", (c,), {}), False),
        (6, lambda op, c, r: op.apply("Reciprocal", (op.apply("Mul", (r, c), {}),), {}), False),
        (-1 / 6, lambda op, c, r: op.apply("Neg", (c,), {}), True),
    ],
)
def test_what_is_computed_from_numbers_alone_is_one(tmp_path, value, spell, fits):
    assert targets(tmp_path, value, spell) == (["Abs"] if fits else [])
