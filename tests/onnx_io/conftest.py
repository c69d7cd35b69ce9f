"""Small models, written to files, read and run."""

import dataclasses
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper, parser

from taso_opt.core.term import Apply, Item
from taso_opt.onnx_io import read_model
from taso_opt.onnx_io.writing.patch import Patch
from taso_opt.spec import OPAQUE


@pytest.fixture
def save(tmp_path):
    """Write a model, given in ONNX's text form or as a proto, with random weights for `weights`, to a file."""

    def write(model, weights=None, name="model.onnx") -> Path:
        if isinstance(model, str):
            model = parser.parse_model(model)
        generator = np.random.default_rng(7)
        for weight, shape in (weights or {}).items():
            value = generator.standard_normal(shape).astype(np.float32)
            model.graph.initializer.append(numpy_helper.from_array(value, weight))
        path = tmp_path / name
        path.write_bytes(model.SerializeToString())
        return path

    return write


@pytest.fixture
def read(save, library):
    """Write a model to a file and read it."""

    def load(model, weights=None, dims=None):
        return read_model(save(model, weights), library, dims)

    return load


@pytest.fixture(scope="session")
def run():
    """The outputs of a model, given as a proto, under ONNX Runtime, by name."""

    def outputs(proto, feed, optimized=True):
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        if not optimized:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_outputs()]
        return dict(zip(names, session.run(None, feed), strict=True))

    return outputs


@pytest.fixture(scope="session")
def feed_of():
    """Random inputs for a model that was read."""

    def feed(model, seed=0):
        generator = np.random.default_rng(seed)
        return {
            value.name: generator.standard_normal(value.bound).astype(value.dtype)
            if value.dtype.startswith("float")
            else generator.integers(0, 2, value.bound).astype(value.dtype)
            for value in model.inputs
        }

    return feed


@pytest.fixture(scope="session")
def respelled():
    """Write a model as if the known nodes for which `forget` holds had been made by rewriting."""

    def patched(model, forget=lambda term: True):
        kept = {term: origin for term, origin in model.origin.items() if _is_opaque_or_leaf(term) or not forget(term)}
        reduced = dataclasses.replace(model, origin=kept)
        patch = Patch(reduced, model.graph.outputs)
        result = patch.model()
        onnx.checker.check_model(result)
        return result

    return patched


def _is_opaque_or_leaf(term):
    whole = term.term if isinstance(term, Item) else term
    return not isinstance(whole, Apply) or whole.operator == OPAQUE
