"""What the runtime cannot load or run is said up front or at the end, and nothing is lost."""

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from taso_opt.api import CompareSettings, OptimizeSettings, compare_files, optimize_file
from taso_opt.api.finals import room
from taso_opt.api.finals.room import require_room
from taso_opt.api.session import obstacle, require_running
from taso_opt.errors import MismatchError, RuntimeFailure, UncheckableError, UnsupportedError
from taso_opt.onnx_io import read_model, write_model
from taso_opt.runtime import RunSettings
from taso_opt.spec import load_specs

STACKABLE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1,256] a, float[1,256] b, float[1,256] c, float[1,256] d, int64[1] at) => (float[4,256] y, float[1,256] z)
{ p = MatMul(a, w)  q = MatMul(b, w)  r = MatMul(c, w)  s = MatMul(d, w)
  y = Concat <axis = 0> (p, q, r, s)  z = Gather <axis = 0> (y, at) }"""
BEYOND = STACKABLE.replace("Gather <axis = 0> (y, at)", "Gather <axis = 0> (y, twice)").replace(
    "{ p", "{ twice = Add(at, at)  p"
)
"""What is looked up there is no input, so that nothing tells which rows an input may name."""
QUICK = OptimizeSettings(budget=20.0)


@pytest.fixture
def save(tmp_path):
    def write(text, **weights):
        model = parser.parse_model(text)
        model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString())
        return path

    return write


def weight(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_an_operator_that_the_runtime_lacks_is_refused_up_front_in_one_line(save, process):
    path = save(
        '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>'
        "g (float r, int64 t, float[2] x, float[2] d, float[2] h) => (float[2] y, float[2] n)"
        "{ z = Relu(x)  y, n = ai.onnx.preview.training.Adagrad(r, t, z, d, h) }"
    )
    before = path.read_bytes()
    with pytest.raises(RuntimeFailure, match=r"expected ONNX Runtime to load .*model.onnx, found: .*Adagrad") as caught:
        optimize_file(path, QUICK, process=process)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert not path.with_name("model.opt.onnx").exists()


def test_what_a_gpu_cannot_capture_is_refused_up_front(save, monkeypatch):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[1,256] x) => (float[1,256] y) { y = Relu(x) }'
    model, asked = read_model(save(text), load_specs()), []
    monkeypatch.setattr("taso_opt.api.session.describe", lambda *question: asked.append(question[2:]))
    run = RunSettings("cuda", options=(("enable_cuda_graph", "1"),))
    assert obstacle(model, None, run) == ""
    assert asked == [(run.judge,), (run, "all")], "as it is judged, then as it will be run"


def test_a_model_with_many_weights_is_asked_about_without_them(save, process, monkeypatch):
    head = '<ir_version: 8, opset_import: ["" : 17%s]> g (float[1,256] x) => (float[1,256] y) '
    text = head + "{ h = MatMul(x, w) y = %s(h) }"
    monkeypatch.setattr("taso_opt.api.session.LOADED_WHOLE", 1000)
    good = read_model(save(text % ("", "Relu"), w=weight(256, 256)), load_specs())
    require_running(good, process, RunSettings())
    path = save(text % (', "com.example" : 1', "com.example.Mystery"), w=weight(256, 256))
    with pytest.raises(RuntimeFailure, match=r"expected ONNX Runtime to load .*model.onnx, found: .*Mystery"):
        require_running(read_model(path, load_specs()), process, RunSettings())


def test_a_model_that_fails_on_random_inputs_is_left_as_it_is_and_the_reason_says_what_helps(save, process):
    path = save(BEYOND, w=weight(256, 256))
    record = optimize_file(path, QUICK, process=process)
    assert record.result == "unchanged"
    assert record.reason.startswith("a rewriting cannot be checked on random inputs (--inputs takes your own): ")
    assert path.with_name("model.opt.onnx").read_bytes() == path.read_bytes()


def test_a_model_that_fails_on_the_samples_of_the_user_is_refused(save, process, tmp_path):
    path = save(STACKABLE, w=weight(256, 256))
    samples = tmp_path / "samples.npz"
    np.savez(samples, at=np.array([7]))
    with pytest.raises(UncheckableError, match="expected ONNX Runtime to run"):
        optimize_file(path, OptimizeSettings(budget=20.0, inputs=samples), process=process)
    assert not path.with_name("model.opt.onnx").exists()
    np.savez(samples, at=np.array([3]))
    assert optimize_file(path, OptimizeSettings(budget=20.0, inputs=samples), process=process).result in (
        "improved",
        "unchanged",
    )


def test_models_in_a_row_share_one_process(save, process):
    path = save('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Softmax(x) }')
    optimize_file(path, QUICK, process=process)
    first = process.pid
    optimize_file(path, OptimizeSettings(budget=20.0, force=True), process=process)
    assert first is not None and process.pid == first


def test_numbers_drawn_without_a_seed_are_compared_under_equal_seeds_and_stay_unseeded(save, process):
    path = save(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1,256] a, float[1,256] b, float[1,256] c, float[1,256] d) => (float[4,256] y) {
        p = MatMul(a, w)  q = MatMul(b, w)  r = MatMul(c, w)  s = MatMul(d, w)
        m = Concat <axis = 0> (p, q, r, s)  n = RandomNormalLike(m)  y = Add(m, n) }""",
        w=weight(256, 256),
    )
    record = optimize_file(path, QUICK, process=process)
    assert record.max_rel_error is not None and record.max_rel_error < 1e-4
    written = onnx.load(path.with_name("model.opt.onnx"))
    (random,) = [node for node in written.graph.node if node.op_type == "RandomNormalLike"]
    assert not random.attribute


def test_files_whose_random_operators_stand_elsewhere_are_compared_under_equal_seeds_too(save, tmp_path):
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[4,64] x) => (float[4,64] y)
        {{ {} n = RandomNormalLike(h)  y = Add(h, n) }}"""
    other = save(text.format("k = Neg(x)  m = Neg(k)  h = Relu(m)")).rename(tmp_path / "other.onnx")
    first = save(text.format("h = Relu(x)"))
    assert compare_files(first, other, CompareSettings(rounds=3)).agrees


def test_a_constant_output_is_named_in_the_record(save, process):
    text = STACKABLE.replace(", int64[1] at", "").replace("float[1,256] z", "float[4,256] z")
    low = {"low": np.array(0.5, np.float32), "w": weight(256, 256)}
    path = save(text.replace("Gather <axis = 0> (y, at)", "Clip(y, low, low)"), **low)
    record = optimize_file(path, QUICK, process=process)
    assert record.warnings == ("output 1 does not react to the inputs: its agreement is weak evidence",)


def test_a_candidate_that_does_not_run_drops_out_and_the_record_says_so(save, process, monkeypatch):
    path = save(STACKABLE, w=weight(256, 256))
    samples = path.with_name("samples.npz")
    np.savez(samples, at=np.array([3]))
    written = []

    def broken(model, graph):
        result = write_model(model, graph)
        result.graph.node[-1].op_type = "NoSuchOperator"
        written.append(result)
        return result

    monkeypatch.setattr("taso_opt.api.finals.contest.write_model", broken)
    record = optimize_file(path, OptimizeSettings(budget=20.0, inputs=samples), process=process)
    assert written
    assert record.result == "unchanged"
    assert len(record.warnings) == len(written)
    assert record.warnings[0].startswith("a candidate was dropped: expected ONNX Runtime to load ")


LIBRARY = """<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (float[4,64] x) => (float[4,16] y, float[4,16] z) <float[4,64] h>
{ h = com.example.Mystery(x)  a = MatMul(h, v)  b = MatMul(a, w)  z = Relu(b)  y = com.example.Mystery(b) }"""
"""One weight in place of two is much less to compute, and stands between two operators that nobody has."""

CHAIN = {"v": weight(64, 256), "w": weight(256, 16)}


def test_around_operators_whose_library_is_missing_the_rewritten_parts_are_checked_alone(save, process):
    path = save(LIBRARY, **CHAIN)
    record = optimize_file(path, QUICK, process=process)
    assert record.result == "improved" and record.speedup.ratio > 1
    assert [output.name for output in record.outputs] == ["z", "b"]
    assert record.warnings[0].startswith("the whole model does not run here, so only its parts with known operators")
    written = onnx.load(path.with_name("model.opt.onnx"))
    assert [node.op_type for node in written.graph.node].count("MatMul") == 1
    assert [node.domain for node in written.graph.node].count("com.example") == 2


def test_a_wrong_rewriting_beside_a_missing_library_is_a_mismatch(save, process, monkeypatch):
    path = save(LIBRARY, **CHAIN)

    def wrong(model, plan):
        made = onnx.ModelProto.FromString(path.read_bytes())
        made.graph.initializer[0].CopyFrom(numpy_helper.from_array(2 * CHAIN["v"], "v"))
        return made

    monkeypatch.setattr("taso_opt.api.finals.contest.rewritten", wrong)
    with pytest.raises(MismatchError, match=r"candidate \d does not compute what the model computes"):
        optimize_file(path, QUICK, process=process)
    assert not path.with_name("model.opt.onnx").exists()


def test_what_stands_behind_a_loop_without_an_end_is_checked_alone(save, process, monkeypatch):
    monkeypatch.setattr("taso_opt.search.judging.kinds.TRIAL_LIMIT_S", 1.0)
    monkeypatch.setattr("taso_opt.search.judging.agreement.CHECK_LIMIT_S", 1.0)
    monkeypatch.setattr("taso_opt.search.judging.finals.GRACE_S", 1.0)
    body = "g (int64 i, bool on, float[4,16] s) => (bool go, float[4,16] t) { go = Identity(on)  t = Relu(s) }"
    path = save(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[4,64] x) => (float[4,16] y)'
        f"<int64 n = {{{2**62}}}, bool c = {{1}}> {{ a = MatMul(x, v)  b = MatMul(a, w)"
        f"  y = Loop(n, c, b) <body = {body}> }}",
        **CHAIN,
    )
    record = optimize_file(path, QUICK, process=process)
    assert record.result == "improved"
    assert [output.name for output in record.outputs] == ["b"]
    assert " s, found it still busy" in record.warnings[0]
    written = onnx.load(path.with_name("model.opt.onnx"))
    assert [node.op_type for node in written.graph.node] == ["MatMul", "Loop"]


def test_a_difference_in_a_model_that_quantizes_drops_the_candidate_and_is_no_mismatch(save, process, monkeypatch):
    text = STACKABLE.replace(", int64[1] at", "").replace("float[1,256] z", "uint8[4,256] z, float scale, uint8 zero")
    text = text.replace("z = Gather <axis = 0> (y, at)", "z, scale, zero = DynamicQuantizeLinear(y)")
    path = save(text, w=weight(256, 256))

    def wrong(model, plan):
        made = onnx.ModelProto.FromString(path.read_bytes())
        made.graph.initializer[0].CopyFrom(numpy_helper.from_array(2 * weight(256, 256), "w"))
        return made

    monkeypatch.setattr("taso_opt.api.finals.contest.rewritten", wrong)
    record = optimize_file(path, QUICK, process=process)
    assert record.result == "unchanged"
    assert any("expected a relative error of at most" in warning for warning in record.warnings)


def test_a_model_stays_as_it_is_where_memory_does_not_suffice_to_time_it(stackable, tmp_path, process, monkeypatch):
    path = tmp_path / "model.onnx"
    onnx.save(stackable, path)
    monkeypatch.setattr(room, "free_memory", lambda: 2000)
    record = optimize_file(path, QUICK, process=process)
    assert record.result == "unchanged" and (tmp_path / "model.opt.onnx").read_bytes() == path.read_bytes()
    reason = "a rewriting cannot be checked: expected 1 MB of free memory to time the model beside itself, found 0 MB"
    assert record.reason == reason


@pytest.mark.parametrize(("device", "folded_bytes", "needed"), [("cpu", 0, 400), ("cpu", 300, 800), ("cuda", 300, 0)])
def test_memory_must_suffice_for_the_original_twice_and_a_candidate(monkeypatch, device, folded_bytes, needed):
    job = SimpleNamespace(run=RunSettings(device), source=None)
    monkeypatch.setattr(room, "weight_bytes", lambda model: 100)
    monkeypatch.setattr(room, "free_memory", lambda: needed)
    require_room(job, folded_bytes)
    if needed:
        monkeypatch.setattr(room, "free_memory", lambda: needed - 1)
        with pytest.raises(UnsupportedError, match="of free memory"):
            require_room(job, folded_bytes)
