"""Loops of a known number of turns, written out turn by turn."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import parser

from taso_opt.onnx_io import loop_models, read_model, with_loop_models
from taso_opt.spec import load_specs

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
SCAN = (
    HEAD
    + """g (float[5, 2] x, float[5, 2] z, float[2] h, float[2] b) => (float[2] last, float[5, 2] all, float[5, 2] more)
{ last, all, more = Scan <num_scan_inputs = 2 EXTRA, body = c (float[2] a, float[2] p, float[2] q)
    => (float[2] s, float[2] out, float[2] twice) <float[2] w = {2, 3}>
    { n = Mul(a, w)  m = Add(n, p)  s = Sub(m, b)  out = Add(s, q)  twice = Add(out, out) }> (h, x, z) }"""
)
LOOP = (
    HEAD
    + """g (float[2] h, float[4, 2] x, int64 given) => (float[2] last, float[R, 2] all)
<int64 times = {4}, bool yes = {1}, bool no = {0}, float[2] far = {9, 9}>
{ TIMES last, all = Loop <body = c (int64 at, bool on, float[2] a) => (bool next, float[2] s, float[2] out)
    { BODY }> (times, ASKS, h) }"""
)
BODY = """next = Identity(on)  r = Gather <axis = 0> (x, at)  big = Greater(a, far)  f = Cast <to = 9> (at)
    k = If (f) <then_branch = t () => (float[2] u) { u = Neg(a) }, else_branch = e () => (float[2] v) { v = Add(a, a) }>
    s = Add(k, r)  out = Mul(s, r)"""


def read(text, folder):
    path = folder / "model.onnx"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    return read_model(path, load_specs(), {})


def loop(body=BODY, asks="yes", **changes):
    text = LOOP.replace("TIMES", "").replace("BODY", body).replace("ASKS", asks)
    for before, after in changes.items():
        text = text.replace(f"({before},", f"({after},")
    return text


def written_out(model):
    """The model with its only loop written out."""
    (found,) = loop_models(model)
    result = with_loop_models(model.proto, [(found, found.unrolled)])
    onnx.checker.check_model(result)
    return found, result


def run(proto, feed):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {value.name: feed[value.name] for value in session.get_inputs()})


def drawn(**shapes):
    generator = np.random.default_rng(0)
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def same(model, result, feed):
    for before, after in zip(run(model.proto, feed), run(result, feed), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_scan_becomes_its_turns_with_weights_shared_and_results_in_rows(tmp_path):
    model = read(SCAN.replace("EXTRA", ""), tmp_path)
    found, result = written_out(model)
    assert found.turns == 5 and not any(node.op_type == "Scan" for node in result.graph.node)
    assert [tensor.name for tensor in result.graph.initializer].count("w") == 1
    same(model, result, drawn(x=(5, 2), z=(5, 2), h=2, b=2))


def test_a_value_that_is_scanned_twice_is_taken_apart_twice(tmp_path):
    stated = ", scan_input_directions = [0, 0], scan_output_axes = [0, 0]"
    model = read(SCAN.replace("EXTRA", stated).replace("(h, x, z)", "(h, x, x)"), tmp_path)
    _, result = written_out(model)
    same(model, result, drawn(x=(5, 2), z=(5, 2), h=2, b=2))


def test_results_that_nobody_asks_for_are_left_out(tmp_path):
    """ONNX Runtime does not load a Scan with such outputs."""
    whole = parser.parse_model(SCAN.replace("EXTRA", ""))
    proto = parser.parse_model(SCAN.replace("EXTRA", ""))
    proto.graph.node[0].output[:] = ["", "all", ""]
    del proto.graph.output[2], proto.graph.output[0]
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    _, result = written_out(read_model(tmp_path / "model.onnx", load_specs(), {}))
    feed = drawn(x=(5, 2), z=(5, 2), h=2, b=2)
    np.testing.assert_array_equal(run(result, feed)[0], run(whole, feed)[1])


@pytest.mark.parametrize("asks", ["yes", ""])
def test_a_loop_of_a_constant_number_of_turns_becomes_these(tmp_path, asks):
    model = read(loop(asks=asks), tmp_path)
    found, result = written_out(model)
    kinds = [node.op_type for node in result.graph.node]
    assert found.turns == 4 and kinds.count("If") == 4 and "Loop" not in kinds
    same(model, result, {**drawn(h=2, x=(4, 2)), "given": np.array(4)})


def test_names_of_turns_give_way_to_those_of_the_model(tmp_path):
    text = loop().replace("{  last", "{ taken = Neg(h)  last")
    proto = parser.parse_model(text)
    proto.graph.node[0].output[0] = "s/turn0"
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    model = read_model(tmp_path / "model.onnx", load_specs(), {})
    _, result = written_out(model)
    outputs = [name for node in result.graph.node for name in node.output]
    assert len(set(outputs)) == len(outputs)
    same(model, result, {**drawn(h=2, x=(4, 2)), "given": np.array(4)})


@pytest.mark.parametrize(
    "text",
    [
        loop(times="given"),  # as often as the caller says
        loop(asks="no"),  # not at all
        loop(BODY.replace("next = Identity(on)", "next = Not(on)")),  # as long as the body wants
        loop(BODY.replace("s = Add(k, r)", "z = RandomNormalLike(r)  s = Add(k, z)")),
        loop().replace("times = {4}", "times = {4000}"),
        loop().replace("int64 times = {4}", "int64[2] times = {4, 4}"),  # the runtime takes it where it never runs
        loop().replace('"" : 17', '"" : 11'),
        SCAN.replace("EXTRA", ", scan_input_directions = [1, 0]"),
        SCAN.replace("EXTRA", "").replace("float[5, 2] x, float[5, 2] z", "float[N, 2] x, float[N, 2] z"),
    ],
)
def test_other_loops_are_left_alone(text, tmp_path):
    assert not list(loop_models(read(text, tmp_path)))


def test_a_condition_that_a_body_always_meets_is_none(tmp_path):
    body = BODY.replace("next = Identity(on)", "one = Constant <value_int = 1> ()  next = Cast <to = 9> (one)")
    assert not list(loop_models(read(loop(body), tmp_path))), "what is computed is not looked at"
    (found,) = loop_models(
        read(
            loop(BODY.replace("Identity(on)", "Identity(yes2)")).replace("{ next", "<bool yes2 = {1}> { next"), tmp_path
        )
    )
    assert found.turns == 4
