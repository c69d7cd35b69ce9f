"""Nodes that are read as others and never written: found, made models of their own, and spelled otherwise on demand."""

import numpy as np
import onnx
import pytest

from taso_opt.onnx_io import fill_weights, lengthened, own_spellings, respelled
from taso_opt.spec import load_specs

GRAPH = """<ir_version: 8, opset_import: ["" : 17]>
g (float[B,3,5] x, float[4,6] z) => (float[B,3,7] y, float[4,7] t)
{ u = Relu(x)  y = Einsum <equation = "bnd,de->bne"> (u, w)  k = Einsum <equation = "de->ed"> (v)
  t = Gemm <transB = 1> (z, k, bias) }"""

WEIGHTS = {"w": (5, 7), "v": (6, 7), "bias": (7,)}


@pytest.fixture
def model(read):
    return read(GRAPH, WEIGHTS, {"B": 2})


@pytest.fixture
def found(model):
    return own_spellings(model, load_specs(), load_specs().builder(model.bindings))


def operators(proto):
    return [node.op_type for node in proto.graph.node]


def test_nodes_that_run_and_are_never_written_are_found_with_all_that_their_time_depends_on(model, found):
    kinds = list(found.values())
    assert [operators(model.proto)[at] for at in found] == ["Einsum", "Gemm"]
    assert [[str(kind.shape) for kind in one.weights] for one in kinds] == [["(5, 7)"], ["(7, 6)", "(7,)"]]
    assert [[str(kind.shape) for kind in one.values] for one in kinds] == [
        ["(2, 3, 5)", "(2, 3, 7)"],
        ["(4, 6)", "(4, 7)"],
    ]
    assert kinds[0].key.startswith("Einsum(x: ") and "equation=b'bnd,de->bne'" in kinds[0].key
    assert len({one.key for one in kinds}) == 2


def test_nodes_of_other_types_are_of_other_kinds(read):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (%s[2,5] x, %s[5,7] y) => (%s[2,7] z) '
    keys = set()
    for kind in ("float", "double"):
        model = read(text % ((kind,) * 3) + '{ z = Einsum <equation = "nd,de->ne"> (x, y) }')
        (one,) = own_spellings(model, load_specs(), load_specs().builder(model.bindings)).values()
        keys.add(one.key)
    assert len(keys) == 2


def test_both_models_of_a_node_compute_the_same_and_have_their_weights_left_out(read, run):
    text = '<ir_version: 3, opset_import: ["" : 12]> g (float[2,5] x, float[5,7] y) => (float[7,2] z) %s'
    model = read(text % '{ z = Einsum <equation = "nd,de->en"> (x, y) }')
    (one,) = own_spellings(model, load_specs(), load_specs().builder(model.bindings)).values()
    in_file, by_rules = map(onnx.load_from_string, (one.in_file, one.by_rules))
    assert operators(in_file) == ["Einsum"] and operators(by_rules) == ["MatMul", "Transpose"]
    generator = np.random.default_rng(1)
    values = [generator.standard_normal(shape, np.float32) for shape in ((2, 5), (5, 7))]
    results = []
    for proto in (in_file, by_rules):
        feed = dict(zip([value.name for value in proto.graph.input], values, strict=True))
        results += run(proto, feed).values()
    np.testing.assert_allclose(*results, rtol=1e-5)


def test_weights_are_left_out_but_for_numbers_and_what_is_no_float(model, found, read):
    for one in found.values():
        proto = onnx.load_from_string(one.in_file)
        assert proto.graph.initializer and not any(tensor.raw_data for tensor in proto.graph.initializer)
        fill_weights(proto)
        onnx.checker.check_model(proto, full_check=True)
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[4,6] x) => (float[4] y) <int64 at = {2}> %s'
    picked = read(text % "{ y = Gather <axis = 1> (x, at) }")
    (one,) = own_spellings(picked, load_specs(), load_specs().builder({})).values()
    (tensor,) = onnx.load_from_string(one.in_file).graph.initializer
    assert onnx.numpy_helper.to_array(tensor) == 2


def test_only_the_named_nodes_are_spelled_otherwise(model, found, run, feed_of):
    einsum, gemm = found
    for nodes, expected in (
        ([einsum], ["Relu", "Reshape", "MatMul", "Reshape", "Einsum", "Gemm"]),
        ([gemm], ["Relu", "Einsum", "MatMul", "Add"]),
    ):
        proto = respelled(model, nodes)
        onnx.checker.check_model(proto)
        assert sorted(operators(proto)) == sorted(expected)
        before, after = (run(each, feed_of(model)) for each in (model.proto, proto))
        assert before.keys() == after.keys()
        for name, value in before.items():
            np.testing.assert_allclose(after[name], value, rtol=1e-5, atol=1e-5)


def test_what_has_an_open_size_is_left_to_the_file(read):
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[N,5] x, float[5,7] y) => (float[N,7] z) %s'
    open_size = read(text % '{ z = Einsum <equation = "nd,de->ne"> (x, y) }')
    assert own_spellings(open_size, load_specs(), load_specs().builder({})) == {}


PICKED = (
    '<ir_version: 8, opset_import: ["" : 17]> g (float[1,2,3,4] x) => (float[1,2,%d,8] y) %s { y = Resize%s (x, , s) }'
)


def test_an_operator_that_onnx_says_in_many_ways_is_spelled_as_it_is_written(read, run, feed_of):
    model = read(PICKED % (6, "<float[4] s = {1, 1, 2, 2}>", ""))
    found = own_spellings(model, load_specs(), load_specs().builder({}))
    (one,) = found.values()
    (scales,) = onnx.load_from_string(one.in_file).graph.initializer
    assert onnx.numpy_helper.to_array(scales).tolist() == [1, 1, 2, 2]
    proto = respelled(model, found)
    (mode,) = (each.s for each in proto.graph.node[0].attribute if each.name == "coordinate_transformation_mode")
    assert mode == b"asymmetric"
    np.testing.assert_array_equal(*(run(each, feed_of(model))["y"] for each in (model.proto, proto)))


def test_a_node_that_is_written_as_it_stands_is_no_spelling_of_its_own(read):
    formula = '<coordinate_transformation_mode = "asymmetric", mode = "nearest", nearest_mode = "floor">'
    model = read(PICKED % (6, "<float[4] s = {1, 1, 2, 2}>", formula))
    assert own_spellings(model, load_specs(), load_specs().builder({})) == {}


def test_kinds_of_nodes_differ_where_their_results_do(read):
    keys = set()
    for rows, scales in ((6, "<float[4] s = {1, 1, 2, 2}>"), (9, "<float[4] s = {1, 1, 3, 2}>")):
        model = read(PICKED % (rows, scales, ""))
        keys.update(one.key for one in own_spellings(model, load_specs(), load_specs().builder({})).values())
    assert len(keys) == 2


def test_rows_of_constants_lose_the_axes_in_front_that_no_operand_needs(read):
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[B,3,5] x, float[5] z) => (float[B,3,5] y, float[1,1,5] t)
    { u = Mul(x, row)  v = Add(u, column)  y = Sub(v, short)  t = Add(z, row) }"""
    model = read(text, {"row": (1, 1, 5), "column": (1, 3, 1), "short": (5,)})
    nodes = lengthened(model)
    assert [model.proto.graph.node[at].op_type for at in nodes] == ["Mul"]
    made = respelled(model, nodes)
    shapes = {tensor.name: tuple(tensor.dims) for tensor in made.graph.initializer}
    taken = {node.op_type: [shapes[name] for name in node.input if name in shapes] for node in made.graph.node}
    assert taken == {"Mul": [(5,)], "Add": [(1, 1, 5)], "Sub": [(5,)]}
    onnx.checker.check_model(made, full_check=True)
