"""Files that are no models, and outputs that must not be written."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

from kinds import BUDGET, RELU, external, kind, save
from onnx import parser


@kind(3, "expected an ONNX model, found no file {folder}/model.onnx")
def no_file(folder: Path) -> None:
    return None


@kind(3, "expected an ONNX model, found a folder: {folder}/model.onnx")
def a_folder(folder: Path) -> None:
    (folder / "model.onnx").mkdir()


@kind(3, "expected an ONNX model, found an empty file: {folder}/model.onnx")
def an_empty_file(folder: Path) -> bytes:
    return b""


@kind(3, "expected an ONNX model, found no regular file: {folder}/model.onnx")
def a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "model.onnx")


@kind(3, "expected an ONNX model, found no regular file: {folder}/model.onnx")
def a_device(folder: Path) -> None:
    (folder / "model.onnx").symlink_to("/dev/zero")


@kind(3, "expected an ONNX model, found a file that cannot be read: {folder}/model.onnx")
def a_link_to_itself(folder: Path) -> None:
    (folder / "model.onnx").symlink_to(folder / "model.onnx")


@kind(3, "expected an ONNX model, found no file {folder}/model.onnx")
def a_link_to_nothing(folder: Path) -> None:
    (folder / "model.onnx").symlink_to(folder / "nothing")


@kind(3, "expected an ONNX model, found a file of another kind or a cut-off one: {folder}/model.onnx")
def a_picture(folder: Path) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + bytes(64)


@kind(3, "expected an ONNX model, found a file of another kind or a cut-off one: {folder}/model.onnx")
def an_archive(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("data.pkl", b"cos\nsystem\n(S'touch pwned'\ntR.")
    return packed.getvalue()


@kind(3, "expected an ONNX model of less than 2 GB beside its data, found 2147483648 bytes: {folder}/model.onnx")
def a_file_larger_than_protobuf_allows(folder: Path) -> None:
    with (folder / "model.onnx").open("wb") as stream:
        stream.truncate(2**31)


@kind(3, "expected an ONNX model, found a file of another kind or a cut-off one: {folder}/model.onnx")
def a_file_that_is_cut_off(folder: Path) -> bytes:
    return parser.parse_model(RELU).SerializeToString()[:-3]


@kind(3, "expected an ONNX model, found no file {folder}/\\x1b[31mred \\x07.onnx")
def a_file_name_that_a_terminal_would_obey(folder: Path) -> list[object]:
    return ["optimize", folder / "\x1b[31mred\n\x07.onnx"]


@kind(2, "expected an output other than the input, found {folder}/model.onnx for both")
def the_input_as_output(folder: Path) -> list[object]:
    return _written_to(folder, folder / "model.onnx", "--force")


@kind(2, "expected an output other than the input, found {folder}/out.onnx for both")
def a_link_to_the_input_as_output(folder: Path) -> list[object]:
    (folder / "out.onnx").symlink_to(folder / "model.onnx")
    return _written_to(folder, folder / "out.onnx", "--force")


@kind(2, "expected no file at {folder}/out.onnx, found one (--force replaces it)")
def an_output_that_exists(folder: Path) -> list[object]:
    (folder / "out.onnx").write_bytes(b"precious")
    return _written_to(folder, folder / "out.onnx")


@kind(2, "expected a folder to write to, found none at {folder}/none")
def an_output_in_no_folder(folder: Path) -> list[object]:
    return _written_to(folder, folder / "none" / "out.onnx")


@kind(2, "expected a file name that can be written, found '{folder}/ooo…': File name too long")
def an_output_of_a_name_that_no_system_takes(folder: Path) -> list[object]:
    return _written_to(folder, folder / ("o" * 5000))


@kind(2, "expected an output other than the data of the input, found {folder}/w.bin for both")
def the_data_of_the_input_as_output(folder: Path) -> list[object]:
    (folder / "w.bin").write_bytes(bytes(8))
    (folder / "model.onnx").write_bytes(external("w.bin").SerializeToString())
    return ["optimize", folder / "model.onnx", "-o", folder / "w.bin", "--force", *BUDGET]


def _written_to(folder: Path, output: Path, *more: str) -> list[object]:
    save(folder)
    return ["optimize", folder / "model.onnx", "-o", output, *more, *BUDGET]
