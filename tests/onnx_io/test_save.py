"""Models reach the disk whole or not at all, with their data, and never over what they came from."""

import os
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from taso_opt.core.graph import Graph
from taso_opt.errors import UsageError
from taso_opt.onnx_io import (
    check_data,
    check_output,
    copy_unchanged,
    inlined,
    read_model,
    save_atomically,
    save_copy,
    write_model,
)

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
TEXT = HEAD + "g (float[2,3] x) => (float[2,4] y) { a = MatMul(x, v)  b = MatMul(a, w)  c = Relu(b)  y = Relu(c) }"
LARGE, LARGE_WEIGHTS = TEXT.replace("3]", "30]").replace("4]", "50]"), {"v": (30, 50), "w": (50, 50)}
V = np.arange(12, dtype=np.float32).reshape(3, 4)
W = np.arange(16, dtype=np.float32).reshape(4, 4)


@pytest.fixture
def external(tmp_path, library):
    """A model in a folder of its own whose two weights stand in one data file with a gap between them."""
    folder = tmp_path / "in"
    folder.mkdir()
    proto = parser.parse_model(TEXT)
    (folder / "weights.bin").write_bytes(V.tobytes() + b"gap!" + W.tobytes())
    for name, value, offset in (("v", V, 0), ("w", W, 52)):
        tensor = TensorProto(
            name=name, data_type=TensorProto.FLOAT, dims=value.shape, data_location=TensorProto.EXTERNAL
        )
        for key, text in (("location", "weights.bin"), ("offset", str(offset)), ("length", str(value.nbytes))):
            tensor.external_data.add(key=key, value=text)
        proto.graph.initializer.append(tensor)
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return read_model(path, library)


@pytest.fixture
def cached(external, tmp_path, library):
    """The same model as the Hugging Face cache has it: links to files of other names in another folder."""
    store, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    store.mkdir()
    snapshot.mkdir()
    for file, stored in ((external.path, "4f2a"), (external.path.parent / "weights.bin", "9b1c")):
        (store / stored).write_bytes(file.read_bytes())
        (snapshot / file.name).symlink_to(Path("..") / "blobs" / stored)
    return read_model(snapshot / "model.onnx", library)


def outputs_of(path):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.ones((2, 3), np.float32)})[0]


EXPECTED = np.maximum(np.ones((2, 3), np.float32) @ V @ W, 0)


def without_the_last_relu(model):
    return write_model(model, Graph(model.graph.inputs, (model.graph.outputs[0].args[0],)))


def test_a_model_is_written_and_nothing_else_is_left_in_the_folder(save, library, tmp_path):
    model = read_model(save(TEXT, {"v": (3, 4), "w": (4, 4)}), library)
    out = tmp_path / "out.onnx"
    save_atomically(model.proto, out, original=model.path)
    assert out.read_bytes() == model.path.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "out.onnx"]


def test_an_existing_output_is_kept_unless_forced(save, tmp_path):
    path = save(TEXT, {"v": (3, 4), "w": (4, 4)})
    out = tmp_path / "out.onnx"
    out.write_bytes(b"precious")
    with pytest.raises(UsageError, match=rf"expected no file at {out}, found one \(--force replaces it\)"):
        save_atomically(onnx.load(path), out, original=path)
    assert out.read_bytes() == b"precious"
    save_atomically(onnx.load(path), out, original=path, force=True)
    assert outputs_of(out).shape == (2, 4)


def test_the_input_is_never_the_output_under_any_name(save, tmp_path):
    path = save(TEXT, {"v": (3, 4), "w": (4, 4)})
    content = path.read_bytes()
    (tmp_path / "link.onnx").symlink_to(path)
    os.link(path, tmp_path / "hard.onnx")
    (tmp_path / "sub").mkdir()
    for out in (path, tmp_path / "sub" / ".." / "model.onnx", tmp_path / "link.onnx", tmp_path / "hard.onnx"):
        with pytest.raises(UsageError, match="expected an output other than the input, found"):
            save_atomically(onnx.load(path), out, original=path, force=True)
        with pytest.raises(UsageError, match="expected an output other than the input, found"):
            copy_unchanged(path, onnx.load(path), out, force=True)
    assert path.read_bytes() == content


def test_a_place_that_cannot_be_written_is_refused_in_one_sentence(save, tmp_path, monkeypatch):
    path = save(TEXT, {"v": (3, 4), "w": (4, 4)})
    with pytest.raises(UsageError, match=r"expected a folder to write to, found none at .*nowhere"):
        check_output(tmp_path / "nowhere" / "out.onnx", path, force=False)
    with pytest.raises(UsageError, match="expected a file to write, found a folder"):
        check_output(tmp_path, path, force=True)

    def read_only(folder):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("taso_opt.onnx_io.files.save.scratch_file", read_only)
    with pytest.raises(UsageError, match="expected a folder that can be written, found"):
        check_output(tmp_path / "out.onnx", path, force=False)


def test_a_failure_while_writing_leaves_no_output_and_no_trace(save, tmp_path, monkeypatch):
    path = save(TEXT, {"v": (3, 4), "w": (4, 4)})

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("taso_opt.onnx_io.files.save.os.fsync", fail)
    out = tmp_path / "out.onnx"
    with pytest.raises(UsageError, match=rf"expected to write {out}, found: No space left on device"):
        save_atomically(onnx.load(path), out, original=path)
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_a_failure_while_writing_keeps_a_model_that_was_there_and_its_data(external, tmp_path, monkeypatch):
    out, model = tmp_path / "out.onnx", without_the_last_relu(external)
    save_atomically(model, out, original=external.path)

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("taso_opt.onnx_io.files.save.os.fsync", fail)
    with pytest.raises(UsageError, match=rf"expected to write {out}, found: No space left on device"):
        save_atomically(model, out, original=external.path, force=True)
    assert sorted(os.listdir(tmp_path)) == ["in", "out.onnx", "out.onnx.data"]
    assert np.array_equal(outputs_of(out), EXPECTED)


def test_an_older_model_never_stands_beside_newer_data(save, tmp_path, monkeypatch):
    path, out = save(LARGE, LARGE_WEIGHTS), tmp_path / "out.onnx"
    save_atomically(onnx.load(path), out, original=path, inline_limit=1000)
    replaced = []

    def fail_the_second_time(source, target):
        replaced.append(target)
        if len(replaced) > 1:
            raise OSError(5, "Input/output error")
        source.rename(target)

    monkeypatch.setattr("taso_opt.onnx_io.files.save.os.replace", fail_the_second_time)
    with pytest.raises(UsageError, match="Input/output error"):
        save_atomically(onnx.load(path), out, original=path, inline_limit=1000, force=True)
    assert replaced == [tmp_path / "out.onnx.data", out] and not out.exists()


def test_an_older_model_never_stands_beside_data_that_are_copied(external, tmp_path, monkeypatch):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    out = folder / "out.onnx"
    copy_unchanged(external.path, external.proto, out)
    data = [path for path in folder.iterdir() if path != out]
    for path in data:
        path.write_bytes(b"of another model")

    def fail_at_the_model(source, target):
        if target == out:
            raise OSError(5, "Input/output error")
        source.rename(target)

    monkeypatch.setattr("taso_opt.onnx_io.files.save.os.replace", fail_at_the_model)
    with pytest.raises(UsageError, match="Input/output error"):
        copy_unchanged(external.path, external.proto, out, force=True)
    assert data and not out.exists()


def test_a_file_where_a_folder_for_the_data_is_needed_is_refused_beforehand(save, tmp_path):
    model = onnx.load(save(TEXT, {"v": (3, 4), "w": (4, 4)}))
    (tmp_path / "in" / "sub").mkdir(parents=True)
    original = tmp_path / "in" / "model.onnx"
    onnx.save(model, original, save_as_external_data=True, location="sub/w.bin", size_threshold=0)
    (tmp_path / "sub").write_text("a file")
    proto = onnx.load(original, load_external_data=False)
    for force in (False, True):
        with pytest.raises(
            UsageError, match=rf"expected a folder for the data of the model, found a file: {tmp_path}/sub"
        ):
            check_data(tmp_path / "out.onnx", proto, original, force)
    assert not (tmp_path / "out.onnx").exists()


def test_in_the_same_folder_external_weights_keep_their_references(external):
    out = external.path.with_name("out.onnx")
    save_atomically(without_the_last_relu(external), out, original=external.path)
    assert sorted(os.listdir(out.parent)) == ["model.onnx", "out.onnx", "weights.bin"]
    assert np.array_equal(outputs_of(out), EXPECTED)


def test_in_another_folder_the_data_goes_along(external, tmp_path):
    before = (external.path.parent / "weights.bin").read_bytes()
    out = tmp_path / "out.onnx"
    save_atomically(without_the_last_relu(external), out, original=external.path)
    assert sorted(os.listdir(tmp_path)) == ["in", "out.onnx", "out.onnx.data"]
    locations = {
        entry.value
        for tensor in onnx.load(out, load_external_data=False).graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    assert locations == {"out.onnx.data"}
    (external.path.parent / "weights.bin").unlink()
    assert np.array_equal(outputs_of(out), EXPECTED)
    assert before == V.tobytes() + b"gap!" + W.tobytes()


def test_folded_external_weights_are_written_inline(external, tmp_path):
    op = external.builder
    x = external.graph.inputs[0]
    v, w = (term for term in external.origin if getattr(term, "name", "") in ("v", "w"))
    plan = Graph(external.graph.inputs, (op.Relu(op.MatMul(x, op.MatMul(v, w))),))
    result = write_model(external, plan)
    out = tmp_path / "out.onnx"
    save_atomically(result, out, original=external.path)
    assert sorted(os.listdir(tmp_path)) == ["in", "out.onnx"]
    assert np.array_equal(numpy_helper.to_array(result.graph.initializer[0]), V @ W)
    assert np.array_equal(outputs_of(out), EXPECTED)


def test_weights_beyond_the_limit_leave_the_model_file(save, tmp_path):
    path = save(TEXT.replace("3]", "300]"), {"v": (300, 4), "w": (4, 4)})
    out = tmp_path / "out.onnx"
    save_atomically(onnx.load(path), out, original=path, inline_limit=1000)
    stored = onnx.load(out, load_external_data=False)
    assert [tensor.data_location for tensor in stored.graph.initializer] == [TensorProto.EXTERNAL, TensorProto.DEFAULT]
    assert out.stat().st_size < 1000 < (tmp_path / "out.onnx.data").stat().st_size
    again = onnx.load(out)
    original = onnx.load(path)
    for mine, other in zip(again.graph.initializer, original.graph.initializer, strict=True):
        assert np.array_equal(numpy_helper.to_array(mine), numpy_helper.to_array(other))


def test_tensors_in_a_data_file_begin_where_pages_do(save, tmp_path):
    path = save(LARGE, LARGE_WEIGHTS)
    save_atomically(onnx.load(path), tmp_path / "out.onnx", original=path, inline_limit=1000)
    stored = onnx.load(tmp_path / "out.onnx", load_external_data=False).graph.initializer
    offsets = [int(entry.value) for tensor in stored for entry in tensor.external_data if entry.key == "offset"]
    assert len(set(offsets)) == 2 and all(offset % 4096 == 0 for offset in offsets)


def test_the_data_of_the_original_is_never_overwritten(external):
    data = external.path.parent / "weights.bin"
    content = data.read_bytes()
    with pytest.raises(UsageError, match=r"expected an output other than the data of the input, found .*weights.bin"):
        save_atomically(external.proto, data, original=external.path, force=True)
    with pytest.raises(UsageError, match=r"expected an output other than the data of the input, found .*weights.bin"):
        copy_unchanged(external.path, external.proto, data, force=True)
    with pytest.raises(UsageError, match=r"expected an output other than the data of the input, found .*weights.bin"):
        save_copy(external.path, data, original=external.path, source=external.proto, force=True)
    assert data.read_bytes() == content


def test_nor_where_the_result_needs_none_of_it(external):
    data, folded = external.path.parent / "weights.bin", onnx.ModelProto()
    folded.CopyFrom(external.proto)
    del folded.graph.initializer[:]
    with pytest.raises(UsageError, match=r"expected an output other than the data of the input, found .*weights.bin"):
        save_atomically(folded, data, original=external.path, source=external.proto, force=True)
    assert data.read_bytes()


def test_what_stands_in_the_way_is_said_before_anything_is_written(external, tmp_path):
    out = tmp_path / "out.onnx"
    check_data(out, external.proto, external.path, force=False)
    with pytest.raises(UsageError, match="expected an output other than the data of the input"):
        check_data(external.path.parent / "weights.bin", external.proto, external.path, force=True)
    for name in ("weights.bin", "out.onnx.data"):
        (tmp_path / name).write_bytes(b"precious")
        with pytest.raises(UsageError, match=rf"expected no file at .*{name}, found one \(--force replaces it\)"):
            check_data(out, external.proto, external.path, force=False)
        check_data(out, external.proto, external.path, force=True)
        (tmp_path / name).unlink()


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1, TensorProto.FLOAT])
def test_elements_of_less_than_a_byte_share_bytes_in_the_data_file_too(kind, tmp_path):
    weight = helper.make_tensor("w", kind, [4096], np.arange(4096) % 7)
    assert not weight.HasField("raw_data")
    model = helper.make_model(helper.make_graph([], "g", [], [], [weight]))
    save_atomically(model, tmp_path / "out.onnx", original=tmp_path / "in.onnx", inline_limit=1000)
    (again,) = onnx.load(tmp_path / "out.onnx").graph.initializer
    assert np.array_equal(numpy_helper.to_array(again), numpy_helper.to_array(weight))


def test_a_data_file_in_the_way_is_kept_unless_forced(external, tmp_path):
    out = tmp_path / "out.onnx"
    (tmp_path / "out.onnx.data").write_bytes(b"precious")
    with pytest.raises(UsageError, match=r"expected no file at .*out.onnx.data, found one \(--force replaces it\)"):
        save_atomically(external.proto, out, original=external.path)
    assert (tmp_path / "out.onnx.data").read_bytes() == b"precious"
    assert not out.exists()
    save_atomically(external.proto, out, original=external.path, force=True)
    assert np.array_equal(outputs_of(out), EXPECTED)


def test_an_unchanged_copy_is_byte_for_byte_and_takes_its_data_along(external, tmp_path):
    out = tmp_path / "other"
    out.mkdir()
    copy_unchanged(external.path, external.proto, out / "out.onnx")
    assert (out / "out.onnx").read_bytes() == external.path.read_bytes()
    assert (out / "weights.bin").read_bytes() == (external.path.parent / "weights.bin").read_bytes()
    assert np.array_equal(outputs_of(out / "out.onnx"), EXPECTED)
    copy_unchanged(external.path, external.proto, out / "second.onnx")
    assert np.array_equal(outputs_of(out / "second.onnx"), EXPECTED)
    (out / "weights.bin").write_bytes(bytes(len((out / "weights.bin").read_bytes())))
    with pytest.raises(UsageError, match=r"expected no file at .*weights.bin, found one"):
        copy_unchanged(external.path, external.proto, out / "third.onnx")


def test_the_data_of_an_old_output_is_kept_until_the_new_one_is_written(external, tmp_path, monkeypatch):
    out = tmp_path / "out.onnx"
    save_atomically(without_the_last_relu(external), out, original=external.path)
    before = out.read_bytes(), (tmp_path / "out.onnx.data").read_bytes()

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("taso_opt.onnx_io.files.save.write_whole", lambda *asked: fail(0))
    with pytest.raises(UsageError, match="No space left on device"):
        save_atomically(external.proto, out, original=external.path, force=True)
    assert before == (out.read_bytes(), (tmp_path / "out.onnx.data").read_bytes())
    assert sorted(os.listdir(tmp_path)) == ["in", "out.onnx", "out.onnx.data"]


def test_an_unchanged_copy_beside_the_original_shares_its_data(external):
    out = external.path.with_name("out.onnx")
    copy_unchanged(external.path, external.proto, out)
    assert sorted(os.listdir(out.parent)) == ["model.onnx", "out.onnx", "weights.bin"]


def test_a_cached_model_whose_files_are_links_is_read_and_copied_elsewhere(cached, tmp_path):
    (tmp_path / "out").mkdir()
    copy_unchanged(cached.path, cached.proto, tmp_path / "out" / "out.onnx")
    save_atomically(cached.proto, tmp_path / "out" / "new.onnx", original=cached.path)
    for out in (tmp_path / "out" / "out.onnx", tmp_path / "out" / "new.onnx"):
        assert np.array_equal(outputs_of(out), EXPECTED)
    assert not any(file.is_symlink() for file in (tmp_path / "out").iterdir())


@pytest.mark.parametrize("rewritten", [True, False])
def test_beside_a_cached_model_the_data_is_no_link(cached, rewritten):
    out = cached.path.with_name("out.onnx")
    if rewritten:
        save_atomically(without_the_last_relu(cached), out, original=cached.path)
    else:
        copy_unchanged(cached.path, cached.proto, out)
    assert np.array_equal(outputs_of(out), EXPECTED)
    assert sorted(os.listdir(out.parent)) == ["model.onnx", "out.onnx", "out.onnx.data", "weights.bin"]
    assert (out.parent / "weights.bin").is_symlink()


def test_external_data_can_be_read_into_the_bytes_of_a_model(external):
    content = inlined(external.proto, external.path)
    session = ort.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert np.array_equal(session.run(None, {"x": np.ones((2, 3), np.float32)})[0], EXPECTED)
    assert inlined(external.proto, external.path, limit=100) is None
    assert external.proto.graph.initializer[0].data_location == TensorProto.EXTERNAL
