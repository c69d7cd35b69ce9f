"""Random inputs that name rows of tables name rows that there are, and masks are 0 or 1."""

import numpy as np
import pytest
from onnx import numpy_helper, parser

from taso_opt.onnx_io import read_model
from taso_opt.search.judging.feeds import sample_feeds
from taso_opt.spec import load_specs

BERT = """<ir_version: 8, opset_import: ["" : 17]>
g (int64[1,n] ids, int32[1,n] kinds, int64[2] lengths, float[1,2] x) => (float[1,n,4] y, int64[2] l, float[1,2] z) {
  words = Gather(wide, ids)  wanted = Cast <to = 7> (kinds)  flat = Reshape(wanted, one)
  some = Gather(narrow, flat)  y = Add(words, some)  l = Neg(lengths)  z = Relu(x) }"""


def saved(text, path, **values):
    model = parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in values.items())
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def bert(tmp_path):
    """Words of 30, and kinds of tokens of 2 that are cast and reshaped on their way."""
    generator = np.random.default_rng(0)
    wide, narrow = (generator.standard_normal((rows, 4)).astype(np.float32) for rows in (30, 2))
    values = {"wide": wide, "narrow": narrow, "one": np.array([-1])}
    return read_model(saved(BERT, tmp_path / "model.onnx", **values), load_specs(), {"n": 500})


def test_inputs_know_how_many_rows_there_are_to_name(bert):
    assert {entry.name: entry.below for entry in bert.inputs} == {"ids": 30, "kinds": 2, "lengths": None, "x": None}


def test_random_inputs_name_all_rows_and_no_others(bert):
    (feed, *_) = sample_feeds(bert.inputs, [], 0)
    assert set(feed["ids"].ravel()) == set(range(30))
    assert set(feed["kinds"].ravel()) == {0, 1}


SHARED = """<ir_version: 8, opset_import: ["" : 17]>
g (int64[5] ids, int64[5,1] rows, int64[5,2] pairs) => (float[5,4] y, float[5,4] z, float[5] w) {
  doubled = Add(ids, ids)  a = Gather(wide, ids)  b = Gather(narrow, ids)  c = Gather(narrow, doubled)
  ab = Add(a, b)  y = Add(ab, c)  z = GatherND(wide, rows)  w = GatherND(wide, pairs) }"""


def test_a_place_lies_in_every_table_that_it_is_looked_up_in(tmp_path):
    values = {"wide": np.ones((30, 4), np.float32), "narrow": np.ones((7, 4), np.float32)}
    read = read_model(saved(SHARED, tmp_path / "model.onnx", **values), load_specs())
    assert {entry.name: entry.below for entry in read.inputs} == {"ids": 7, "rows": 30, "pairs": None}


FOREIGN = """<ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
g (int64[5] ids) => (float[5,4] y, float[3] z) {
  y = com.example.Gather(ids, wide)  z = com.example.Sub() }"""


def test_operators_of_others_say_nothing_whatever_they_are_called(tmp_path):
    read = read_model(saved(FOREIGN, tmp_path / "model.onnx", wide=np.ones((30, 4), np.float32)), load_specs())
    assert {entry.name: entry.below for entry in read.inputs} == {"ids": None}


MASKED = """<ir_version: 8, opset_import: ["" : 17]>
g (int64[1,8] mask, int64[1,8] other, int64[1,8] counted) => (float[1,1,1,8] y, float[1,8] z, int64[1,8] l) {
  single = Constant <value = float {1.0}> ()  wide = Unsqueeze(mask, axes)  wanted = Cast <to = 1> (wide)
  padding = Sub(single, wanted)  y = Mul(padding, lowest)
  numbers = Cast <to = 1> (other)  z = Sub(lowest, numbers)  l = Sub(counted, one) }"""


def test_what_is_taken_off_one_is_a_flag(tmp_path):
    values = {"axes": np.array([1, 2]), "lowest": np.array(np.finfo(np.float32).min), "one": np.array(1)}
    read = read_model(saved(MASKED, tmp_path / "model.onnx", **values), load_specs())
    assert {entry.name: entry.below for entry in read.inputs} == {"mask": 2, "other": None, "counted": None}
    assert set(sample_feeds(read.inputs, [], 0)[0]["mask"].ravel()) == {0, 1}
