"""No size that shape inference finds is another than the runtime's."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx import parser

from taso_opt.onnx_io.sizes.inference import infer_types, symbolic_skeleton

RESIZED = """<ir_version: 8, opset_import: ["" : {opset}]> g (float[1,2,{size},{size}] x) => (y)
<float[4] scales = {{1.0, 1.0, {scale}, {scale}}}> {{
    y = Resize (x, , scales)
}}"""

POOLED = """<ir_version: 8, opset_import: ["" : {opset}]> g (float[1,2,{size},{size}] x) => (y) {{
    y = {pool} <kernel_shape = [{kernel}, {kernel}], strides = [{stride}, {stride}], ceil_mode = 1> (x)
}}"""

TRANSPOSED = """<ir_version: 8, opset_import: ["" : {opset}]> g (float[1,1,4,4] x, float[1,1,3,3] w) => (y) {{
    y = ConvTranspose <strides = [2, 2], auto_pad = "SAME_UPPER", output_padding = [{more}, {more}]> (x, w)
}}"""

CAST = """<ir_version: 8, opset_import: ["" : {opset}]> g (float[1,3] x, float[{size}] w) => (y)
<int64[1] three = {{3}}> {{
    size = Shape (w)
    narrow = Cast <to = {to}> (size)
    number = Cast <to = 7> (narrow)
    shape = Concat <axis = 0> (number, three)
    y = Expand (x, shape)
}}"""

BOOL, FLOAT, FLOAT16, UINT8 = 9, 1, 10, 2

CASES = [
    *((RESIZED, {"opset": opset, "size": 10, "scale": 0.7}, False) for opset in (13, 19)),
    (RESIZED, {"opset": 13, "size": 3, "scale": 3.3333333}, False),
    (RESIZED, {"opset": 13, "size": 5, "scale": 1.5}, True),
    *((POOLED, {"opset": 13, "pool": pool, "size": 4, "kernel": 1, "stride": 2}, False) for pool in ("MaxPool",)),
    (POOLED, {"opset": 13, "pool": "AveragePool", "size": 6, "kernel": 2, "stride": 3}, False),
    (POOLED, {"opset": 13, "pool": "MaxPool", "size": 7, "kernel": 2, "stride": 2}, True),
    (POOLED, {"opset": 22, "pool": "MaxPool", "size": 6, "kernel": 2, "stride": 3}, True),
    (TRANSPOSED, {"opset": 13, "more": 1}, False),
    (TRANSPOSED, {"opset": 13, "more": 0}, True),
    (CAST, {"opset": 13, "size": 5, "to": BOOL}, False),
    (CAST, {"opset": 13, "size": 260, "to": UINT8}, False),
    (CAST, {"opset": 13, "size": 2049, "to": FLOAT16}, False),
    (CAST, {"opset": 13, "size": 5, "to": FLOAT}, True),
]


@pytest.mark.parametrize(("text", "values", "is_known"), CASES)
def test_what_the_runtime_sizes_otherwise_has_no_known_size(text, values, is_known, tmp_path):
    model = parser.parse_model(text.format(**values))
    found = infer_types(symbolic_skeleton(model, tmp_path / "model.onnx")).get("y")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {one.name: np.ones(one.shape, np.float32) for one in session.get_inputs()})
    known = [] if found is None else [dim for dim in found.shape if isinstance(dim, int)]
    assert (known == list(y.shape)) is is_known
    pairs = () if found is None else zip(found.shape, y.shape, strict=bool(found.shape))
    assert all(dim == size for dim, size in pairs if isinstance(dim, int))
