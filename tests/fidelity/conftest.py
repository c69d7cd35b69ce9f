"""Models with one feature each, rewritten whether it pays or not, and run before and after."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper, parser

from taso_opt.api.forced import force_rewriting


@dataclass(frozen=True)
class Rewriting:
    """A model before and after, as files and as protos without their external data."""

    path: Path
    output: Path
    before: onnx.ModelProto
    after: onnx.ModelProto
    rules: tuple[str, ...]

    @property
    def types(self):
        """The operators of the result in order."""
        return [node.op_type for node in self.after.graph.node]

    def node(self, op_type):
        """The one node of that type in the original and in the result."""
        (old,) = [node for node in self.before.graph.node if node.op_type == op_type]
        (new,) = [node for node in self.after.graph.node if node.op_type == op_type]
        return old, new

    def check(self, *feeds, exact=False):
        """Assert that both give the same outputs on every feed; the outputs of the result on the last one by name."""
        after = {}
        for feed in feeds:
            before, after = run(self.path, feed), run(self.output, feed)
            assert list(before) == list(after)
            for name, value in before.items():
                assert_same(value, after[name], exact)
        return after


def assert_same(expected, found, exact):
    if isinstance(expected, list):
        assert isinstance(found, list) and len(expected) == len(found)
        for mine, other in zip(expected, found, strict=True):
            assert_same(mine, other, exact)
    elif expected is None:
        assert found is None
    else:
        assert (expected.dtype, expected.shape) == (found.dtype, found.shape)
        if exact or expected.dtype.kind != "f":
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def run(path, feed):
    """The outputs of a model file by name."""
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return dict(zip([value.name for value in session.get_outputs()], session.run(None, feed), strict=True))


@pytest.fixture
def same_outputs():
    """Assert that two model files give exactly the same on a feed."""

    def compared(one, other, feed):
        before, after = run(one, feed), run(other, feed)
        assert list(before) == list(after)
        for name, value in before.items():
            assert_same(value, after[name], exact=True)

    return compared


@pytest.fixture
def rewrite(tmp_path):
    """Write a model, given in ONNX's text form or as a proto, apply every rule that removes something, read both."""

    def rewritten(model, weights=None, prepare=None):
        proto = parser.parse_model(model) if isinstance(model, str) else model
        generator = np.random.default_rng(3)
        for name, shape in (weights or {}).items():
            value = generator.standard_normal(shape).astype(np.float32)
            proto.graph.initializer.append(numpy_helper.from_array(value, name))
        path, output = tmp_path / "model.onnx", tmp_path / "result.onnx"
        if prepare is None:
            path.write_bytes(proto.SerializeToString())
        else:
            prepare(proto, path)
        content = path.read_bytes()
        forced = force_rewriting(path, output, shrink=True, steps=20)
        assert path.read_bytes() == content
        if all(value.HasField("type") for value in proto.graph.output):
            onnx.checker.check_model(str(output))
        before, after = (onnx.load(file, load_external_data=False) for file in (path, output))
        return Rewriting(path, output, before, after, forced.rules)

    return rewritten
