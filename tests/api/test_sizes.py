"""A result is compared with the original at every size that the user names, and at others than the assumed ones."""

import numpy as np
import pytest
from onnx import numpy_helper, parser

from taso_opt.api import CompareSettings, OptimizeSettings, compare_files, optimize_file
from taso_opt.api.sizes import (
    LADDER,
    as_it_runs,
    assumption,
    at_sizes_that_run,
    read_with_samples,
    sizes_of,
    with_seen_sizes,
)
from taso_opt.errors import InvalidInputError, MismatchError, UsageError
from taso_opt.runtime import RunSettings
from taso_opt.search.judging.feeds import sample_feeds

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,256] a, float[N,256] b, float[N,256] c, float[N,256] d) => (float[M,256] y)
{ p = MatMul(a, w)  q = MatMul(b, w)  r = MatMul(c, w)  s = MatMul(d, w)  y = Concat <axis = 0> (p, q, r, s) }"""
WRONG_BEYOND_ONE = """
{ p = MatMul(a, w)  q = MatMul(b, w)  r = MatMul(c, w)  s = MatMul(d, w)  e = Concat <axis = 0> (p, q, r, s)
  z = Shape <start = 0, end = 1> (a)  m = Sub(z, one)  t = Cast <to = 1> (m)  y = Add(e, t) }"""


@pytest.fixture
def path(tmp_path):
    weight = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    model = parser.parse_model(TEXT)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    return tmp_path / "model.onnx"


@pytest.fixture
def wrong(monkeypatch):
    """Every candidate computes the same at size 1 and something else at every other."""

    def rewritten(model, plan):
        made = parser.parse_model(TEXT[: TEXT.index("\n{")] + WRONG_BEYOND_ONE)
        made.graph.initializer.append(model.proto.graph.initializer[0])
        made.graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), "one"))
        return made

    monkeypatch.setattr("taso_opt.api.finals.contest.rewritten", rewritten)


def test_a_result_that_is_right_at_the_measured_size_alone_is_a_mismatch(path, process, wrong):
    settings = OptimizeSettings(budget=20.0, dims={"N": (1, 8)})
    with pytest.raises(MismatchError, match="expected a relative error of at most"):
        optimize_file(path, settings, process=process)
    assert not path.with_name("model.opt.onnx").exists()


def test_where_no_size_is_named_another_than_the_assumed_one_is_tried_too(path, process, wrong):
    with pytest.raises(MismatchError, match="expected a relative error of at most"):
        optimize_file(path, OptimizeSettings(budget=20.0), process=process)


def test_the_size_that_is_named_alone_is_compared_alone(path, process, wrong):
    record = optimize_file(path, OptimizeSettings(budget=20.0, dims={"N": 1}), process=process)
    assert record.max_rel_error is None or record.max_rel_error < 1e-4


def test_a_right_result_passes_at_all_sizes(path, process):
    record = optimize_file(path, OptimizeSettings(budget=20.0, dims={"N": (1, 3, 8)}), process=process)
    assert record.result in ("improved", "unchanged")
    assert record.document()["settings"]["dims"] == {"N": [1, 3, 8]}


def test_sizes_go_together_and_the_last_one_stands_for_further_ones():
    settings = OptimizeSettings(dims={"N": (1, 8, 16), "length": (32, 64), "k": 4})
    assert settings.bindings == (
        {"N": 1, "length": 32, "k": 4},
        {"N": 8, "length": 64, "k": 4},
        {"N": 16, "length": 64, "k": 4},
    )
    assert OptimizeSettings().bindings == ({},)


def test_sizes_that_nobody_gave_are_told(path, process):
    told = "the model leaves sizes open and was measured at N = 1 (--dim or --inputs gives others)"
    assert told in optimize_file(path, OptimizeSettings(budget=20.0, dry_run=True), process=process).warnings
    named = OptimizeSettings(budget=20.0, dry_run=True, dims={"N": 4})
    assert not any("sizes open" in warning for warning in optimize_file(path, named, process=process).warnings)


def samples(folder, **rows):
    arrays = {name: np.ones((count, 256), np.float32) for name, count in rows.items()}
    np.savez(folder / "inputs.npz", **arrays)
    return folder / "inputs.npz"


def test_costs_are_those_at_the_sizes_of_the_samples(path, tmp_path):
    model, found = read_with_samples(path, {}, samples(tmp_path, a=5))
    assert {entry.name: entry.bound for entry in model.inputs} == dict.fromkeys("abcd", (5, 256))
    assert [sample["a"].shape for sample in found] == [(5, 256)]
    assert not assumption(model, {}, found)


def test_inputs_that_a_comparison_draws_fit_those_that_are_given(tmp_path):
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[4,K] a, float[K,4] b) => (float[4,4] y) { y = MatMul(a, b) }'
    )
    (tmp_path / "model.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    np.savez(tmp_path / "inputs.npz", a=np.ones((4, 5), np.float32))
    settings = CompareSettings(rounds=2, inputs=tmp_path / "inputs.npz")
    found = compare_files(tmp_path / "model.onnx", tmp_path / "model.onnx", settings)
    assert found.agrees and not any("sizes open" in warning for warning in found.warnings)


def test_sizes_that_are_named_must_be_those_of_the_samples(path, tmp_path):
    model, _ = read_with_samples(path, {"N": 5}, samples(tmp_path, a=5))
    assert {entry.bound for entry in model.inputs} == {(5, 256)}
    with pytest.raises(UsageError, match="expected N = 3 in the samples too, found 5 in input 'a'"):
        read_with_samples(path, {"N": 3}, samples(tmp_path, a=5))


def test_a_sample_without_elements_says_nothing_of_sizes(path, tmp_path):
    model, _ = read_with_samples(path, {}, samples(tmp_path, a=0))
    assert {entry.bound for entry in model.inputs} == {(1, 256)}


def test_a_sample_of_another_shape_is_refused(path, tmp_path):
    np.savez(tmp_path / "inputs.npz", a=np.ones((5, 255), np.float32))
    with pytest.raises(InvalidInputError, match="expected float32"):
        read_with_samples(path, {}, tmp_path / "inputs.npz")


def test_names_of_sizes_are_told_as_the_option_takes_them(tmp_path):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[n,k,M] x) => (float[n,k,M] y) { y = Relu(x) }'
    proto = parser.parse_model(text)
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.dim[1].dim_param = "p2o.1"
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    model, found = read_with_samples(tmp_path / "model.onnx", {}, None)
    assert "at n = 1, p2o.1 = 32, M = 32 (" in assumption(model, {}, found)[0]
    model, found = read_with_samples(tmp_path / "model.onnx", {"p2o.1": 7}, None)
    assert "at n = 1, M = 32 (" in assumption(model, {"p2o.1": 7}, found)[0]


CHOOSY = """<ir_version: 8, opset_import: ["" : 17]>
g (float[B,L] x, float[4,S] s) => (float[4,256] y)
<int64[2] row = {1, 256}, int64[2] column = {4, 1}> { r = Reshape(x, row)  c = Reshape(s, column)  y = Add(r, c) }"""


@pytest.fixture
def choosy(tmp_path):
    """A model that runs where B times L is 256 and S is 1: not at the sizes that are assumed."""
    (tmp_path / "choosy.onnx").write_bytes(parser.parse_model(CHOOSY).SerializeToString())
    return tmp_path / "choosy.onnx"


def test_both_sides_of_an_image_change_together_before_one_alone_does(tmp_path, process, monkeypatch):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[N,3,H,W] x) => (float[N,3,H,W] y) { y = Relu(x) }'
    (tmp_path / "image.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    model, samples = read_with_samples(tmp_path / "image.onnx", {}, None)
    tried = []
    monkeypatch.setattr(
        "taso_opt.api.sizes.find_sizes", lambda process, path, candidates, run: tried.extend(candidates)
    )
    at_sizes_that_run(model, {}, samples, process, RunSettings())
    shapes = [specs[0].shape for specs in tried]
    assert shapes[0] == (1, 3, 224, 224)
    sides = LADDER[1:]
    assert shapes[1 : len(sides) + 1] == [(1, 3, size, size) for size in sides]
    assert (1, 3, 224, 512) in shapes[len(sides) + 1 :]


@pytest.mark.parametrize(
    ("dims", "found"),
    [
        ({}, {"B": 1, "L": 256, "S": 1}),
        ({"B": 8}, {"B": 8, "L": 32, "S": 1}),
        ({"L": 128}, {"B": 1, "L": 128, "S": 32}),
        ({"B": 1, "L": 32, "S": 1}, {"B": 1, "L": 32, "S": 1}),
    ],
)
def test_a_model_that_does_not_run_at_the_assumed_sizes_is_read_at_others(choosy, process, dims, found):
    model, samples = read_with_samples(choosy, dims, None)
    assert sizes_of(at_sizes_that_run(model, dims, samples, process, RunSettings())) == found


def test_a_model_that_runs_at_the_assumed_sizes_is_left_at_these(path, process):
    model, samples = read_with_samples(path, {}, None)
    assert at_sizes_that_run(model, {}, samples, process, RunSettings()) is model


def test_a_size_whose_name_is_in_quotes_is_told_as_it_is_given(tmp_path):
    proto = parser.parse_model(TEXT)
    for value in proto.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "'rows'"
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((256, 256), np.float32), "w"))
    (tmp_path / "quoted.onnx").write_bytes(proto.SerializeToString())
    model, _ = read_with_samples(tmp_path / "quoted.onnx", {"'rows'": 3}, None)
    assert sizes_of(model) == {"'rows'": 3}


def test_sizes_of_samples_stay(choosy, process, tmp_path):
    np.savez(tmp_path / "inputs.npz", x=np.ones((2, 128), np.float32))
    model, samples = read_with_samples(choosy, {}, tmp_path / "inputs.npz")
    found = sizes_of(at_sizes_that_run(model, {}, samples, process, RunSettings()))
    assert found == {"B": 2, "L": 128, "S": 1}


def test_what_runs_at_few_sizes_is_compared_and_optimized(choosy, process):
    assert compare_files(choosy, choosy, CompareSettings(rounds=2)).agrees
    record = optimize_file(choosy, OptimizeSettings(budget=5.0), process=process)
    told = "the model leaves sizes open and was measured at B = 1, L = 256, S = 1 (--dim or --inputs gives others)"
    assert told in record.warnings


DATA = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x, float[N,8] y) => (float[K,8] z)
<float[1] zero = {0}>
{ m = Greater(x, zero)  c = Compress <axis = 0> (y, m)  r = Relu(c)  s = Neg(r)  d = Identity(s)  z = Tanh(d) }"""


def test_sizes_that_hang_on_values_are_seen_where_the_model_runs(tmp_path, process):
    (tmp_path / "data.onnx").write_bytes(parser.parse_model(DATA).SerializeToString())
    model, samples = read_with_samples(tmp_path / "data.onnx", {"N": 50}, None)
    assert model.guessed == ("c",)
    found = as_it_runs(model, {"N": 50}, samples, process, RunSettings())
    (x,) = (feed["x"] for feed in sample_feeds(model.inputs, (), 0, 1))
    (rows,) = set(found.bindings) - {"N"}
    assert found.bindings == {"N": 50, rows: np.count_nonzero(x > 0)} and not found.guessed
    assert found.graph.outputs == model.graph.outputs, "what is true of the model rests on no run"


def test_what_is_still_guessed_after_a_look_is_looked_at(tmp_path, process, monkeypatch):
    monkeypatch.setattr("taso_opt.api.sizes.MOST_SEEN", 1)
    text = DATA.replace("(float[K,8] z)", "(float[K,8] z, float v)").replace(
        "{ m =", "{ e = Neg(y)  n = Less(x, zero)  m ="
    )
    text = text.replace("z = Tanh(d) }", "z = Tanh(d)  a = Compress <axis = 0> (e, n)  w = Relu(a)  v = ReduceMax(w) }")
    (tmp_path / "data.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    model, samples = read_with_samples(tmp_path / "data.onnx", {"N": 50}, None)
    assert model.guessed == ("c", "a")
    found = as_it_runs(model, {"N": 50}, samples, process, RunSettings())
    (x,) = (feed["x"] for feed in sample_feeds(model.inputs, (), 0, 1))
    assert set(found.bindings.values()) == {50, np.count_nonzero(x > 0), np.count_nonzero(x < 0)}
    assert not found.guessed


def test_sizes_are_seen_beside_outputs_that_are_sequences(tmp_path, process):
    text = DATA.replace("(float[K,8] z)", "(float[K,8] z, seq(float[M,8]) u)").replace(
        "z = Tanh(d)", "z = Tanh(d)  u = SplitToSequence <axis = 0> (y, one)"
    )
    text = text.replace("<float[1] zero = {0}>", "<float[1] zero = {0}, int64 one = {1}>")
    (tmp_path / "data.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    model, samples = read_with_samples(tmp_path / "data.onnx", {"N": 50}, None)
    found = as_it_runs(model, {"N": 50}, samples, process, RunSettings())
    (x,) = (feed["x"] for feed in sample_feeds(model.inputs, (), 0, 1))
    assert np.count_nonzero(x > 0) in found.bindings.values() and "c" not in found.guessed


def test_where_nothing_is_guessed_the_model_does_not_run_for_it(path, process, monkeypatch):
    model, samples = read_with_samples(path, {}, None)
    monkeypatch.setattr("taso_opt.api.sizes.run_feeds", None)
    assert with_seen_sizes(model, samples, process, RunSettings()) is model
