"""The order in which kernels are taken to be executed is that in which the runtime executes them."""

import json

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper, parser

from taso_opt.core.term import Item
from taso_opt.cost.kernels.execution import execution_order
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.onnx_io import in_written_order, read_model
from taso_opt.spec import load_specs

SIZE = 8
BODIES = {
    "the last output first": "(float[1,8] x) => (float[1,8] y, float[1,8] z)"
    "{ a = MatMul(x, v) b = MatMul(x, w) y = MatMul(a, v) z = MatMul(b, w) }",
    "of two operands the one that was made last": "(float[1,8] x) => (float[1,8] z)"
    "{ a = MatMul(x, v) b = MatMul(x, w) c = Tanh(a) d = Tanh(b) e = MatMul(c, v) f = MatMul(d, w) z = Mul(e, f) }",
    "a sum made after all nodes of the file": "(float[1,8] x, float[1,8] u) => (float[1,8] z)"
    "{ a = MatMul(x, v) b = Add(a, u) c = Exp(u) d = Mul(c, x) z = Sub(b, d) }",
    "functions of sums made last, from the other end": "(float[1,8] x, float[1,8] u) => (float[1,8] z)"
    "{ k = Exp(u) a = MatMul(x, v) b = MatMul(k, w) c = Add(a, b) d = Sigmoid(c)"
    "  e = MatMul(x, w) f = MatMul(k, v) g = Add(e, f) h = Tanh(g) z = Mul(d, h) }",
    "factors before and behind products": "(float[1,8] x, float[1,8] u) => (float[1,8] z)"
    "{ a = Div(x, half) b = MatMul(a, v) c = Mul(b, half) d = Tanh(c) e = MatMul(u, w) f = Mul(half, e) g = Tanh(f)"
    "  k = Mul(u, half) l = MatMul(k, v) n = Sub(l, d) z = Sub(n, g) }",
    "two outputs of one node": "(float[1,8] x) => (float[1,4] y, float[1,4] z)"
    "{ a = MatMul(x, v) b, c = Split<axis = -1>(a, parts) d = Tanh(b) e = Exp(d) y = Mul(e, c) z = Neg(c) }",
}
CELLS = "".join(
    f"i{t} = MatMul(x{t}, v) r{t} = MatMul(h{t}, w) s{t} = Add(i{t}, r{t}) g{t} = Sigmoid(s{t})"
    f"j{t} = MatMul(x{t}, w) q{t} = MatMul(h{t}, v) o{t} = Add(j{t}, q{t}) c{t} = Tanh(o{t}) h{t + 1} = Mul(g{t}, c{t})"
    for t in range(4)
)
BODIES["a cell over time"] = (
    f"({', '.join(f'float[1,8] x{t}' for t in range(4))}, float[1,8] h) => (float[1,8] h4) {{ h0 = Neg(h) {CELLS} }}"
)


@pytest.fixture(params=BODIES.values(), ids=BODIES)
def model_path(request, tmp_path):
    proto = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {request.param}')
    generator = np.random.default_rng(0)
    for name in "vw":
        weights = generator.standard_normal((SIZE, SIZE)).astype(np.float32)
        proto.graph.initializer.append(numpy_helper.from_array(weights, name))
    proto.graph.initializer.append(numpy_helper.from_array(np.array([4, 4]), "parts"))
    proto.graph.initializer.append(numpy_helper.from_array(np.array(0.5, np.float32), "half"))
    for node in proto.graph.node:
        node.name = node.output[0]
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def executed(path):
    """The first outputs of the nodes that the runtime makes of a file, as it executes them."""
    options = ort.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(path.with_name("profile"))
    options.optimized_model_filepath = str(path.with_name("optimized.onnx"))
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    session.run(None, {value.name: np.ones(value.shape, np.float32) for value in session.get_inputs()})
    with open(session.end_profiling()) as file:
        events = [event["name"] for event in json.load(file) if event.get("cat") == "Node"]
    nodes = {node.name: node.output[0] for node in onnx.load(path.with_name("optimized.onnx")).graph.node}
    return [nodes[name.removesuffix("_kernel_time")] for name in events if name.endswith("_kernel_time")]


def test_kernels_are_executed_in_the_order_that_is_predicted(model_path):
    model = read_model(model_path, load_specs())
    outputs = model.graph.outputs
    fusions = [unit.members for unit in UnitFinder(model.builder).units(outputs) if unit.computes("MatMul")]
    places = execution_order(in_written_order(model, outputs), fusions)
    names = {}
    for term, origin in model.origin.items():
        whole = term.term if isinstance(term, Item) else term
        if origin.node is not None and whole in places:
            names[places[whole]] = max(origin.node, names.get(places[whole], -1))
    predicted = [model.proto.graph.node[names[place]].output[0] for place in sorted(names)]
    assert predicted == executed(model_path)
