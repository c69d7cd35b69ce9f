"""The weights of a large file stay in it, and nobody sees a difference."""

import os

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper, parser

from taso_opt.core.graph import Graph
from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io import (
    complete,
    inlined,
    load_model,
    read_model,
    save_atomically,
    save_copy,
    write_model,
)
from taso_opt.onnx_io.files import in_place
from taso_opt.onnx_io.files.external import DataRange, data_range, is_external, is_in_place, refer, tensor_array
from taso_opt.onnx_io.files.wire import header
from taso_opt.onnx_io.references.doubles import in_doubles

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2,3] x) => (float[2,4] y) { a = MatMul(x, v)  b = MatMul(a, w)  c = Relu(b)  d = Add(c, s)  y = Relu(d) }"""
WEIGHTS = {"v": (3, 4), "w": (4, 4), "s": (1,)}


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch):
    monkeypatch.setattr(in_place, "LARGE_FILE", 0)
    monkeypatch.setattr(in_place, "SMALLEST", 16)


def where(model):
    return {tensor.name: is_external(tensor) for tensor in model.graph.initializer}


def test_large_weights_stay_and_have_the_values_that_the_file_says(save, tmp_path):
    path = save(TEXT, WEIGHTS)
    model = load_model(path)
    assert where(model) == {"v": True, "w": True, "s": False}
    for tensor, whole in zip(model.graph.initializer, onnx.load(path).graph.initializer, strict=True):
        assert np.array_equal(tensor_array(tensor, path), numpy_helper.to_array(whole))


def test_a_model_can_be_wanted_whole(save):
    path = save(TEXT, WEIGHTS)
    assert load_model(path, whole=True) == onnx.load(path)


def test_a_model_that_is_made_from_a_file_can_be_completed(save):
    path = save(TEXT, WEIGHTS)
    assert complete(load_model(path), path) == onnx.load(path)


def test_a_copy_in_doubles_has_all_weights_in_it(save):
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> g (float[2,8] x) => (float[2,3] y)
        { a = Mul(x, w)  y = Gather <axis = 1> (a, at) }"""
    )
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 2, 7]), "at"))
    path = save(model, {"w": (8,)})
    assert where(load_model(path)) == {"at": True, "w": True}
    found, expected = in_doubles(path), onnx.load(path)
    for one, other in zip(found.graph.initializer, expected.graph.initializer, strict=True):
        assert np.array_equal(numpy_helper.to_array(one), numpy_helper.to_array(other))


def test_what_is_written_has_the_weights_in_it(save, tmp_path):
    path, out = save(TEXT, WEIGHTS), tmp_path / "elsewhere" / "out.onnx"
    out.parent.mkdir()
    save_atomically(load_model(path), out, original=path)
    assert onnx.load(out) == onnx.load(path)
    assert [file.name for file in out.parent.iterdir()] == ["out.onnx"]
    assert ModelProto.FromString(inlined(load_model(path), path)) == onnx.load(path)


def test_weights_beyond_the_limit_go_beside_the_model(save, tmp_path):
    path, out = save(TEXT, {"v": (3, 400), "w": (400, 4), "s": (1,)}), tmp_path / "out.onnx"
    save_atomically(load_model(path), out, original=path, inline_limit=1000)
    written = onnx.load(out, load_external_data=False)
    assert where(written) == {"v": True, "w": True, "s": False}
    assert {data_range(tensor).location for tensor in written.graph.initializer[:2]} == {"out.onnx.data"}
    for found, expected in zip(onnx.load(out).graph.initializer, onnx.load(path).graph.initializer, strict=True):
        assert np.array_equal(numpy_helper.to_array(found), numpy_helper.to_array(expected))


def test_weights_of_another_file_stay_there(save, tmp_path):
    path = save(TEXT, WEIGHTS)
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="data.bin", size_threshold=90)
    model, out = load_model(path), tmp_path / "out.onnx"
    locations = {tensor.name: [entry.value for entry in tensor.external_data][:1] for tensor in model.graph.initializer}
    assert locations == {"v": ["model.onnx"], "w": ["data.bin"], "s": []}
    save_atomically(model, out, original=path)
    assert where(onnx.load(out, load_external_data=False)) == {"v": False, "w": True, "s": False}
    assert onnx.load(out) == onnx.load(path)


def test_a_rewritten_model_is_the_same_as_when_all_was_in_memory(save, library, tmp_path, monkeypatch):
    path, found = save(TEXT, WEIGHTS), []
    for large in (0, 1 << 40):
        monkeypatch.setattr(in_place, "LARGE_FILE", large)
        model, out = read_model(path, library), tmp_path / f"{large}.onnx"
        save_atomically(write_model(model, Graph(model.graph.inputs, model.graph.outputs)), out, original=path)
        found.append(onnx.load(out))
    assert found[0] == found[1]


def test_a_link_is_read_in_place_and_a_name_that_is_none_of_data_whole(save, tmp_path):
    path = save(TEXT, WEIGHTS)
    link, odd = tmp_path / "sub" / "link.onnx", tmp_path / "c\\model.onnx"
    link.parent.mkdir()
    link.symlink_to(path)
    odd.write_bytes(path.read_bytes())
    assert load_model(odd) == onnx.load(path)
    assert where(load_model(link)) == {"v": True, "w": True, "s": False}
    assert ModelProto.FromString(inlined(load_model(link), link)) == onnx.load(path)
    save_atomically(load_model(link), tmp_path / "sub" / "out.onnx", original=link)
    assert onnx.load(tmp_path / "sub" / "out.onnx") == onnx.load(path)


def test_a_graph_written_in_two_pieces_is_one(save):
    path = save(TEXT, WEIGHTS)
    whole = onnx.load(path)
    first, second = ModelProto(), ModelProto()
    first.CopyFrom(whole)
    del first.graph.initializer[1:]
    second.graph.initializer.extend(whole.graph.initializer[1:])
    path.write_bytes(first.SerializeToString() + second.SerializeToString())
    assert where(load_model(path)) == {"v": True, "w": True, "s": False}
    assert load_model(path, whole=True) == whole


def test_a_large_file_without_large_weights_is_read_as_any_other(save):
    path = save(TEXT, {"v": (3, 1), "w": (1, 3), "s": (1,)})
    assert in_place.model_in_place(path) is None


def test_what_protobuf_does_not_know_is_kept(save, tmp_path):
    path, unknown = save(TEXT, WEIGHTS), b"\xc2\x3e\x03new"
    whole = onnx.load(path)
    graph = whole.graph.SerializeToString() + unknown
    whole.ClearField("graph")
    path.write_bytes(whole.SerializeToString() + header(7, len(graph)) + graph + unknown)
    assert where(load_model(path)) == {"v": True, "w": True, "s": False}
    save_atomically(load_model(path), tmp_path / "out.onnx", original=path)
    assert (tmp_path / "out.onnx").read_bytes().count(unknown) == 2
    assert onnx.load(tmp_path / "out.onnx").graph.initializer == onnx.load(path).graph.initializer


def test_many_small_fields_are_left_to_protobuf(save, monkeypatch):
    path = save(TEXT, WEIGHTS)
    monkeypatch.setattr(in_place, "MOST_FIELDS", 20)
    assert where(load_model(path)) == {"v": True, "w": True, "s": False}
    path.write_bytes(path.read_bytes() + b"\x08\x08" * 20)
    assert load_model(path) == onnx.load(path)


@pytest.mark.parametrize("change", ["other numbers", "shorter"])
def test_a_file_that_is_written_over_is_noticed_before_its_weights_are_used(save, tmp_path, change):
    path = save(TEXT, WEIGHTS)
    model = load_model(path)
    content = path.read_bytes()
    path.write_bytes(content[:50] if change == "shorter" else content[::-1])
    os.utime(path, ns=(1, 1))
    with pytest.raises(InvalidInputError, match="expected a model file that stays as it is"):
        tensor_array(model.graph.initializer[0], path)
    with pytest.raises(InvalidInputError, match="expected a model file that stays as it is"):
        save_atomically(model, tmp_path / "out.onnx", original=path)
    assert not (tmp_path / "out.onnx").exists()


def test_what_a_file_itself_says_of_its_data_is_no_weight_that_stayed(save, tmp_path):
    path, out = save(TEXT, WEIGHTS), tmp_path / "elsewhere" / "out.onnx"
    out.parent.mkdir()
    model = onnx.load(path)
    refer(model.graph.initializer[0], DataRange("model.onnx", 0, 48))  # its own first bytes
    path.write_bytes(model.SerializeToString())
    found = load_model(path)
    assert [is_in_place(tensor) for tensor in found.graph.initializer] == [False, True, False]
    save_atomically(found, out, original=path)
    assert onnx.load(out).graph.initializer[0].raw_data == path.read_bytes()[:48]


def test_a_finished_file_is_copied_as_it_is(save, tmp_path):
    path, made = save(TEXT, WEIGHTS), save(TEXT, WEIGHTS, "made.onnx")
    save_copy(made, tmp_path / "out.onnx", original=path, source=load_model(path))
    assert (tmp_path / "out.onnx").read_bytes() == made.read_bytes()


def test_a_file_with_one_damaged_byte_is_read_or_refused_as_it_is_whole(save, tmp_path):
    path = save(TEXT, WEIGHTS)
    content, refused = path.read_bytes(), 0
    for at in range(len(content)):
        for bit in (0, 3, 7):
            damaged = bytearray(content)
            damaged[at] ^= 1 << bit
            path.write_bytes(damaged)
            found, expected = (_content(path, whole) for whole in (False, True))
            assert found == expected, (at, bit)
            refused += expected is None
    assert 0 < refused < 3 * len(content)


def _content(path, whole):
    """All that a model says, its weights included; None where it is refused."""
    try:
        model = load_model(path, whole)
        return onnx.ModelProto.FromString(inlined(model, path)).SerializeToString(deterministic=True)
    except InvalidInputError:
        return None
