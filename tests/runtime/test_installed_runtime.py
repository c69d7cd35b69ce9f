"""Which runtime is installed, what to do about it, and which device is meant."""

import sys
from pathlib import Path

import pytest

from taso_opt.errors import UnsupportedError, UsageError
from taso_opt.runtime import installed_runtime, require_runtime, resolve_device

CPU_ONLY = ("CPUExecutionProvider",)
WITH_CUDA = ("CUDAExecutionProvider", "CPUExecutionProvider")


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """A search path that holds the metadata of the packages named, and nothing else."""
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)

    def install(*packages: str) -> Path:
        for package in packages:
            folder = tmp_path / f"{package.replace('-', '_')}-1.31.1.dist-info"
            folder.mkdir()
            (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.31.1\n")
        monkeypatch.setattr(sys, "path", [str(tmp_path)])
        return tmp_path

    return install


def test_no_runtime_gives_the_command_that_installs_one(environment):
    environment()
    assert installed_runtime().kind == "none"
    with pytest.raises(UnsupportedError) as caught:
        require_runtime()
    assert str(caught.value) == 'expected an ONNX Runtime package, found none; run: pip install "tasoopt[cpu]"'


def test_two_runtimes_give_the_command_that_leaves_one(environment):
    environment("onnxruntime", "onnxruntime-gpu")
    assert installed_runtime().kind == "both"
    with pytest.raises(UnsupportedError) as caught:
        require_runtime()
    command = (
        'pip uninstall -y onnxruntime onnxruntime-gpu && pip install "tasoopt[cpu]"  # on an NVIDIA GPU: tasoopt[gpu]'
    )
    assert str(caught.value).endswith(f"which overwrite each other; run: {command}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("package", ["onnxruntime", "onnxruntime-gpu"])
def test_one_runtime_is_named_with_its_version(environment, package):
    environment(package)
    assert (require_runtime().kind, require_runtime().version) == (package, "1.31.1")


def test_a_runtime_under_another_name_is_accepted(environment):
    folder = environment()
    (folder / "onnxruntime").mkdir()
    (folder / "onnxruntime" / "__init__.py").write_text("raise AssertionError('imported')")
    assert require_runtime().kind == "other"


def test_a_device_is_resolved_by_what_answers():
    assert resolve_device("auto", CPU_ONLY) == "cpu"
    assert resolve_device("auto", WITH_CUDA) == "cuda"
    assert resolve_device("cpu", WITH_CUDA) == "cpu"
    assert resolve_device("cuda", WITH_CUDA) == "cuda"


def test_cuda_that_does_not_answer_is_unsupported_and_other_words_are_usage_errors():
    with pytest.raises(UnsupportedError, match="for device 'cuda', found only: CPUExecutionProvider"):
        resolve_device("cuda", CPU_ONLY)
    with pytest.raises(UsageError, match="expected device auto, cpu or cuda, found 'gpu'"):
        resolve_device("gpu", CPU_ONLY)
