"""Whatever is not a valid model is refused in one sentence."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnxruntime import InferenceSession

from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io import copy_unchanged, load_model, read_model, skeleton
from taso_opt.onnx_io.files.external import is_external
from taso_opt.onnx_io.scopes import all_tensors

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
RELU = HEAD + "g (float[2] x) => (float[2] y) { y = Relu(x) }"


def refusal(path):
    with pytest.raises(InvalidInputError) as caught:
        load_model(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("expected ")
    return message.replace(f"{path.parent}/", "")


def test_a_valid_model_is_accepted(save):
    load_model(save(RELU))


def test_a_missing_file_is_refused(tmp_path):
    assert refusal(tmp_path / "no.onnx") == "expected an ONNX model, found no file no.onnx"


def test_a_path_through_a_file_is_refused(save):
    path = save(RELU)
    assert "found no file" in refusal(path / "inner.onnx")


def test_a_path_that_the_system_cannot_take_is_refused(tmp_path):
    assert "found a file that cannot be read" in refusal(tmp_path / ("x" * 5000))
    with pytest.raises(InvalidInputError, match="found a file that cannot be read"):
        load_model(Path("a\0b"))


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "dir.onnx").mkdir()
    assert refusal(tmp_path / "dir.onnx") == "expected an ONNX model, found a folder: dir.onnx"


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "expected an ONNX model, found no regular file: pipe"


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "empty.onnx").touch()
    assert refusal(tmp_path / "empty.onnx") == "expected an ONNX model, found an empty file: empty.onnx"


@pytest.mark.parametrize("content", [b"# a text\nthat is no model\n", b"\x89PNG\r\n\x1a\n" + bytes(64), b'{"json": 1}'])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    path = tmp_path / "other.onnx"
    path.write_bytes(content)
    assert refusal(path).startswith("expected an ONNX model, found a file")


def test_a_file_cut_off_anywhere_is_refused(save):
    path = save(RELU.replace("Relu(x)", "Add(x, w)"), {"w": (2,)})
    whole = path.read_bytes()
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        refusal(path)


def test_a_model_without_a_graph_is_refused(save):
    model = onnx.ModelProto(ir_version=8)
    assert refusal(save(model)) == "expected an ONNX model, found a file without a graph: model.onnx"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (RELU.replace("Relu(x)", "Relu(z)"), "input 'z'"),
        (RELU.replace("y = Relu(x)", "y = Relu(x)  y = Tanh(x)"), "single static assignment"),
        (RELU.replace("Relu(x)", "NoSuchOperator(x)"), "No Op registered for NoSuchOperator"),
        (RELU.replace("Relu(x)", "Relu(x, x)"), "input size 2 not in range"),
        (RELU.replace("ir_version: 8", "ir_version: 999"), "ir_version 999"),
    ],
)
def test_a_model_that_breaks_the_standard_is_refused_with_the_reason(save, text, reason):
    message = refusal(save(text))
    assert message.startswith("expected a valid ONNX model, found in model.onnx: ")
    assert reason.lower() in message.lower()


def test_a_cyclic_graph_is_refused(save):
    message = refusal(save(HEAD + "g (float[2] x) => (float[2] y) { a = Add(x, b)  b = Relu(a)  y = Relu(b) }"))
    assert message == "expected a graph without cycles, found one through node 'Add'"


@pytest.mark.parametrize(
    ("opset", "node"), [(18, "GroupNormalization <num_groups = 2> (x, w, w)"), (9, "ThresholdedRelu (x)")]
)
def test_an_operator_of_another_version_of_onnx_is_left_to_the_runtime(save, opset, node):
    head = f'<ir_version: 4, opset_import: ["" : {opset}]>'
    path = save(f"{head} g (float[1, 4, 2, 2] x) => (float[1, 4, 2, 2] y) {{ y = {node} }}", {"w": (2,)})
    load_model(path)
    InferenceSession(str(path), providers=["CPUExecutionProvider"])


def test_an_output_that_nothing_computes_is_refused(save):
    assert "expected" in refusal(save(HEAD + "g (float[2] x) => (float[2] y) { z = Relu(x) }"))


def test_a_graph_that_is_only_unsorted_is_accepted(save):
    load_model(save(HEAD + "g (float[2] x) => (float[2] y) { y = Relu(a)  a = Neg(x) }"))


def test_a_tensor_with_too_few_bytes_is_refused(save):
    model = parser.parse_model(RELU.replace("Relu(x)", "Add(x, w)"))
    model.graph.initializer.append(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], raw_data=b"1234"))
    assert refusal(save(model)) == "expected 8 bytes in tensor 'w', found 4"


def test_a_tensor_with_a_negative_or_an_absurd_size_is_refused(save):
    model = parser.parse_model(RELU.replace("Relu(x)", "Add(x, w)"))
    model.graph.initializer.append(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[-2], raw_data=b""))
    assert refusal(save(model)) == "expected sizes of 0 or more in tensor 'w', found [-2]"
    model.graph.initializer[0].dims[:] = [2**62, 2**62]
    assert refusal(save(model)) == f"expected {2**126} bytes in tensor 'w', found 0"


def test_a_tensor_of_no_known_element_type_is_refused(save):
    model = parser.parse_model(RELU.replace("Relu(x)", "Add(x, w)"))
    model.graph.initializer.append(TensorProto(name="w", data_type=99, dims=[2], raw_data=b"1234"))
    assert refusal(save(model)) == "expected an element type in tensor 'w', found 99"


def test_strings_that_are_no_text_do_not_hinder_sizes_that_hang_on_values(save, library):
    model = parser.parse_model(HEAD + "g (float[n] x) => (float[m] y) { c = Compress(x, k)  y = Relu(c) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array([True, False]), "k"))
    model.graph.initializer.append(TensorProto(name="s", data_type=TensorProto.STRING, dims=[1], string_data=[b"\xff"]))
    assert read_model(save(model), library).graph.outputs


def test_a_constant_whose_value_is_no_tensor_is_refused(save):
    model = parser.parse_model(HEAD + "g (float[2] x) => (float[2] y) { k = Constant()  y = Add(x, k) }")
    model.graph.node[0].attribute.add(name="value", type=onnx.AttributeProto.INT, i=3)
    assert "expected a valid ONNX model" in refusal(save(model))


def test_a_tensor_in_segments_is_refused(save):
    model = parser.parse_model(RELU.replace("Relu(x)", "Add(x, w)"))
    model.graph.initializer.append(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], raw_data=bytes(8)))
    model.graph.initializer[0].segment.end = 1
    assert refusal(save(model)) == "expected whole tensors, found a segment of tensor 'w'"


def external(location, offset="0", length="8"):
    model = parser.parse_model(RELU.replace("Relu(x)", "Add(x, w)"))
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    return model


def test_external_data_is_read_when_asked_for(save, library, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(b"\0" * 5 + np.array([1, 2], np.float32).tobytes())
    model = read_model(save(external("data/w.bin", "5")), library)
    value = model.constant("w")
    assert isinstance(value, np.memmap)
    assert value.tolist() == [1, 2]


BRANCHES = """<ir_version: 8, opset_import: ["" : 13]> g (bool c, float[N,40] x) => (float[N,40] y) {
    y = If (c) <then_branch = t () => (float[N,40] p) { u = MatMul(x, w)  p = Add(u, b) },
                else_branch = e () => (float[N,40] q) { k = Constant <value = float {2}> ()  q = MatMul(x, k) }>
}"""


def filed(array, name, offset):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=array.shape)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", str(offset)), ("length", str(array.nbytes))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def branches_with_data_in_a_file(folder):
    """A model of an If with a large and a small weight in a branch and a large constant in the other, in a file."""
    model = parser.parse_model(BRANCHES)
    generator = np.random.default_rng(0)
    w, k = generator.standard_normal((2, 40, 40), np.float32)
    b = generator.standard_normal(40, np.float32)
    (folder / "w.bin").write_bytes(w.tobytes() + b.tobytes() + k.tobytes())
    then, other = (attribute.g for attribute in model.graph.node[0].attribute)
    then.initializer.extend([filed(w, "w", 0), filed(b, "b", w.nbytes)])
    other.node[0].attribute[0].t.CopyFrom(filed(k, "", w.nbytes + b.nbytes))
    return model


def test_external_data_of_bodies_is_found_wherever_the_process_is(save, library, tmp_path, monkeypatch):
    path = save(branches_with_data_in_a_file(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    model = read_model(path, library)
    assert [entry.bound for entry in model.inputs] == [(), (1, 40)]
    bare = skeleton(model.proto, path)
    assert not any(map(is_external, all_tensors(bare)))
    onnx.checker.check_model(bare, full_check=True)


def test_external_data_of_functions_is_found_wherever_the_process_is(save, library, tmp_path, monkeypatch):
    text = """<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
        g (float[N,40] x) => (float[N,40] y) { y = my.twice(x) }
        <domain: "my", opset_import: ["" : 17]>
        twice (x) => (y) { k = Constant <value = float {2}> ()  y = MatMul(x, k) }"""
    model, k = parser.parse_model(text), np.random.default_rng(0).standard_normal((40, 40), np.float32)
    (tmp_path / "w.bin").write_bytes(k.tobytes())
    model.functions[0].node[0].attribute[0].t.CopyFrom(filed(k, "", 0))
    (tmp_path / "elsewhere").mkdir()
    path = save(model)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert [entry.bound for entry in read_model(path, library).inputs] == [(1, 40)]
    assert not any(map(is_external, all_tensors(skeleton(onnx.load(path, load_external_data=False), path))))


def model_of_a_function_with_a_default(tensor):
    """A model of a function that multiplies by the tensor that its attribute is by default."""
    text = """<ir_version: 9, opset_import: ["" : 17, "my" : 1]>
        g (float[N,40] x) => (float[N,40] y) { y = my.product(x) }
        <domain: "my", opset_import: ["" : 17]>
        product <k: tensor = float {2}> (x) => (y) { c = Constant <value: tensor = @k> ()  y = MatMul(x, c) }"""
    model = parser.parse_model(text)
    model.functions[0].attribute_proto[0].t.CopyFrom(tensor)
    return model


def test_external_data_of_defaults_of_functions_is_checked_and_found(save, library, tmp_path, monkeypatch):
    k = np.random.default_rng(0).standard_normal((40, 40), np.float32)
    path = save(model_of_a_function_with_a_default(filed(k, "", 0)))
    assert refusal(path) == f"expected the external data of the model, found no file 'w.bin' in {tmp_path}"
    (tmp_path / "w.bin").write_bytes(k.tobytes())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    model = read_model(path, library)
    assert [entry.bound for entry in model.inputs] == [(1, 40)]
    copy_unchanged(path, model.proto, tmp_path / "elsewhere" / "out.onnx")
    assert (tmp_path / "elsewhere" / "w.bin").read_bytes() == k.tobytes()


@pytest.mark.parametrize("offset", [None, "3"])
def test_missing_or_short_external_data_is_refused(save, tmp_path, offset):
    path = save(external("w.bin", offset))
    assert f"expected the external data of the model, found no file 'w.bin' in {tmp_path}" in refusal(path)
    (tmp_path / "w.bin").write_bytes(b"1234567")
    assert refusal(path) == f"expected {8 + int(offset or 0)} bytes of external data in 'w.bin', found 7"


def test_external_data_may_have_a_colon_in_its_name(save, library, tmp_path):
    (tmp_path / "a:b.bin").write_bytes(np.array([1, 2], np.float32).tobytes())
    assert read_model(save(external("a:b.bin")), library).constant("w").tolist() == [1, 2]


@pytest.mark.parametrize("location", ["/etc/hostname", "../w.bin", "a/../../w.bin", "C:\\w.bin", "..\\w.bin"])
def test_external_data_outside_the_folder_is_refused_even_if_it_exists(save, tmp_path, location):
    (tmp_path.parent / "w.bin").write_bytes(bytes(64))
    message = refusal(save(external(location)))
    assert message == f"expected external data within the model's folder, found the location {location!r}"


def test_external_data_behind_a_link_that_leaves_the_folder_is_refused(save, tmp_path):
    outside = tmp_path.parent / "outside.bin"
    outside.write_bytes(bytes(64))
    (tmp_path / "w.bin").symlink_to(outside)
    message = refusal(save(external("w.bin")))
    assert message == "expected external data within the model's folder, found a link in 'w.bin'"
    (tmp_path / "w.bin").unlink()
    (tmp_path / "real.bin").write_bytes(bytes(64))
    (tmp_path / "w.bin").symlink_to(tmp_path / "real.bin")
    load_model(save(external("w.bin")))


def test_a_link_to_a_model_may_have_links_to_data_where_the_model_really_is(save, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    save(external("w.bin"), name="store/model")
    for outside in (store / "data", tmp_path.parent / "data"):
        outside.write_bytes(bytes(64))
        place = tmp_path / outside.parent.name
        place.mkdir(exist_ok=True)
        (place / "model.onnx").unlink(missing_ok=True)
        (place / "model.onnx").symlink_to(store / "model")
        (place / "w.bin").symlink_to(outside)
    load_model(tmp_path / "store" / "model.onnx")
    message = refusal(tmp_path / tmp_path.parent.name / "model.onnx")
    assert message == "expected external data within the model's folder, found a link in 'w.bin'"


@pytest.mark.parametrize(
    ("stated", "reason"),
    [
        ((None, "0", "8"), "expected a file name for the external data of tensor 'w', found none"),
        (("w.bin", "x", "8"), "expected numbers as offset and length for the external data of tensor 'w'"),
        (("w.bin", "-8", "8"), "expected 8 bytes for the external data of tensor 'w', found 8 at offset -8"),
        (("w.bin", "0", "9"), "expected 8 bytes for the external data of tensor 'w', found 9 at offset 0"),
    ],
)
def test_a_wrong_statement_about_external_data_is_refused(save, tmp_path, stated, reason):
    (tmp_path / "w.bin").write_bytes(bytes(64))
    assert refusal(save(external(*stated))).startswith(reason)


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "FLOAT8E4M3FN", "BFLOAT16", "BOOL", "FLOAT16"])
def test_external_data_of_narrow_types_is_read_right(save, library, tmp_path, kind):
    code = TensorProto.DataType.Value(kind)
    values = np.array([1, 0, 1], helper.tensor_dtype_to_np_dtype(code))
    inline = numpy_helper.from_array(values, "w")
    (tmp_path / "w.bin").write_bytes(inline.raw_data)
    model = external("w.bin", "0", str(len(inline.raw_data)))
    model.graph.initializer[0].data_type = code
    model.graph.initializer[0].dims[:] = [3]
    model.ir_version = 13
    model.opset_import[0].version = 21
    model.graph.node[0].CopyFrom(helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT))
    read = read_model(save(model), library)
    assert read.constant("w").astype(float).tolist() == [1, 0, 1]


def test_a_tensor_with_too_few_values_is_refused(save):
    model = parser.parse_model(RELU.replace("Relu(x)", "Add(x, w)"))
    model.graph.initializer.append(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], float_data=[1.0]))
    assert refusal(save(model)) == "expected 2 values in tensor 'w', found 1"


def test_every_file_with_one_damaged_byte_is_read_or_refused_but_never_a_crash(save, library):
    nodes = "{ a = MatMul(x, w)  b = Reshape(a, s) y = Relu(b) }"
    path = save(HEAD + f"g (float[N, 4] x) => (float[N, 2] y) <int64[2] s = {{-1, 2}}> {nodes}", {"w": (4, 2)})
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    outcomes = set()
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[generator.integers(len(whole))] = generator.integers(256)
        path.write_bytes(damaged)
        outcomes.add(_outcome(path, library))
    assert outcomes == {"read", "refused"}


def _outcome(path, library):
    try:
        read_model(path, library)
    except InvalidInputError:
        return "refused"
    return "read"


def test_an_output_without_a_type_is_accepted_since_the_runtime_infers_it(save):
    load_model(save('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (y) { y = Relu(x) }'))
