"""The diagnosis: exit code, JSON, and one mending command for each thing that is missing."""

import json
import re
from dataclasses import replace
from importlib import resources
from importlib.metadata import requires
from pathlib import Path

import pytest

from taso_opt.cli import doctor, main
from taso_opt.cli.doctor import (
    CUPY_PACKAGES,
    Problem,
    cache_problems,
    count_rules,
    diagnose,
    gpu_problems,
    lines,
    missing_packages,
)
from taso_opt.errors import RuntimeFailure, UnsupportedError
from taso_opt.runtime import RuntimeInfo

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
NOTHING = dict.fromkeys([*doctor.BASE_PACKAGES, *doctor.RUNTIME_PACKAGES, *CUPY_PACKAGES])


def test_a_working_runtime_exits_0_and_the_document_names_what_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert err == ""
    assert document["schema_version"] == 1
    assert CPU in document["runtime"]["providers"]
    assert document["device"] == ("cuda" if CUDA in document["runtime"]["providers"] else "cpu")
    assert document["packages"]["onnx"].count(".") >= 1


def test_the_text_names_every_problem_with_its_mending_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "missing_packages", lambda packages: [Problem("no onnx", "pip install onnx")])
    assert main(["doctor"]) == 4
    out = capsys.readouterr().out
    assert "Problem: no onnx\n   mend: pip install onnx\n" in out
    assert "none works" in out
    assert "Nothing is missing" not in out


@pytest.mark.parametrize("kind", ["none", "both"])
def test_no_runtime_or_two_exits_4_with_the_command_that_mends_it(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise UnsupportedError(f"expected one runtime, found {kind}; run: pip install it")

    monkeypatch.setattr("taso_opt.runtime.require_runtime", refuse)
    assert main(["doctor", "--json"]) == 4
    document = json.loads(capsys.readouterr().out)
    assert document["runtime"] is None
    assert document["device"] is None
    assert document["problems"][0] == {"what": f"expected one runtime, found {kind}", "mend": "pip install it"}


def test_a_runtime_that_crashes_exits_4_and_is_to_be_reinstalled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(process: object) -> None:
        raise RuntimeFailure("expected an answer, found it killed by SIGSEGV")

    monkeypatch.setattr("taso_opt.runtime.probe", crash)
    assert main(["doctor", "--json"]) == 4
    problem = json.loads(capsys.readouterr().out)["problems"][0]
    assert problem["what"] == "expected an answer, found it killed by SIGSEGV"
    assert problem["mend"].startswith("pip install --force-reinstall onnxruntime")


def test_every_missing_base_package_is_a_problem_and_an_optional_one_is_not() -> None:
    names = [problem.mend for problem in missing_packages(NOTHING | {"onnx": "1.20"})]
    assert names == [f"pip install {name}" for name in doctor.BASE_PACKAGES if name != "onnx"]


def test_every_package_that_the_tool_depends_on_is_looked_for() -> None:
    needed = {re.split("[ <>=;]", stated)[0] for stated in requires("tasoopt") or () if "extra ==" not in stated}
    assert needed - {"click"} == set(doctor.BASE_PACKAGES)  # without click there is no command


@pytest.mark.parametrize(
    ("packages", "providers", "found"),
    [
        ({}, (CPU,), []),
        ({"onnxruntime-gpu": "1.31"}, (CPU,), ["CUDA", "CuPy"]),
        ({"onnxruntime-gpu": "1.31", "cupy-cuda12x": "14"}, (CPU,), ["CUDA"]),
        ({"onnxruntime-gpu": "1.31"}, (CUDA, CPU), ["CuPy"]),
        ({"onnxruntime-gpu": "1.31", "cupy-cuda13x": "14"}, (CUDA, CPU), []),
    ],
)
def test_a_gpu_runtime_must_answer_on_the_gpu_and_have_cupy_beside_it(
    packages: dict[str, str], providers: tuple[str, ...], found: list[str]
) -> None:
    info = RuntimeInfo("onnxruntime-gpu", "1.31", providers, listed=(CUDA, CPU))
    problems = list(gpu_problems(info, NOTHING | packages))
    assert [problem.what.split()[1].removesuffix("ExecutionProvider") for problem in problems] == found


def test_the_text_names_the_gpu_beside_the_device():
    info = RuntimeInfo("onnxruntime-gpu", "1.31", (CUDA, CPU), gpu="some GPU, driver 1.0")
    found = list(lines(replace(diagnose(), runtime=info)))
    at = found.index("  device            cuda (what --device auto means here)")
    assert found[at + 1] == "  GPU               some GPU, driver 1.0"


def test_a_cache_folder_below_a_file_is_a_problem_and_one_not_yet_made_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert [problem.what for problem in cache_problems(tmp_path / "file" / "cache")] == [
        f"expected a cache folder that can be written, found {tmp_path / 'file'}"
    ]
    assert list(cache_problems(tmp_path / "a" / "b")) == []


def test_a_folder_whose_entries_nobody_may_see_ends_no_diagnosis(tmp_path, monkeypatch):
    def closed(path, **named):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", closed)
    assert list(cache_problems(tmp_path / "a" / "b")) == []


def test_the_rules_are_the_lines_of_the_shipped_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n{"x": 2}\n\n')
    (tmp_path / "b.jsonl").write_text('{"x": 3}\n')
    (tmp_path / "b.proofs.jsonl").write_text('{"proof": 3}\n')
    (tmp_path / "__init__.py").write_text("x = 1\n")
    monkeypatch.setattr(resources, "files", lambda package: tmp_path)
    assert count_rules() == 3


def test_the_cache_folder_is_the_one_that_costs_are_kept_in(monkeypatch, tmp_path):
    monkeypatch.setenv("TASOOPT_CACHE", str(tmp_path / "costs"))
    assert doctor.find_cache_folder() == tmp_path / "costs"
