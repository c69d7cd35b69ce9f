"""The command that writes benchmark networks to files."""

import onnx
import pytest
from click.testing import CliRunner

import make_network
from networks import NETWORKS


@pytest.fixture
def tiny(monkeypatch):
    """The command with two networks in their smallest sizes."""
    networks = {name: lambda name=name: NETWORKS[name](steps=1, hidden=4) for name in ("lstm", "nasrnn")}
    monkeypatch.setattr(make_network, "NETWORKS", networks)
    return networks


def test_a_network_is_written_to_the_named_file(tmp_path, tiny):
    target = tmp_path / "net.onnx"
    result = CliRunner().invoke(make_network.main, ["lstm", "-o", str(target)])
    assert result.exit_code == 0, result.output
    assert f"{target}: 25 nodes" in result.output
    assert onnx.load(target).graph.name == "lstm"


def test_all_networks_are_written_into_a_new_folder(tmp_path, tiny):
    result = CliRunner().invoke(make_network.main, ["--all", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["lstm.onnx", "nasrnn.onnx"]


def test_the_list_names_every_network_and_light_model():
    lines = CliRunner().invoke(make_network.main, ["--list"]).output.splitlines()
    assert lines[: len(NETWORKS)] == list(NETWORKS)
    assert "light_resnet50" in lines


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "expected one of NAME, --list and --all DIR"),
        (["lstm", "--list"], "expected one of NAME, --list and --all DIR"),
        (["--list", "-o", "x"], "expected a NAME beside --output"),
        (["nonsense"], "found 'nonsense'"),
    ],
)
def test_wrong_usage_is_refused_with_exit_code_2(arguments, words):
    result = CliRunner().invoke(make_network.main, arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_an_unwritable_place_is_one_line_without_a_traceback(tmp_path, tiny):
    result = CliRunner().invoke(make_network.main, ["lstm", "-o", str(tmp_path / "missing" / "x.onnx")])
    assert result.exit_code == 1
    assert "Error: expected to write" in result.output
