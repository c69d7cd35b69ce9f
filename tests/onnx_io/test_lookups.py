"""Rows at places that are known only when a model runs: read as Gather however they are said, and written as that."""

import numpy as np
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from taso_opt.core.graph import Graph
from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, postorder
from taso_opt.onnx_io import read_model, write_model
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.spec import OPAQUE, load_specs

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
READ = {
    "rows": "g (float[5,4] x, int64[2,3] i) => (float[2,3,4] y) { y = Gather(x, i) }",
    "a row": "g (float[5,4] x, int64 i) => (float[4] y) { y = Gather(x, i) }",
    "columns": "g (float[5,4] x, int32[3] i) => (float[5,3] y) { y = Gather <axis = 1> (x, i) }",
    "rows in batches": "g (float[2,5,4] x, int64[3] i) => (float[2,3,4] y) { y = Gather <axis = -2> (x, i) }",
    "in rows of their own": "g (float[5,4] x, int64[3,1] i) => (float[3,4] y) { y = GatherND(x, i) }",
    "in rows made for them": """g (float[5,4] x, int64[3] i) => (float[3,4] y) <int64[1] last = {-1}>
        { r = Unsqueeze(i, last)  y = GatherND(x, r) }""",
    "of the only batch": """g (float[1,5,4] x, int64[3] i) => (float[3,4] y)
        <int64[1] last = {-1}, int64[3,1] b = {0, 0, 0}>
        { r = Unsqueeze(i, last)  pairs = Concat <axis = -1> (b, r)  y = GatherND(x, pairs) }""",
    "for each element": """g (float[1,5,4] x, int64[1,3] i) => (float[1,3,4] y)
        <int64[1] last = {-1}, int64[3] s = {1, 1, 4}>
        { r = Unsqueeze(i, last)  e = Expand(r, s)  y = GatherElements <axis = 1> (x, e) }""",
    "for each element, tiled": """g (float[5,4] x, int64[3,1] i) => (float[3,4] y) <int64[2] s = {1, 4}>
        { e = Tile(i, s)  y = GatherElements(x, e) }""",
}
LEFT = {
    "whole numbers": "g (int64[5,4] x, int64[3] i) => (int64[3,4] y) { y = Gather(x, i) }",
    "several batches": """g (float[2,5,4] x, int64[3] i) => (float[3,4] y)
        <int64[1] last = {-1}, int64[3,1] b = {0, 1, 0}>
        { r = Unsqueeze(i, last)  pairs = Concat <axis = -1> (b, r)  y = GatherND(x, pairs) }""",
    "pairs of which nothing is known": "g (float[1,5,4] x, int64[3,2] i) => (float[3,4] y) { y = GatherND(x, i) }",
    "in each batch": "g (float[2,5,4] x, int64[2,1] i) => (float[2,4] y) { y = GatherND <batch_dims = 1> (x, i) }",
    "elements": "g (float[5,4] x, int64[3,4] i) => (float[3,4] y) { y = GatherElements(x, i) }",
    "parts of rows": """g (float[5,4] x, int64[3,1] i) => (float[3,2] y) <int64[2] s = {1, 2}>
        { e = Tile(i, s)  y = GatherElements(x, e) }""",
    "along the other axis": """g (float[4,5] x, int64[1,5] i) => (float[3,5] y) <int64[2] s = {3, 1}>
        { e = Tile(i, s)  y = GatherElements <axis = 1> (x, e) }""",
}


def read(text, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(parser.parse_model(HEAD + text).SerializeToString())
    return read_model(path, load_specs())


def lookups(found):
    return [term for term in postorder(found.graph.outputs) if isinstance(term, Apply) and term.operator == "Gather"]


@pytest.mark.parametrize("name", READ)
def test_a_lookup_is_read_and_what_is_written_computes_the_same(name, tmp_path):
    found = read(READ[name], tmp_path)
    assert len(lookups(found)) == 1
    assert OPAQUE not in {term.operator for term in postorder(found.graph.outputs) if isinstance(term, Apply)}
    # A lookup of other numbers is no node of the file, so that it has to be written anew.
    (gather,) = lookups(found)
    x, places = gather.args
    doubled = found.builder.apply("Mul", (x, literal(2, "float32")), {})
    anew = found.builder.apply("Gather", (doubled, places), dict(gather.attributes))
    written = write_model(
        found, Graph(found.graph.inputs, substitute_terms(found.builder, found.graph.outputs, {gather: anew}))
    )
    assert {"GatherND", "GatherElements"}.isdisjoint(node.op_type for node in written.graph.node)
    for entry in found.inputs:
        assert entry.below in (None, 4, 5)
    generator = np.random.default_rng(0)
    feed = {
        entry.name: generator.standard_normal(entry.bound).astype(np.float32)
        if entry.name == "x"
        else generator.integers(-4, 4, entry.bound).astype(entry.dtype)
        for entry in found.inputs
    }
    (before,), (after,) = (ReferenceEvaluator(model).run(None, feed) for model in (found.proto, written))
    np.testing.assert_array_equal(after, 2 * before)


@pytest.mark.parametrize("name", LEFT)
def test_any_other_lookup_stays_a_node(name, tmp_path):
    found = read(LEFT[name], tmp_path)
    assert not lookups(found)
    assert OPAQUE in {term.operator for term in postorder(found.graph.outputs) if isinstance(term, Apply)}
