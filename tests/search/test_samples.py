"""The user's own samples, from a file or a folder, and what is refused."""

import io
from zipfile import ZipFile

import numpy as np
import pytest

from taso_opt.errors import InvalidInputError
from taso_opt.onnx_io import ModelInput
from taso_opt.search.judging.feeds import TIMING_SEEDS, other_sizes, sample_feeds, timing_feeds
from taso_opt.search.judging.samples import read_samples

INPUTS = (ModelInput("x", "float32", ("n", 3), (1, 3)), ModelInput("k", "int64", (2,), (2,)))
X, K = np.ones((4, 3), np.float32), np.array([5, 6])


def test_one_file_is_one_set(tmp_path):
    np.savez(tmp_path / "s.npz", x=X, k=K)
    (sample,) = read_samples(tmp_path / "s.npz", INPUTS)
    assert np.array_equal(sample["x"], X) and np.array_equal(sample["k"], K)


def test_a_folder_of_archives_gives_one_set_for_each_in_the_order_of_names(tmp_path):
    for number in (2, 1, 3):
        np.savez(tmp_path / f"s{number}.npz", x=X * number)
    (tmp_path / "notes.txt").write_text("not read")
    assert [sample["x"][0, 0] for sample in read_samples(tmp_path, INPUTS)] == [1, 2, 3]


def test_a_folder_of_arrays_is_one_set_by_the_names_of_the_files(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "k.npy", K)
    (sample,) = read_samples(tmp_path, INPUTS)
    assert sorted(sample) == ["k", "x"]


def test_arrays_of_the_other_byte_order_keep_their_numbers(tmp_path):
    np.savez(tmp_path / "s.npz", x=(X * 3).astype(X.dtype.newbyteorder()))
    (sample,) = read_samples(tmp_path / "s.npz", INPUTS)
    assert sample["x"].dtype.isnative and np.array_equal(np.frombuffer(sample["x"].tobytes(), np.float32), [3] * 12)


def test_complete_samples_are_the_whole_check_and_others_are_filled_up_at_random(tmp_path):
    assert len(sample_feeds(INPUTS, [], 0)) == 3
    assert [feed["k"][0] for feed in sample_feeds(INPUTS, [{"x": X, "k": K}, {"x": X, "k": K + 1}], 0)] == [5, 6]
    feeds = sample_feeds(INPUTS, [{"k": K}, {"k": K + 1}], 0)
    assert [feed["k"][0] for feed in feeds] == [5, 6, 5]
    assert not np.array_equal(feeds[0]["x"], feeds[2]["x"])


def no_zip(path):
    path.write_bytes(b"hello")


def pickled(path):
    np.savez(path, x=np.array([{}], object))


def bomb(path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (10**14,)})
    with ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header.getvalue())


def no_array(path):
    with ZipFile(path, "w") as archive:
        archive.writestr("x", b"text")


def cut(path):
    np.savez_compressed(path, x=X)
    content = path.read_bytes()
    path.write_bytes(content[:40] + b"\xff" * 20 + content[60:])


@pytest.mark.parametrize(
    ("make", "wording"),
    [
        (no_zip, r"expected an \.npz file of arrays, found .*s\.npz: a file of another kind"),
        (pickled, r"expected an \.npz file of arrays, found .*allow_pickle=False"),
        (bomb, r"expected an \.npz file of arrays, found .*s\.npz: "),
        (cut, r"expected an \.npz file of arrays, found .*s\.npz: "),
        (no_array, r"expected names of inputs \(x, k\) in .*s\.npz, found 'x'"),
        (lambda path: None, r"expected an \.npz file of arrays, found .*: no such file"),
        (lambda path: path.mkdir(), r"expected \.npz or \.npy files in the folder .*s\.npz, found none"),
        (lambda path: np.savez(path, z=X), r"expected names of inputs \(x, k\) in .*, found 'z'"),
        (lambda path: np.savez(path, x=X.T), r"expected float32\['n', 3\] for input 'x' in .*, found float32\[3, 4\]"),
        (lambda path: np.savez(path, k=X), r"expected int64\[2\] for input 'k' in .*, found float32\[4, 3\]"),
    ],
)
def test_what_is_no_sample_is_refused_in_one_sentence(make, wording, tmp_path):
    make(tmp_path / "s.npz")
    with pytest.raises(InvalidInputError, match=wording) as caught:
        read_samples(tmp_path / "s.npz", INPUTS)
    assert "\n" not in str(caught.value)


def test_a_name_that_no_file_can_have_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(InvalidInputError, match=r"expected \.npz or \.npy files, found .*: File name too long"):
        read_samples(tmp_path / ("long" * 100), INPUTS)


def test_an_archive_that_unpacks_to_too_much_is_refused_unread(tmp_path, monkeypatch):
    np.savez(tmp_path / "s.npz", x=X)
    monkeypatch.setattr("taso_opt.search.judging.samples.MOST_BYTES", 100)
    with pytest.raises(InvalidInputError, match="expected at most 100 bytes of arrays, found 176"):
        read_samples(tmp_path / "s.npz", INPUTS)


def test_an_array_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"hello")
    with pytest.raises(InvalidInputError, match=r"expected an \.npy file of an array, found .*x\.npy"):
        read_samples(tmp_path, INPUTS)


@pytest.mark.parametrize(
    "shape", ["(", "(1000000000000,), }", "-" * 5000 + "1, }", "(-5,), }"], ids=["cut", "huge", "deep", "negative"]
)
def test_an_array_file_whose_header_is_wrong_is_refused(shape, tmp_path):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}\n".encode()
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(48))
    with pytest.raises(InvalidInputError, match=r"expected an \.npy file of an array, found .*x\.npy: ") as caught:
        read_samples(tmp_path, INPUTS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("place", "value"), [(8, 1), (10, 99)], ids=["encrypted", "packed in an unknown way"])
def test_an_archive_that_cannot_be_unpacked_is_refused(place, value, tmp_path):
    np.savez(tmp_path / "s.npz", x=X)
    content = bytearray((tmp_path / "s.npz").read_bytes())
    content[content.index(b"PK\x01\x02") + place] = value
    content[place - 2] = value
    (tmp_path / "s.npz").write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"expected an \.npz file of arrays, found .*s\.npz: "):
        read_samples(tmp_path / "s.npz", INPUTS)


def test_one_partial_sample_among_complete_ones_is_filled_up():
    feeds = sample_feeds(INPUTS, [{"x": X, "k": K}, {"k": K + 1}], 0)
    assert [sorted(feed) for feed in feeds] == [["k", "x"]] * 3
    assert feeds[1]["x"].shape == (1, 3) and feeds[2]["x"] is X


def test_other_sizes_are_those_of_all_open_axes_and_then_of_the_first_alone():
    inputs = [ModelInput("x", "float32", ("n", 3, "m"), (1, 3, 7)), ModelInput("y", "float32", (2,), (2,))]
    assert [[entry.bound for entry in found] for found in other_sizes(inputs)] == [
        [(2, 3, 8), (2,)],
        [(2, 3, 7), (2,)],
    ]
    assert list(other_sizes(inputs[1:])) == []


def test_heavy_inputs_are_timed_on_fewer_sets(monkeypatch):
    light = timing_feeds(INPUTS, (), 0)
    monkeypatch.setattr("taso_opt.search.judging.feeds.TIMING_BYTES", 3 * (3 * 4 + 2 * 8))
    assert (len(light), len(timing_feeds(INPUTS, (), 0))) == (TIMING_SEEDS, 3)
    assert len(timing_feeds(INPUTS, (), 0, given_bytes=3 * 4 + 2 * 8)) == 1, "their results take room too"
