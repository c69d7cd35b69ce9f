"""Weights that are larger than what they are made of are computed as a model is loaded; its file does not grow."""

from dataclasses import replace

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, postorder
from taso_opt.generate.schemes.tiles import discover_tiles
from taso_opt.onnx_io import bytes_added, folded_terms, spellable, write_model
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import load_specs
from taso_opt.spec.text import format_rule

CHANNELS = 16


@pytest.fixture(scope="module")
def rules():
    library = load_specs()
    return RuleSet(discover_tiles(library, 0, frozenset(library.operators)))


def convolution(opset=17, rows=9, columns=9):
    shape = f"float[2,{CHANNELS},{rows},{columns}]"
    return (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({shape} x) => ({shape} y) '
        "{ y = Conv<pads = [1, 1, 1, 1]>(x, w, b) }"
    )


WEIGHTS = {"w": (CHANNELS, CHANNELS, 3, 3), "b": (CHANNELS,)}


def in_tiles(model, rules):
    """The models that the rules make of one convolution, by the tile."""
    steps = Rewriter.of_model(model, rules).rewrites(model.graph.outputs[0])
    found = {}
    for step in steps:
        outputs = substitute_terms(model.builder, model.graph.outputs, step.mapping)
        assert outputs is not None and spellable(model)(outputs[0])
        block = next(int(text[0]) for text in format_rule(step.rule.rule).split("block=")[1:])
        found[block] = outputs
    return {
        block: (outputs, write_model(model, replace(model.graph, outputs=outputs))) for block, outputs in found.items()
    }


@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (8, 9), (9, 6), (10, 7), (11, 8), (7, 11)])
def test_every_size_of_an_image_has_tiles_and_the_runtime_computes_the_same(read, run, rules, rows, columns):
    model = read(convolution(rows=rows, columns=columns), WEIGHTS)
    feed = {"x": np.random.default_rng(1).normal(size=(2, CHANNELS, rows, columns)).astype(np.float32)}
    expected = run(model.proto, feed)["y"]
    written = in_tiles(model, rules)
    assert sorted(written) == [2, 4]
    for _, proto in written.values():
        np.testing.assert_allclose(run(proto, feed)["y"], expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(run(proto, feed, optimized=False)["y"], expected, rtol=1e-4, atol=1e-4)


def test_the_file_keeps_the_filters_and_the_loaded_model_has_what_is_made_of_them(read, rules, tmp_path):
    model = read(convolution(), WEIGHTS)
    outputs, proto = in_tiles(model, rules)[4]
    assert 0 < bytes_added(model.proto, proto) < model.proto.ByteSize() / 2 + 12000
    einsum = next(node for node in proto.graph.node if node.op_type == "Einsum")
    assert "w" in einsum.input
    made = {term.operator for term in folded_terms(model.builder, outputs, 17) if hasattr(term, "operator")}
    assert "WinogradKernel" not in made and {"WinogradInput", "WinogradOutput", "WinogradBias"} <= made
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "loaded.onnx")
    ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    loaded = onnx.load(tmp_path / "loaded.onnx")
    assert "Einsum" not in {node.op_type for node in loaded.graph.node}


def test_an_opset_without_einsum_has_these_weights_in_the_file(read, run, rules):
    model = read(convolution(opset=11), WEIGHTS)
    _, proto = in_tiles(model, rules)[2]
    assert "Einsum" not in {node.op_type for node in proto.graph.node}
    assert bytes_added(model.proto, proto) > 4 * CHANNELS * CHANNELS * (16 - 9)
    feed = {"x": np.random.default_rng(1).normal(size=(2, CHANNELS, 9, 9)).astype(np.float32)}
    np.testing.assert_allclose(run(proto, feed)["y"], run(model.proto, feed)["y"], rtol=1e-4, atol=1e-4)


def test_images_of_a_size_that_is_not_known_and_steps_of_two_have_no_tiles(read, rules):
    unknown = convolution().replace("9,9]", "H,W]")
    assert in_tiles(read(unknown, WEIGHTS), rules) == {}
    strided = convolution(rows=8, columns=8).replace("pads", "strides = [2, 2], pads").replace("8,8] y", "4,4] y")
    assert in_tiles(read(strided, WEIGHTS), rules) == {}


def test_blocks_of_channels_are_read_and_written_as_they_were(read):
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2,8,3,5] x) => (float[2,2,6,10] y) '
        '{ y = DepthToSpace<blocksize = 2, mode = "DCR">(x) }'
    )
    found = read(text)
    assert found.graph.outputs[0].operator == "DepthToSpace"
    assert write_model(found, found.graph).SerializeToString() == found.path.read_bytes()
    other = read(text.replace('"DCR"', '"CRD"'))
    assert other.graph.outputs[0].operator != "DepthToSpace"


def test_what_onnx_cannot_say_of_such_weights_is_in_the_file(read, run, rules):
    """The groups of the products are paired: nothing but the tool makes such a kernel."""
    model = read(convolution(), WEIGHTS)
    outputs, _ = in_tiles(model, rules)[2]
    convolutions = [term for term in postorder(outputs) if isinstance(term, Apply) and term.operator == "Conv"]
    product = next(term for term in convolutions if term.attribute("group") == 16)
    op = model.builder
    paired = op.PairGroups(product.args[1], group=8)
    wider = op.apply("Conv", (product.args[0], paired, product.args[2]), {**dict(product.attributes), "group": 8})
    outputs = substitute_terms(op, outputs, {product: wider})
    assert spellable(model)(outputs[0])
    proto = write_model(model, replace(model.graph, outputs=outputs))
    assert "Einsum" not in {node.op_type for node in proto.graph.node}
    feed = {"x": np.random.default_rng(1).normal(size=(2, CHANNELS, 9, 9)).astype(np.float32)}
    np.testing.assert_allclose(run(proto, feed)["y"], run(model.proto, feed)["y"], rtol=1e-4, atol=1e-4)
