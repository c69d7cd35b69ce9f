"""Calls of local functions are replaced by what these do, by ONNX's definition of a call."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

from taso_opt.onnx_io import keeps_signature
from taso_opt.onnx_io.bodies import local_functions as module
from taso_opt.onnx_io.bodies.local_functions import without_calls

HEAD = """<ir_version: 9, opset_import: ["" : 17, "my" : 1]>
g (float[8, 16] x, bool c) => (float[8, 16] y, float[8, 16] z)"""
LEAKY = """<domain: "my", opset_import: ["" : 17]>
leaky <alpha: float = 0.1> (a) => (r, s) { h = LeakyRelu<alpha: float = @alpha>(a)  r = Neg(h)  s = Identity(h) }"""
TWICE = """<domain: "my", opset_import: ["" : 17, "my" : 1]> twice (a) => (r) { h, s = my.leaky(a)  r = Add(h, s) }"""
ABS = '<domain: "", opset_import: ["" : 17]> Abs (a) => (r) { r = Exp(a) }'
MODEL = f"""{HEAD} {{
    h, unused = my.leaky<alpha = 0.5>(x)  k = my.twice(h)
    y = If (c) <then_branch = t () => (float[8, 16] o) {{ o, p = my.leaky(k) }},
                else_branch = e () => (float[8, 16] q) {{ h2, h3 = my.leaky(x)  q = Sub(h3, h) }}>
    z = my.twice(y)
}} {LEAKY} {TWICE}"""


def outputs(proto, c):
    feeds = {"x": np.random.default_rng(0).standard_normal((8, 16)).astype(np.float32), "c": np.array(c)}
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def operators(proto):
    return [node.op_type for node in proto.graph.node]


def test_calls_with_attributes_defaults_several_results_and_in_bodies_are_replaced():
    proto = parser.parse_model(MODEL)
    found = without_calls(proto)
    onnx.checker.check_model(found, full_check=True)
    assert not found.functions and keeps_signature(proto, found)
    assert "my" not in {node.domain for graph in (found.graph, *branches(found)) for node in graph.node}
    for c in (True, False):
        for before, after in zip(outputs(proto, c), outputs(found, c), strict=True):
            np.testing.assert_array_equal(before, after)


def branches(proto):
    (choice,) = (node for node in proto.graph.node if node.op_type == "If")
    return [attribute.g for attribute in choice.attribute]


def test_what_was_there_stays_as_it_was():
    proto = parser.parse_model(MODEL.replace("{", "<float[2] w = {1.0, 2.0}> {", 1))
    proto.graph.doc_string, proto.producer_name = "of two functions", "a test"
    before = proto.SerializeToString(deterministic=True)
    found = without_calls(proto)
    assert proto.SerializeToString(deterministic=True) == before
    assert found.graph.initializer == proto.graph.initializer
    del proto.graph.node[:], found.graph.node[:], proto.functions[:]
    assert found == proto


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param(f"{HEAD} {{ y = Neg(x)  z = Abs(x) }} {LEAKY}", None, id="no call"),
        pytest.param(
            MODEL.replace('opset_import: ["" : 17]', 'opset_import: ["" : 16]'), "leaky", id="another version"
        ),
        pytest.param(f"{HEAD} {{ y = Abs(x)  z = Neg(x) }} {ABS}", None, id="an operator of ONNX"),
    ],
)
def test_what_cannot_be_replaced_by_definition_stays(text, left):
    found = without_calls(parser.parse_model(text))
    called = None if found is None else {node.op_type for node in found.graph.node if node.domain == "my"}
    assert called == (None if left is None else {left})


def test_functions_that_are_still_called_stay_with_those_that_they_call():
    """The one that cannot be replaced calls one that could."""
    stubborn = '<domain: "my", opset_import: ["" : 16, "my" : 1]> stubborn (a) => (r) { r, s = my.leaky(a) }'
    proto = parser.parse_model(f"{HEAD} {{ y = my.stubborn(x)  z = my.twice(x) }} {LEAKY} {TWICE} {stubborn}")
    found = without_calls(proto)
    assert [function.name for function in found.functions] == ["leaky", "stubborn"]
    assert operators(found) == ["stubborn", "LeakyRelu", "Neg", "Identity", "Add"]
    assert keeps_signature(proto, found)


def test_what_would_become_too_large_stays(monkeypatch):
    proto = parser.parse_model(MODEL)
    monkeypatch.setattr(module, "MOST_NODES", 18)
    assert without_calls(proto) is None
    monkeypatch.setattr(module, "MOST_NODES", 19)
    assert without_calls(proto) is not None
