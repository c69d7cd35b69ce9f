"""The clean-up of a model runs in the child process, which may crash or hang in it."""

import pytest
from onnx import parser

from taso_opt.errors import RuntimeFailure, UnsupportedError
from taso_opt.runtime import RuntimeProcess, probe, tidy

MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[a, b] x) => (float[a, b] y)
    { s = Shape(x)  n = Size(s)  two = Constant <value_int = 2> ()  c = Equal(n, two)
      y = If (c) <then_branch = p () => (float[a, b] u) { u = Relu(x) },
                  else_branch = q () => (float[a, b] v) { v = Neg(x) }> }"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "model.onnx"
    file.write_bytes(parser.parse_model(MODEL).SerializeToString())
    return file


def test_the_child_answers_with_the_cleaned_model(shared_process, path):
    found = tidy(shared_process, path)
    assert found is not None and [node.op_type for node in found.model.graph.node] == ["Relu"]


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        ("import os; os.abort()", RuntimeFailure, "found it killed by SIGABRT"),
        ("import time; time.sleep(60)", RuntimeFailure, "within 3 s, found it still busy"),
        ("raise ImportError('not there')", UnsupportedError, "expected onnxscript to clean up the model, found: not"),
    ],
)
def test_a_crash_a_hang_and_a_missing_library_fail_alike(tmp_path, path, monkeypatch, fault, error, said):
    package = tmp_path / "broken" / "onnxscript"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(fault)
    monkeypatch.syspath_prepend(str(package.parent))
    with RuntimeProcess() as process:
        probe(process)
        with pytest.raises(error, match=said):
            tidy(process, path, timeout_s=3 if "sleep" in fault else 100)
        assert probe(process).package.startswith("onnxruntime")
