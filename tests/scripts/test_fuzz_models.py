"""A short and repeatable piece of scripts/fuzz_models.py, and proof that it would notice a wrong model."""

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import fuzz_models
from fuzz_models import _noisy_model, examine
from fuzzing.random_models import random_model
from fuzzing.random_operators import OPERATORS
from taso_opt.errors import MismatchError, TasoError, UnsupportedError
from taso_opt.spec import load_specs

MODELS = 5


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TASOOPT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def save(folder, model):
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("seed", range(1000, 1000 + MODELS))
def test_a_random_model_comes_out_as_it_went_in(seed, tmp_path, process, monkeypatch):
    monkeypatch.setattr(fuzz_models, "BUDGET_S", 0.1)
    found = list(examine(save(tmp_path, random_model(seed)), tmp_path, process))
    assert {finding.result for finding in found} == {"agrees"}, [one for one in found if one.result != "agrees"]
    assert len(found) == len(fuzz_models.MODES)


def test_random_models_are_valid_repeat_with_the_seed_and_have_what_graphs_are_allowed():
    operators, dtypes, dims, defaults = Counter(), set(), set(), 0
    for seed in range(60):
        model = random_model(seed)
        onnx.checker.check_model(model, full_check=True)
        assert model == random_model(seed)
        operators.update(node.op_type for node in model.graph.node)
        dtypes.update(value.type.tensor_type.elem_type for value in model.graph.input)
        dims.update(dim.dim_param for value in model.graph.input for dim in value.type.tensor_type.shape.dim)
        defaults += len({value.name for value in model.graph.input} & {one.name for one in model.graph.initializer})
    assert {"If", "residual", "Conv", "QuantizeLinear", "Constant", "Split", "MatMul", "Gemm"} <= set(operators)
    assert len(operators) > 30
    assert len(dtypes) >= 4 and "N" in dims and defaults > 5


def test_models_with_operators_of_all_kinds_are_valid_and_have_all_that_the_specifications_read():
    operators = set()
    for seed in range(700):
        model = random_model(seed, OPERATORS)
        if seed < 60:
            onnx.checker.check_model(model, full_check=True)
            assert model == random_model(seed, OPERATORS)
        operators |= {node.op_type for node in model.graph.node}
    assert set(load_specs().spellings) - operators == {"Upsample"}  # which went with opset 10


@pytest.mark.parametrize("seed", range(2000, 2000 + MODELS))
def test_a_model_with_operators_of_all_kinds_comes_out_as_it_went_in(seed, tmp_path, process, monkeypatch):
    monkeypatch.setattr(fuzz_models, "BUDGET_S", 0.1)
    found = list(examine(save(tmp_path, random_model(seed, OPERATORS)), tmp_path, process))
    assert {finding.result for finding in found} == {"agrees"}, [one for one in found if one.result != "agrees"]
    assert len(found) == len(fuzz_models.MODES)


def test_an_empty_reshape_that_has_no_spelling_is_kept_and_noise_changes_no_sizes(tmp_path, process, monkeypatch):
    monkeypatch.setattr(fuzz_models, "BUDGET_S", 0.1)
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> g (float[0] x, float[1,1,4,4] i) => (float[2,0] y, float[1,1,8,8] z)
        <float[4] scales = {1.0, 1.0, 2.0, 2.0}, int64[2] s = {2, -1}, float k = {0.3}>
        { r = Relu(x)  y = Reshape(r, s)  j = Mul(i, k)  z = Resize <mode = "nearest"> (j, , scales) }"""
    )
    path = save(tmp_path, model)
    noisy = {
        one.name: numpy_helper.to_array(one) for one in onnx.load_from_string(_noisy_model(path)).graph.initializer
    }
    assert list(noisy["scales"]) == [1, 1, 2, 2] and noisy["k"] != np.float32(0.3)
    found = {finding.mode: finding.result for finding in examine(path, tmp_path, process)}
    assert found == dict.fromkeys(fuzz_models.MODES, "agrees")


def test_a_model_that_the_runtime_does_not_run_is_refused_or_left_as_it_is(tmp_path, process):
    strange = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "com.strange" : 1]> g (float[2] x) => (float[2] y)'
        "{ y = com.strange.Op(x) }"
    )
    (found,) = examine(save(tmp_path, strange), tmp_path, process)
    assert (found.mode, found.result) == ("not run", "unchanged")
    newer = parser.parse_model(
        '<ir_version: 99, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    )
    (found,) = examine(save(tmp_path, newer), tmp_path, process)
    assert (found.mode, found.result) == ("not run", "refused")
    assert found.detail.startswith("expected ")


def test_a_wrong_weight_or_a_lost_output_would_be_noticed(tmp_path, process, monkeypatch):
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2, 2] x) => (float[2, 2] y, float[2, 2] z)'
        "<float[2, 2] w = {1, 2, 3, 4}> { y = MatMul(x, w)  z = Relu(x) }"
    )

    def damage(path, output, mode, process, dims):
        damaged = onnx.load(path)
        for tensor in damaged.graph.initializer:
            tensor.CopyFrom(numpy_helper.from_array(np.array([[1, 2], [3, 4.1]], np.float32), tensor.name))
        if mode == "respelled":
            del damaged.graph.output[1]
        output.write_bytes(damaged.SerializeToString())
        return True

    monkeypatch.setattr(fuzz_models, "_rewrite", damage)
    found = {one.mode: one for one in examine(save(tmp_path, model), tmp_path, process)}
    assert {one.result for one in found.values()} == {"wrong"}
    assert found["optimized"].detail.startswith("output 0 is off by")
    assert found["respelled"].detail == "the signature changed"


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (MismatchError("outputs differ"), "wrong"),
        (UnsupportedError("no such thing"), "refused"),
        (TasoError("?"), "crash"),
    ],
)
def test_an_answer_that_is_no_refusal_is_told(error, result, tmp_path, process, monkeypatch):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'

    def refuse(*asked):
        raise error

    monkeypatch.setattr(fuzz_models, "_rewrite", refuse)
    assert {one.result for one in examine(save(tmp_path, parser.parse_model(text)), tmp_path, process)} == {result}
