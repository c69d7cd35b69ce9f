"""Tensors that lie about themselves, and external data that leads elsewhere."""

from __future__ import annotations

from pathlib import Path

import onnx
from kinds import external, kind, with_tensor
from onnx import TensorProto


@kind(3, "expected sizes of 0 or more in tensor 'w', found [-2]")
def a_negative_size(folder: Path) -> onnx.ModelProto:
    return with_tensor(TensorProto(name="w", data_type=1, dims=[-2], raw_data=b""))


@kind(3, "expected 73786976294838206464 bytes in tensor 'w', found 0")
def sizes_whose_product_overflows_to_nothing(folder: Path) -> onnx.ModelProto:
    return with_tensor(TensorProto(name="w", data_type=1, dims=[2**32, 2**32], raw_data=b""))


@kind(3, "expected 8 bytes in tensor 'w', found 4")
def fewer_bytes_than_the_shape_says(folder: Path) -> onnx.ModelProto:
    return with_tensor(TensorProto(name="w", data_type=1, dims=[2], raw_data=bytes(4)))


@kind(3, "expected 2 values in tensor 'w', found 1")
def fewer_values_than_the_shape_says(folder: Path) -> onnx.ModelProto:
    return with_tensor(TensorProto(name="w", data_type=1, dims=[2], float_data=[1.0]))


@kind(3, "expected an element type in tensor 'w', found 99")
def an_element_type_that_does_not_exist(folder: Path) -> onnx.ModelProto:
    return with_tensor(TensorProto(name="w", data_type=99, dims=[2], raw_data=bytes(8)))


@kind(3, "expected 0 bytes in tensor 'w', found 8")
def strings_stored_as_bytes(folder: Path) -> onnx.ModelProto:
    return with_tensor(TensorProto(name="w", data_type=TensorProto.STRING, dims=[2], raw_data=b"abcdefgh"))


@kind(3, "expected the external data of the model, found no file 'w.bin' in {folder}")
def external_data_that_is_missing(folder: Path) -> onnx.ModelProto:
    return external("w.bin")


@kind(3, "expected 8 bytes of external data in 'w.bin', found 7")
def external_data_that_is_too_short(folder: Path) -> onnx.ModelProto:
    (folder / "w.bin").write_bytes(bytes(7))
    return external("w.bin")


@kind(3, "expected 9223372036854775816 bytes of external data in 'w.bin', found 64")
def external_data_behind_the_end_of_its_file(folder: Path) -> onnx.ModelProto:
    (folder / "w.bin").write_bytes(bytes(64))
    return external("w.bin", offset=str(2**63))


@kind(3, "expected 8 bytes for the external data of tensor 'w', found 8 at offset -8")
def external_data_before_the_start_of_its_file(folder: Path) -> onnx.ModelProto:
    (folder / "w.bin").write_bytes(bytes(64))
    return external("w.bin", offset="-8")


@kind(3, "expected numbers as offset and length for the external data of tensor 'w', found '999…' and '8'")
def external_data_whose_place_is_no_number(folder: Path) -> onnx.ModelProto:
    (folder / "w.bin").write_bytes(bytes(64))
    return external("w.bin", offset="9" * 5000)


@kind(3, "expected external data within the model's folder, found the location '../secret.bin'")
def external_data_above_the_folder(folder: Path) -> onnx.ModelProto:
    return external("../secret.bin")


@kind(3, "expected external data within the model's folder, found the location 'sub/../../secret.bin'")
def external_data_above_the_folder_by_a_detour(folder: Path) -> onnx.ModelProto:
    (folder / "sub").mkdir()
    return external("sub/../../secret.bin")


@kind(3, "expected external data within the model's folder, found the location '{outside}/secret.bin'")
def external_data_at_an_absolute_path(folder: Path) -> onnx.ModelProto:
    return external(str(folder.parent / "secret.bin"))


@kind(3, "expected external data within the model's folder, found the location 'C:\\\\secret.bin'")
def external_data_at_a_path_of_windows(folder: Path) -> onnx.ModelProto:
    return external("C:\\secret.bin")


@kind(3, "expected external data within the model's folder, found a link in 'w.bin'")
def external_data_behind_a_link(folder: Path) -> onnx.ModelProto:
    (folder / "w.bin").symlink_to(folder.parent / "secret.bin")
    return external("w.bin")


@kind(3, "expected external data within the model's folder, found a link in 'sub/secret.bin'")
def external_data_behind_a_linked_folder(folder: Path) -> onnx.ModelProto:
    (folder / "sub").symlink_to(folder.parent)
    return external("sub/secret.bin")


@kind(3, "expected the external data of the model, found no file 'w.bin' in {folder}")
def external_data_that_is_a_folder(folder: Path) -> onnx.ModelProto:
    (folder / "w.bin").mkdir()
    return external("w.bin")


@kind(3, "expected the external data of the model, found no file 'w.bin' in {folder}")
def external_data_that_is_a_device(folder: Path) -> onnx.ModelProto:
    (folder / "w.bin").symlink_to("/dev/zero")
    return external("w.bin")


@kind(3, "expected a file name for the external data of tensor 'w', found none")
def external_data_without_a_name(folder: Path) -> onnx.ModelProto:
    return external("")


@kind(3, "expected the external data of the model, found no file 'www…' in {folder}")
def external_data_of_a_name_that_no_system_takes(folder: Path) -> onnx.ModelProto:
    return external("w" * 5000)
