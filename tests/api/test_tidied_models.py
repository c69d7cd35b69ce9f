"""Models with control flow are cleaned up before the search; the file of the user stays the original in every way."""

from types import SimpleNamespace

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import parser

from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.api.preparing.standing_in import _decided, _elsewhere
from taso_opt.errors import RuntimeFailure, UnsupportedError
from taso_opt.onnx_io import ModelInput, Tidied, operator_counts, signature
from taso_opt.runtime import RuntimeProcess
from taso_opt.search.judging.feeds import NOISE

QUICK = OptimizeSettings(budget=2.0, dims={"a": 2, "b": 8})
CHOICES = 40
BRANCH = """r{0} = Shape(h{0})  n{0} = Size(r{0})  c{0} = Equal(n{0}, two)
    h{1} = If (c{0}) <then_branch = p{0} () => (float[a, b] u{0})
                        {{ k{0} = If (c{0}) <then_branch = v{0} () => (float[a, b] w{0}) {{ w{0} = {2}(h{0}) }},
                                             else_branch = x{0} () => (float[a, b] y{0}) {{ y{0} = Sqrt(h{0}) }}>
                          u{0} = Add(k{0}, one) }},
                      else_branch = q{0} () => (float[a, b] t{0}) {{ t{0} = Neg(h{0}) }}>"""
PLAIN = """<ir_version: 8, opset_import: ["" : 17]> g (float[a, b] x) => (float[a, b] y)
    { t = Identity(x)  y = Relu(t) }"""


def choosing():
    """A model of many nested Ifs, which the rank of the input decides and the runtime does not."""
    kinds = ("Tanh", "Abs", "Sigmoid", "Sin")
    steps = "  ".join(BRANCH.format(at, at + 1, kinds[at % len(kinds)]) for at in range(CHOICES))
    text = f"""<ir_version: 8, opset_import: ["" : 17, "unused" : 3]> g (float[a, b] h0) => (float[a, b] h{CHOICES})
        {{ two = Constant <value_int = 2> ()  one = Constant <value_float = 1.0> ()  {steps} }}"""
    proto = parser.parse_model(text)
    proto.doc_string = "chooses"
    proto.metadata_props.add(key="made", value="here")
    return proto


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(choosing().SerializeToString())
    return path


def run(path, feed):
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, feed)


def test_a_model_of_nested_ifs_gains_by_the_clean_up_and_the_record_says_so(model, process):
    record = optimize_file(model, QUICK, process=process)
    before, after = onnx.load(model), onnx.load(record.output)
    assert record.result == "improved"
    (sentence,) = record.passes
    assert sentence == f"clean-up of the bodies of control flow: {9 * CHOICES + 2} operators became {2 * CHOICES + 1}"
    assert record.operators_before == operator_counts(before) and record.operators_after == operator_counts(after)
    assert record.operators_before["If"] == 2 * CHOICES and "If" not in record.operators_after
    assert signature(after) == signature(before)
    for shape in ((2, 8), (1, 1), (5, 3)):
        feed = {"h0": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
        np.testing.assert_allclose(run(model, feed)[0], run(record.output, feed)[0], rtol=1e-5, atol=1e-6)


def test_a_dry_run_names_the_clean_up_and_says_what_is_not_predicted(model, process):
    record = optimize_file(model, OptimizeSettings(budget=1.0, dry_run=True, dims=QUICK.dims), process=process)
    assert record.result == "dry-run" and record.output is None
    assert len(record.passes) == 1 and "If" not in record.operators_after
    assert bool(record.reason) != bool(record.rules)


def test_a_cleaned_model_that_is_not_ahead_leaves_the_file_as_it_was_byte_for_byte(model, process, none_wins):
    record = optimize_file(model, QUICK, process=process)
    assert (record.result, record.passes, record.rules) == ("unchanged", (), ())
    assert model.with_name("model.opt.onnx").read_bytes() == model.read_bytes()
    assert record.operators_after == record.operators_before


def test_a_clean_up_that_random_inputs_cannot_check_is_left_out_with_a_remark(tmp_path, process):
    text = (
        PLAIN.replace("[a, b] x", "[a] x")
        .replace("[a, b] y", "[a] y")
        .replace(
            "t = Identity(x)  y = Relu(t)",
            """far = Constant <value_ints = [99999]> ()  g = Gather <axis = 0> (x, far)  s = Shape(x)  n = Size(s)
           one = Constant <value_int = 1> ()  c = Equal(n, one)
           y = If (c) <then_branch = p () => (float[a] u) { u = Relu(g) },
                       else_branch = q () => (float[a] v) { v = Neg(g) }>""",
        )
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    record = optimize_file(path, OptimizeSettings(budget=1.0), process=process)
    assert record.result == "unchanged" and record.passes == ()
    (remark,) = [warning for warning in record.warnings if warning.startswith("a clean-up of the bodies")]
    assert "(--dim gives other sizes, --inputs your own inputs): expected ONNX Runtime to run" in remark


@pytest.mark.parametrize("error", [RuntimeFailure("a crash"), UnsupportedError("no library")])
def test_a_clean_up_that_fails_leaves_the_search_to_the_model_as_it_is(model, process, monkeypatch, error):
    def failing(*_):
        raise error

    monkeypatch.setattr("taso_opt.api.preparing.tidying.tidy", failing)
    record = optimize_file(model, QUICK, process=process)
    assert record.passes == () and record.result == "unchanged"


def wrong(proto):
    """The model with another operator in one body."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    result.graph.node[5].attribute[0].g.node[1].op_type = "Sub"
    return result


def test_a_cleaned_model_that_computes_something_else_is_not_used(model, process, monkeypatch):
    monkeypatch.setattr("taso_opt.api.preparing.tidying.tidy", lambda *_: Tidied(wrong(choosing()), False))
    record = optimize_file(model, QUICK, process=process)
    assert record.passes == () and record.result == "unchanged"


@pytest.mark.parametrize("rate", [16000, 2**63 - 1])
def test_a_branch_that_random_inputs_never_take_is_compared_too(tmp_path, process, monkeypatch, rate):
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[a] x, int64 rate) => (float[a] y)
        { k = Constant <value_int = RATE> ()  c = Equal(rate, k)
          y = If (c) <then_branch = p () => (float[a] u) { i = Identity(x)  u = %s(i) },
                      else_branch = q () => (float[a] v) { j = Identity(x)  v = Neg(j) }> }""".replace(
        "RATE", str(rate)
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(parser.parse_model(text % "Relu").SerializeToString())
    found = Tidied(parser.parse_model(text % "Tanh"), False)
    monkeypatch.setattr("taso_opt.api.preparing.tidying.tidy", lambda *_: found)
    assert optimize_file(path, OptimizeSettings(budget=1.0, dry_run=True), process=process).passes == ()


def test_a_number_that_the_type_of_an_input_lacks_is_not_tried():
    """The constant that is compared has a name that another body gives to one of another type."""
    proto = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> g (int32 k, bool c) => (bool y) {
        y = If (c) <then_branch = p () => (bool u) { n = Constant <value = int32 {3}> ()  u = Less(k, n) },
            else_branch = q () => (bool v) { n = Constant <value_int = 2147483648> ()  i = Cast <to = 7> (k)
                                             v = Less(i, n) }> }"""
    )
    feed = {"k": np.array(5, np.int32), "c": np.array(True)}
    tried = list(_decided(SimpleNamespace(source=SimpleNamespace(proto=proto)), feed))
    assert [(int(one["k"]), bool(one["c"])) for one in tried] == [(5, False), (5, True)]


def test_a_model_without_control_flow_and_another_objective_never_meet_the_pass(model, tmp_path, process, monkeypatch):
    def met(*_):
        raise AssertionError("the clean-up was asked for")

    monkeypatch.setattr("taso_opt.api.preparing.tidying.tidy", met)
    path = tmp_path / "plain.onnx"
    path.write_bytes(parser.parse_model(PLAIN).SerializeToString())
    record = optimize_file(path, OptimizeSettings(budget=1.0), process=process)
    assert record.passes == () and path.with_name("plain.opt.onnx").read_bytes() == path.read_bytes()
    dry = OptimizeSettings(budget=1.0, objective="flops", dry_run=True, dims=QUICK.dims)
    assert optimize_file(model, dry, process=process).passes == ()


@pytest.mark.parametrize("fault", ["import os; os.abort()", "raise ImportError('not there')"])
def test_a_library_that_crashes_or_is_missing_is_as_if_there_were_no_clean_up(model, tmp_path, monkeypatch, fault):
    package = tmp_path / "broken" / "onnxscript"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(fault)
    monkeypatch.syspath_prepend(str(package.parent))
    with RuntimeProcess() as process:
        record = optimize_file(model, OptimizeSettings(budget=1.0, dry_run=True, dims=QUICK.dims), process=process)
    assert record.passes == () and record.operators_before["If"] == 2 * CHOICES


@pytest.mark.parametrize(("shape", "sizes"), [(("n", 3), [5, 5, 1]), ((4, 3), [])])
def test_inputs_at_other_sizes_are_tried_where_any_are_open(shape, sizes):
    entry = ModelInput("x", "float32", shape, (4, 3))
    job = SimpleNamespace(source=SimpleNamespace(inputs=(entry,)), settings=OptimizeSettings(), kind=NOISE)
    assert [feed["x"].shape for feed in _elsewhere(job)] == [(size, 3) for size in sizes]
