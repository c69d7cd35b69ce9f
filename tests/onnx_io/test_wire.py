"""Messages cut into their fields are put together again as they were, and what is no message is refused."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import GraphProto, TensorProto

from taso_opt.onnx_io.files.wire import WINDOW, Content, fields, header

MANY = 1000
TENSORS = st.builds(
    TensorProto,
    name=st.text(max_size=200),
    dims=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4),
    data_type=st.integers(0, 2**31 - 1),
    float_data=st.lists(st.floats(width=32), max_size=4),
    double_data=st.lists(st.floats(), max_size=4),
    raw_data=st.binary(max_size=300),
)


def cut(content, end=None, most=MANY):
    return list(fields(Content(BytesIO(content)), 0, len(content) if end is None else end, most))


@given(TENSORS)
def test_the_fields_of_a_message_are_all_of_it(tensor):
    content = tensor.SerializeToString()
    found = cut(content)
    assert b"".join(content[field.start : field.end] for field in found) == content
    assert [field.number for field in found] == sorted(field.number for field in found)


@given(st.lists(TENSORS, min_size=1, max_size=3))
def test_a_message_in_a_message_stands_where_the_field_says(tensors):
    content = GraphProto(initializer=tensors).SerializeToString()
    found = [TensorProto.FromString(content[field.value : field.end]) for field in cut(content)]
    assert [tensor.SerializeToString() for tensor in found] == [tensor.SerializeToString() for tensor in tensors]


@given(st.binary(min_size=1, max_size=40_000))
def test_a_header_is_what_protobuf_writes_before_a_value(value):
    number = TensorProto.RAW_DATA_FIELD_NUMBER
    assert header(number, len(value)) + value == TensorProto(raw_data=value).SerializeToString()


@given(TENSORS, st.data())
def test_a_message_that_is_cut_off_within_a_field_is_refused(tensor, data):
    content = tensor.SerializeToString()
    ends = [0, *(field.end for field in cut(content))]
    at = data.draw(st.integers(0, len(content)))
    if at in ends:
        assert [field.end for field in cut(content, at)] == ends[1 : ends.index(at) + 1]
    else:
        with pytest.raises(ValueError, match="expected a"):
            cut(content, at)


@pytest.mark.parametrize("content", [b"\x0b", b"\x0c", b"\x0e\x01", b"\x80" * 11, b"\x0a\x05abc", b"\x0d\x01"])
def test_what_is_no_message_is_refused(content):
    with pytest.raises(ValueError, match="expected a"):
        cut(content)


def test_a_message_of_too_many_fields_is_refused_before_they_are_all_seen():
    content = b"\x08\x01" * 10
    assert len(cut(content, most=10)) == 10
    with pytest.raises(ValueError, match="expected at most 9 fields"):
        cut(content, most=9)


def test_parts_are_read_wherever_they_stand_and_what_is_missing_is_an_error():
    whole = bytes(range(256)) * (WINDOW // 64)
    content = Content(BytesIO(whole))
    for start, end in ((0, 3), (WINDOW - 1, WINDOW + 1), (5, 2 * WINDOW), (7, 7), (len(whole) - 2, len(whole)), (1, 4)):
        assert content.part(start, end) == whole[start:end]
    with pytest.raises(ValueError, match="expected 2 bytes"):
        content.part(len(whole) - 1, len(whole) + 1)
