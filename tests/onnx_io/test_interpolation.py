"""Interpolation by whole numbers is read in every spelling of one method, and computed as the runtime does."""

from dataclasses import replace

import numpy as np
import pytest

from resizes import resize, written_alone
from taso_opt.api.session import usable_rules
from taso_opt.core.rule import FpClass
from taso_opt.core.term import Apply
from taso_opt.onnx_io import spellable, write_model
from taso_opt.rewrite.steps import Rewriter
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.spec.shared.resampling import METHODS, shares

PLACES = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric")


def interpolation(mode, places, scales=(1, 1, 2, 3), shape=(1, 2, 4, 5), opset=19, **attributes):
    """A model of one Resize node."""
    scales = None if "sizes" in attributes else scales
    return resize(opset, shape=shape, scales=scales, mode=mode, coordinate_transformation_mode=places, **attributes)


def random(shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def method_of(model):
    (output,) = model.graph.outputs
    assert isinstance(output, Apply)
    return METHODS[output.attribute("method")] if output.operator == "Interpolate" else None


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_what_is_read_computes_what_the_runtime_does(read, run, mode, places, rows):
    for scales in ((1, 1, 2, 3), (1, 1, 4, 1), (1, 1, 1, 8)):
        proto = interpolation(mode, places, scales, (2, 3, rows, 4))
        model = read(proto)
        if (mode, places) == ("cubic", "asymmetric"):
            assert method_of(model) is None
            continue
        assert method_of(model)[0] == mode
        x = random((2, 3, rows, 4))
        (mine,) = evaluate_arrays(
            model.builder, FloatArrays(), model.graph.outputs, {model.graph.inputs[0]: x[np.newaxis]}
        )
        np.testing.assert_allclose(mine[0], run(proto, {"x": x})["y"], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("opset", [11, 13, 18, 19])
@pytest.mark.parametrize("method", range(len(METHODS)))
def test_every_method_is_written_as_it_was_read(read, run, method, opset):
    proto = interpolation(*METHODS[method], opset=opset)
    model = read(proto)
    assert model.graph.outputs[0].attribute("method") == method
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()
    written = written_alone(model, opset)
    x = random((1, 2, 4, 5))
    (found,) = run(written, {written.graph.input[0].name: x}).values()
    np.testing.assert_allclose(found, run(proto, {"x": x})["y"], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "proto",
    [
        interpolation("linear", "half_pixel", (1, 1, 1.5, 2)),
        interpolation("linear", "half_pixel", (1, 2, 2, 2)),
        interpolation("linear", "half_pixel", (1, 1, 0.5, 0.5)),
        interpolation("linear", "half_pixel", sizes=[1, 2, 6, 10]),
        interpolation("linear", "half_pixel", antialias=1),
        interpolation("linear", "half_pixel", (1, 2, 2), (1, 4, 5)),
        interpolation("cubic", "half_pixel", cubic_coeff_a=-0.5),
        interpolation("cubic", "half_pixel", exclude_outside=1),
        interpolation("linear", "tf_crop_and_resize"),
    ],
)
def test_other_interpolation_stays_opaque(read, proto):
    assert method_of(read(proto)) is None


def test_sizes_that_are_whole_multiples_are_scales(read):
    output = read(interpolation("linear", "half_pixel", sizes=[1, 2, 8, 15])).graph.outputs[0]
    assert output.attribute("scales") == (2, 3)


def test_images_of_any_size_are_interpolated(read):
    model = read(interpolation("linear", "half_pixel", shape=("N", 3, "H", "W")))
    (output,) = model.graph.outputs
    assert [str(dim) for dim in model.builder.type(output).shape] == ["N", "3", "2*H", "3*W"]


@pytest.mark.parametrize("method", range(len(METHODS)))
def test_two_products_compute_what_the_runtime_does(read, run, method):
    model, x = read(interpolation(*METHODS[method])), random((1, 2, 4, 5))
    (root,) = model.graph.outputs
    rules = usable_rules(None, FpClass.E3)
    steps = Rewriter.of_model(model, rules).rewrites(root)
    targets = [step.mapping[root] for step in steps]
    (products,) = [one for one in targets if spellable(model)(one) and one.operator == "MatMul"]
    written = write_model(model, replace(model.graph, outputs=(products,)))
    assert [node.op_type for node in written.graph.node] == ["MatMul", "MatMul"]
    assert [tensor.dims for tensor in written.graph.initializer] == [[8, 4], [5, 15]]
    np.testing.assert_allclose(run(written, {"x": x})["y"], run(model.proto, {"x": x})["y"], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("method", range(len(METHODS)))
@pytest.mark.parametrize(("size", "scale"), [(1, 4), (2, 1), (3, 2), (7, 5)])
def test_shares_add_up_to_one(method, size, scale):
    found = shares(method, size, scale)
    assert found.shape == (size * scale, size)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
