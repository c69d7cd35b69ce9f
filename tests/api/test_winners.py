"""The file of the winner is the model that ran, whole, wherever the weights of the original lie."""

import onnx
import pytest
from onnx import numpy_helper

from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.api.finals import contest
from taso_opt.onnx_io.files import in_place

pytestmark = pytest.mark.usefixtures("first_wins")


@pytest.fixture
def formed(monkeypatch):
    """How often a plan's model was formed."""
    found, form = [], contest.rewritten

    def counted(model, plan):
        found.append(plan)
        return form(model, plan)

    for module in ("finals.contest", "optimization"):
        monkeypatch.setattr(f"taso_opt.api.{module}.rewritten", counted)
    return found


def stacks_rows(path):
    """Whether a model has one product in place of four, and all its weights."""
    proto = onnx.load(path)
    sizes = {numpy_helper.to_array(tensor).size for tensor in proto.graph.initializer}
    return [node.op_type for node in proto.graph.node].count("MatMul") == 1 and 256 * 256 in sizes


def test_the_winner_is_written_as_it_ran(stackable, tmp_path, process, formed):
    onnx.save(stackable, tmp_path / "model.onnx")
    record = optimize_file(tmp_path / "model.onnx", OptimizeSettings(budget=20.0), process=process)
    assert record.result == "improved" and stacks_rows(record.output)
    assert len(formed) == len(set(formed))


def test_a_winner_with_weights_elsewhere_takes_them_along(stackable, tmp_path, process, formed):
    (tmp_path / "elsewhere").mkdir()
    output = tmp_path / "elsewhere" / "model.onnx"
    onnx.save(stackable, tmp_path / "model.onnx", save_as_external_data=True, location="w.bin", size_threshold=1024)
    settings = OptimizeSettings(budget=20.0, output=output)
    record = optimize_file(tmp_path / "model.onnx", settings, process=process)
    assert record.result == "improved" and stacks_rows(output)
    assert sorted(file.name for file in output.parent.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert len(formed) == len(set(formed)) + 1  # what ran has its weights where they are soon deleted


def test_a_random_model_is_written_without_the_seeds_that_it_ran_with(stackable, tmp_path, process):
    stackable.graph.node.append(onnx.helper.make_node("RandomNormalLike", ["a"], ["noise"]))
    stackable.graph.output.append(onnx.helper.make_tensor_value_info("noise", onnx.TensorProto.FLOAT, [1, 256]))
    onnx.save(stackable, tmp_path / "model.onnx")
    record = optimize_file(tmp_path / "model.onnx", OptimizeSettings(budget=20.0), process=process)
    assert record.result == "improved" and stacks_rows(record.output)
    (noise,) = (node for node in onnx.load(record.output).graph.node if node.op_type == "RandomNormalLike")
    assert not noise.attribute


def test_a_large_file_gives_the_same_winner_as_one_that_is_read_whole(stackable, tmp_path, process, monkeypatch):
    path, found = tmp_path / "model.onnx", []
    onnx.save(stackable, path)
    for large in (1 << 40, 0):
        monkeypatch.setattr(in_place, "LARGE_FILE", large)
        output = tmp_path / f"{large}.onnx"
        record = optimize_file(path, OptimizeSettings(budget=20.0, output=output), process=process)
        assert record.result == "improved" and stacks_rows(output)
        found.append(onnx.load(output))
    assert found[0] == found[1]
