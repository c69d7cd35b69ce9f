"""The check on a GPU says in one line why it cannot be done where it cannot."""

import json

from click.testing import CliRunner

import gpu_check
from networks import NETWORKS
from taso_opt.errors import UnsupportedError
from taso_opt.runtime import InstalledRuntime, RuntimeInfo

GPU = {"name": "some GPU", "driver_version": "1.0"}


def refusal():
    found = CliRunner().invoke(gpu_check.main, ["towers"])
    assert found.stdout == ""
    return found.exit_code, found.stderr


def test_a_machine_without_a_gpu_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(gpu_check, "gpus", list)
    reason = "gpu_check: expected a machine with an NVIDIA GPU, found none that nvidia-smi lists\n"
    assert refusal() == (UnsupportedError("").exit_code, reason)


def test_the_runtime_for_cpus_is_refused(monkeypatch):
    monkeypatch.setattr(gpu_check, "gpus", lambda: [GPU])
    monkeypatch.setattr(gpu_check, "require_runtime", lambda: InstalledRuntime("onnxruntime", "1.0"))
    assert "expected the package onnxruntime-gpu (make RUNTIME=gpu), found onnxruntime" in refusal()[1]


def test_a_provider_that_does_not_answer_is_refused(monkeypatch):
    monkeypatch.setattr(gpu_check, "gpus", lambda: [GPU])
    monkeypatch.setattr(gpu_check, "require_runtime", lambda: InstalledRuntime("onnxruntime-gpu", "1.0"))
    monkeypatch.setattr(gpu_check, "probe", lambda process: RuntimeInfo("onnxruntime-gpu", "1.0", ("CPU",)))
    code, message = refusal()
    assert code == UnsupportedError("").exit_code
    assert message.count("\n") == 1 and "expected a CUDA device that answers" in message


def test_what_cannot_be_started_in_time_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_check, "environment", lambda: {"devices": [GPU]})
    output = tmp_path / "found.json"
    assert CliRunner().invoke(gpu_check.main, ["towers", "--minutes", "0.1", "--output", str(output)]).exit_code == 0
    assert json.loads(output.read_text())["left_out"] == ["towers"]


def test_a_network_that_fails_is_told_by_the_exit_code(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_check, "environment", lambda: {"devices": [GPU]})
    monkeypatch.setattr(gpu_check, "in_child", lambda *asked: {"error": "no memory"})
    output = tmp_path / "found.json"
    assert CliRunner().invoke(gpu_check.main, ["towers", "--minutes", "1", "--output", str(output)]).exit_code == 1
    assert json.loads(output.read_text())["networks"] == {"towers": {"error": "no memory"}}


def test_a_network_leaves_its_figures(monkeypatch, tmp_path):
    monkeypatch.setenv("TASOOPT_CACHE", str(tmp_path))
    monkeypatch.setitem(NETWORKS, "small", lambda: NETWORKS["towers"](count=2, width=16))
    found = gpu_check.optimized("small", {}, device="cpu")
    assert found["result"] in ("improved", "unchanged") and found["costs_measured"] > 0
    assert json.loads(json.dumps(found)) == found
    assert gpu_check.line("small", found).startswith(f"small: {found['result']}")
