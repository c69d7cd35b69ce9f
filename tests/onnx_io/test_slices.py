"""Slices and gathers of neighbours become slices where all bounds are known; they are written as ONNX slices."""

import numpy as np
import pytest
from onnx import numpy_helper, parser

from taso_opt.core.graph import Graph
from taso_opt.core.term import Apply
from taso_opt.onnx_io import write_model
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.spec import OPAQUE

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
OLD = '<ir_version: 8, opset_import: ["" : 9]>'


def sliced(bounds, shape="4,6", result="N,M", head=HEAD):
    """A model of one Slice over x; `bounds` are starts, ends, axes and steps as far as given."""
    names = ("starts", "ends", "axes", "steps")
    given = ", ".join(
        f"int64[{len(values)}] {name} = {{{', '.join(map(str, values))}}}"
        for name, values in zip(names, bounds, strict=False)
    )
    operands = ", ".join(names[: len(bounds)])
    return head + f"g (float[{shape}] x) => (float[{result}] y) <{given}> {{ y = Slice(x, {operands}) }}"


def cuts_of(term):
    """Axis and sizes of a chain of slices, the last first."""
    found = []
    while isinstance(term, Apply) and term.operator == "Slice":
        found.append((term.attribute("axis"), term.attribute("sizes")))
        (term,) = term.args
    return found


@pytest.mark.parametrize(
    ("bounds", "cuts"),
    [
        ((["1"], ["3"], ["0"]), [(-2, (1, 2, 1))]),
        ((["1"], ["3"]), [(-2, (1, 2, 1))]),
        ((["-2"], ["1000"], ["-1"]), [(-1, (4, 2, 0))]),
        ((["-1000"], ["-1"], ["1"]), [(-1, (0, 5, 1))]),
        ((["1", "2"], ["4", "9223372036854775807"], ["1", "0"]), [(-2, (2, 2, 0)), (-1, (1, 3, 2))]),
        ((["0", "0"], ["9223372036854775807", "1"], ["1", "0"], ["1", "1"]), [(-2, (0, 1, 3))]),
        ((["0"], ["6"], ["1"]), []),
    ],
)
def test_a_slice_with_known_bounds_is_one_cut_for_each_axis(read, bounds, cuts):
    model = read(sliced(bounds))
    assert cuts_of(model.graph.outputs[0]) == cuts
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()


@pytest.mark.parametrize(
    ("bounds", "shape"),
    [
        ((["0"], ["2"], ["0"], ["2"]), "2,4,6"),
        ((["5"], ["0"], ["1"], ["-1"]), "4,6"),
        ((["3"], ["2"], ["0"]), "4,6"),
        ((["0"], ["1"], ["0"]), "N,6"),
        ((["-1"], ["9223372036854775807"], ["0"]), "N,6"),
        ((["0", "1"], ["1", "2"], ["0", "0"]), "4,6"),
    ],
    ids=("steps", "backwards", "empty", "symbolic size", "end of a symbolic size", "an axis twice"),
)
def test_other_slices_stay_opaque(read, bounds, shape):
    model = read(sliced(bounds, shape))
    assert model.graph.outputs[0].operator == OPAQUE


@pytest.mark.parametrize(
    ("bounds", "cuts", "strides"),
    [
        ((["0", "0"], ["99", "99"], ["2", "3"], ["2", "3"]), [], (2, 3)),
        ((["0"], ["9223372036854775807"], ["-1"], ["2"]), [], (1, 2)),
        ((["1", "2"], ["99", "-1"], ["-2", "-1"], ["2", "1"]), [(-1, (2, 3, 1)), (-2, (1, 4, 0))], (2, 1)),
    ],
)
def test_steps_along_rows_and_columns_leave_every_so_many_of_what_is_kept(read, bounds, cuts, strides):
    model = read(sliced(bounds, "2,3,5,6", "A,B,C,D"))
    (output,) = model.graph.outputs
    assert (output.operator, output.attribute("strides")) == ("Subsample", strides)
    assert cuts_of(output.args[0]) == cuts
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()


def test_a_slice_beside_a_symbolic_axis_is_read_and_one_that_keeps_that_axis_is_none(read):
    model = read(sliced((["0", "2"], ["9223372036854775807", "3"], ["0", "1"]), "N,6", "N,1"))
    assert cuts_of(model.graph.outputs[0]) == [(-1, (2, 1, 3))]


def test_a_slice_whose_bounds_are_computed_stays_opaque(read):
    model = read(
        HEAD + "g (float[4,6] x, int64[1] a) => (float[N,6] y) <int64[1] e = {4}> { b = Add(a, a)  y = Slice(x, b, e) }"
    )
    assert model.graph.outputs[0].operator == OPAQUE


def test_slices_of_integers_stay_opaque(read):
    model = read(HEAD + "g (int64[4] x) => (int64[1] y) <int64[1] a = {0}, int64[1] b = {1}> { y = Slice(x, a, b) }")
    assert model.graph.outputs[0].operator == OPAQUE


def test_an_old_slice_has_its_bounds_in_attributes(read):
    text = OLD + "g (float[4,6] x) => (float[2,3] y) { y = Slice <starts = [1,-3], ends = [3,99], axes = [0,1]> (x) }"
    model = read(text)
    assert cuts_of(model.graph.outputs[0]) == [(-1, (3, 3, 0)), (-2, (1, 2, 1))]


@pytest.mark.parametrize(("head", "operands"), [(HEAD, 4), (OLD, 1)])
def test_a_moved_slice_is_written_for_the_opset_of_the_model_and_computes_the_same(read, run, feed_of, head, operands):
    bounds = "" if operands == 1 else "<int64[1] a = {-2}, int64[1] b = {9}, int64[1] c = {1}>"
    last = "Slice <starts = [-2], ends = [9], axes = [1]> (z)" if operands == 1 else "Slice(z, a, b, c)"
    model = read(head + f"g (float[4,6] x) => (float[4,2] y) {bounds} {{ z = Relu(x)  y = {last} }}")
    op, (old,) = model.builder, model.graph.outputs
    (relu,) = old.args
    new = op.Relu(op.Slice(relu.args[0], axis=-1, sizes=(4, 2, 0)))
    result = write_model(model, Graph(model.graph.inputs, substitute_terms(op, (old,), {old: new})))
    assert [node.op_type for node in result.graph.node] == ["Slice", "Relu"]
    assert len(result.graph.node[0].input) == operands
    feed = feed_of(model)
    before, after = run(model.proto, feed)["y"], run(result, feed)["y"]
    assert np.array_equal(before, after)
    assert np.any(before)


def test_gather_of_a_number_is_a_reshaped_slice_and_stays_the_node_it_is(read):
    text = HEAD + "g (float[2,5,3] x) => (float[2,3] y) <int64 i = {-2}> { y = Gather <axis = 1> (x, i) }"
    model = read(text)
    (output,) = model.graph.outputs
    assert output.operator == "Reshape"
    assert output.attribute("shape") == (2, 3)
    assert cuts_of(output.args[0]) == [(-2, (3, 1, 1))]
    assert write_model(model, model.graph).SerializeToString() == model.path.read_bytes()


def test_gather_of_neighbours_in_order_is_a_slice(read):
    text = HEAD + "g (float[5,3] x) => (float[2,3] y) <int64[2] i = {1,2}> { y = Gather(x, i) }"
    assert cuts_of(read(text).graph.outputs[0]) == [(-2, (1, 2, 2))]


@pytest.mark.parametrize(
    ("indices", "operator"),
    [
        ("int64[1] i = {-7}", OPAQUE),
        ("int64[2] i = {-7,-6}", OPAQUE),
        ("int64[2] i = {4,5}", OPAQUE),
        ("int64[2] i = {2,1}", "Gather"),
        ("int64[2] i = {0,2}", "Gather"),
        ("int64[1,2] i = {0,1}", "Gather"),
    ],
)
def test_gather_of_anything_else_is_a_lookup_where_the_places_are_there(read, indices, operator):
    text = HEAD + f"g (float[5,3] x) => (float y) <{indices}> {{ y = Gather(x, i) }}"
    model = parser.parse_model(text)
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    assert read(model).graph.outputs[0].operator == operator


def test_a_slice_of_weights_is_folded_when_it_is_moved_there(read, run, feed_of):
    text = (
        HEAD
        + """g (float[3,4] x) => (float[3,2] y) <int64[1] a = {1}, int64[1] b = {3}, int64[1] c = {1}>
        { z = MatMul(x, w)  y = Slice(z, a, b, c) }"""
    )
    model = read(text, {"w": (4, 5)})
    op, (old,) = model.builder, model.graph.outputs
    x, w = old.args[0].args
    new = op.MatMul(x, op.Slice(w, axis=-1, sizes=(1, 2, 2)))
    result = write_model(model, Graph(model.graph.inputs, (new,)))
    assert [node.op_type for node in result.graph.node] == ["MatMul"]
    (weight,) = result.graph.initializer
    assert np.array_equal(numpy_helper.to_array(weight), model.constant("w")[:, 1:3])
    feed = feed_of(model)
    np.testing.assert_allclose(run(result, feed)["y"], run(model.proto, feed)["y"], rtol=1e-5)
