"""Bodies of random models, rewritten by random steps of proved rules whether they pay or not, and put back."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from fuzzing.random_models import random_model
from taso_opt.api.session import usable_rules
from taso_opt.core.graph import Graph
from taso_opt.core.rule import FpClass
from taso_opt.onnx_io import inner_models, read_model, spellable, with_inner_models, write_model
from taso_opt.rewrite.steps import Rewriter
from taso_opt.runtime import InputSpec, random_inputs
from taso_opt.search.wander import wander
from taso_opt.spec import load_specs

SEEDS = (6, 7, 8, 13, 15, 17, 20, 21, 23, 25, 26, 29)
"""Of models that may be branches, of which no output is an input, and in which some step can be taken."""

STEPS = 6


@pytest.fixture(scope="module")
def rules():
    return usable_rules(None, FpClass.E3)


def chosen(model, seed):
    """The whole model in both branches of an If, half of its weights outside of them."""
    graph, half = model.graph, np.random.default_rng(seed).random(len(model.graph.initializer)) < 0.5
    defaults = {value.name for value in graph.input}
    outside = [one for one, is_out in zip(graph.initializer, half, strict=True) if is_out or one.name in defaults]
    names = {tensor.name for tensor in outside}
    branches = {
        kind: helper.make_graph(
            graph.node, kind, [], graph.output, [tensor for tensor in graph.initializer if tensor.name not in names]
        )
        for kind in ("then_branch", "else_branch")
    }
    outputs = []
    for value in graph.output:
        outputs.append(onnx.ValueInfoProto())
        outputs[-1].CopyFrom(value)
        outputs[-1].name = f"outer_{value.name}"
    node = helper.make_node("If", ["choice"], [value.name for value in outputs], **branches)
    choice = helper.make_tensor_value_info("choice", TensorProto.BOOL, [])
    whole = helper.make_graph([node], "chosen", [*graph.input, choice], outputs, outside)
    opsets = model.opset_import
    return helper.make_model(whole, opset_imports=opsets, ir_version=model.ir_version, functions=model.functions)


def rewritten(inner, rules, folder, seed):
    """The model of a body after some random steps, None where none is to be taken."""
    path = folder / f"body{inner.number}.onnx"
    path.write_bytes(inner.part.proto.SerializeToString())
    model = read_model(path, load_specs(), inner.part.dims)
    rewriter = Rewriter.of_model(model, rules)
    walk = wander(model.builder, rewriter, model.graph.outputs, spellable(model), seed=seed, steps=STEPS)
    if walk.outputs == model.graph.outputs:
        return None
    return write_model(model, Graph(model.graph.inputs, walk.outputs))


def run(proto, feed):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feed)


@pytest.mark.parametrize("seed", SEEDS)
def test_rewritten_bodies_compute_the_same_in_their_places(seed, rules, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(chosen(random_model(seed), seed).SerializeToString())
    model = read_model(path, load_specs(), {})
    found = [(inner, rewritten(inner, rules, tmp_path, seed + inner.number)) for inner in inner_models(model)]
    changed = [(inner, proto) for inner, proto in found if proto is not None]
    assert changed
    result = with_inner_models(model.proto, changed)
    onnx.checker.check_model(result)
    drawn = random_inputs([InputSpec(entry.name, entry.dtype, entry.bound) for entry in model.inputs], seed)
    for choice in (True, False):
        feed = {**drawn, "choice": np.array(choice)}
        for before, after in zip(run(model.proto, feed), run(result, feed), strict=True):
            assert before.dtype == after.dtype
            loose = 1e-2 if before.dtype == np.float16 else 1e-4
            np.testing.assert_allclose(before.astype(float), after.astype(float), rtol=loose, atol=loose)
