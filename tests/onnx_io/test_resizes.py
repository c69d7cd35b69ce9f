"""Enlarging by whole numbers is read where every pixel is repeated, whatever words say so, and nowhere else."""

from itertools import product

import numpy as np
import pytest

from resizes import resize, written_alone
from taso_opt.core.term import Apply
from taso_opt.onnx_io import write_model

PLACES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn",
          "align_corners")  # fmt: skip
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def scales_of(model):
    (output,) = model.graph.outputs
    if output in model.graph.inputs:
        return 1, 1
    assert isinstance(output, Apply)
    return output.attribute("scales") if output.operator == "Resize" else None


def random(shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("nearest", NEAREST)
def test_what_is_read_repeats_pixels_in_the_runtime_at_every_scale_and_size(read, run, places, nearest):
    seen = set()
    for down, across, rows in product((1, 2, 3, 5), (1, 2, 7), (1, 4)):
        proto = resize(
            shape=(2, 1, rows, 6),
            scales=[1, 1, down, across],
            coordinate_transformation_mode=places,
            nearest_mode=nearest,
        )
        found = scales_of(read(proto))
        x = random((2, 1, rows, 6))
        theirs = run(proto, {"x": x})["y"]
        same = np.array_equal(theirs, x.repeat(down, axis=2).repeat(across, axis=3))
        assert found in ((down, across), None)
        assert same or found is None
        seen.add((found is not None, same))
    # what is exact at every scale is read
    assert ((True, True) in seen) == ({same for _, same in seen} == {True})


@pytest.mark.parametrize(
    ("proto", "scales"),
    [
        (resize(7, op_type="Upsample", scales=[1, 1, 2, 3], given=False), (2, 3)),
        (resize(9, op_type="Upsample", scales=[1, 1, 2, 3]), (2, 3)),
        (resize(10, scales=[1, 1, 2, 3]), (2, 3)),
        (resize(11, scales=[1, 1, 2, 3]), (2, 3)),
        (resize(13, sizes=[2, 3, 8, 15]), (2, 3)),
        (resize(18, scales=[2, 3], axes=[2, 3]), (2, 3)),
        (resize(18, sizes=[15, 8], axes=[-1, 2]), (2, 3)),
        (resize(13, shape=(4, 5), scales=[2, 3]), (2, 3)),
    ],
)
def test_every_opset_s_words_are_read_and_written_back_as_they_were(read, run, proto, scales):
    model = read(proto)
    assert scales_of(model) == scales
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()
    x = random([dim.dim_value for dim in proto.graph.input[0].type.tensor_type.shape.dim])
    expected = x.repeat(scales[0], axis=-2).repeat(scales[1], axis=-1)
    np.testing.assert_array_equal(run(proto, {"x": x})["y"], expected)


@pytest.mark.parametrize(
    "words", [{}, {"mode": "linear"}, {"mode": "cubic", "coordinate_transformation_mode": "half_pixel"}]
)
def test_what_keeps_its_size_is_its_operand(read, run, words):
    proto = resize(13, shape=(4, 5), sizes=[4, 5], **words)
    model = read(proto)
    assert model.graph.outputs == model.graph.inputs
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()
    x = random((4, 5))
    np.testing.assert_array_equal(run(proto, {"x": x})["y"], x)


@pytest.mark.parametrize("opset", [7, 9, 10, 11, 13, 19])
def test_what_is_written_repeats_pixels_at_every_opset(read, run, opset):
    model = read(resize(13, scales=[1, 1, 2, 3]))
    proto = written_alone(model, opset)
    x = random((2, 3, 4, 5))
    (found,) = run(proto, {proto.graph.input[0].name: x}).values()
    np.testing.assert_array_equal(found, x.repeat(2, axis=2).repeat(3, axis=3))


@pytest.mark.parametrize(
    "proto",
    [
        resize(scales=[1, 1, 2, 2], mode="linear", antialias=1),
        resize(scales=[1, 1, 1.5, 2]),
        resize(scales=[1, 1, 0.5, 0.5]),
        resize(scales=[1, 2, 2, 2]),
        resize(sizes=[2, 3, 6, 10]),
        resize(sizes=[8, 10], axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
        resize(shape=("N", 3, "H", 5), sizes=[2, 3, 8, 10]),
        resize(scales=[2], axes=[1]),
    ],
)
def test_other_resizing_stays_opaque(read, proto):
    assert scales_of(read(proto)) is None


def test_rows_and_columns_of_any_number_are_enlarged(read):
    model = read(resize(shape=("N", 3, "H", "W"), scales=[1, 1, 2, 3]))
    (output,) = model.graph.outputs
    assert scales_of(model) == (2, 3)
    assert [str(dim) for dim in model.builder.type(output).shape] == ["N", "3", "2*H", "3*W"]
