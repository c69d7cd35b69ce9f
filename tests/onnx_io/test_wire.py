"""Messages cut into their fields are put together again as they were, and what is no message is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import GraphProto, TensorProto

from taso_opt.onnx_io.wire import fields, header

TENSORS = st.builds(
    TensorProto,
    name=st.text(max_size=200),
    dims=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4),
    data_type=st.integers(0, 2**31 - 1),
    float_data=st.lists(st.floats(width=32), max_size=4),
    double_data=st.lists(st.floats(), max_size=4),
    raw_data=st.binary(max_size=300),
)


@given(TENSORS)
def test_the_fields_of_a_message_are_all_of_it(tensor):
    content = tensor.SerializeToString()
    found = list(fields(content, 0, len(content)))
    assert b"".join(content[field.start : field.end] for field in found) == content
    assert [field.number for field in found] == sorted(field.number for field in found)


@given(st.lists(TENSORS, min_size=1, max_size=3))
def test_a_message_in_a_message_stands_where_the_field_says(tensors):
    content = GraphProto(initializer=tensors).SerializeToString()
    found = [TensorProto.FromString(content[field.value : field.end]) for field in fields(content, 0, len(content))]
    assert [tensor.SerializeToString() for tensor in found] == [tensor.SerializeToString() for tensor in tensors]


@given(st.binary(min_size=1, max_size=40_000))
def test_a_header_is_what_protobuf_writes_before_a_value(value):
    number = TensorProto.RAW_DATA_FIELD_NUMBER
    assert header(number, len(value)) + value == TensorProto(raw_data=value).SerializeToString()


@given(TENSORS, st.data())
def test_a_message_that_is_cut_off_within_a_field_is_refused(tensor, data):
    content = tensor.SerializeToString()
    ends = {0} | {field.end for field in fields(content, 0, len(content))}
    at = data.draw(st.integers(0, len(content)))
    if at in ends:
        assert max(field.end for field in fields(content, 0, at)) == at if at else True
    else:
        with pytest.raises(ValueError, match="expected a"):
            list(fields(content, 0, at))


@pytest.mark.parametrize("content", [b"\x0b", b"\x0c", b"\x0e\x01", b"\x80" * 11, b"\x0a\x05abc", b"\x0d\x01"])
def test_what_is_no_message_is_refused(content):
    with pytest.raises(ValueError, match="expected a"):
        list(fields(content, 0, len(content)))
