"""An image of several times as many rows and columns, of which each element mixes its neighbours.

`method` says which ones and by which shares (linear and cubic interpolation of ONNX's Resize, see
taso_opt/spec/shared/resampling.py), `scales` how many times.
"""

from taso_opt.core.dims import symbol
from taso_opt.core.literal import literal
from taso_opt.spec import Operator, Spelling, definition
from taso_opt.spec.shared.enlarging import enlarged, resize_call
from taso_opt.spec.shared.resampling import named, resampled
from taso_opt.spec.shared.shapes import check_rank


def infer(x, method, scales):
    check_rank("operand of Interpolate", x, 4)
    return enlarged("Interpolate", x, scales)


def evaluate(xp, x, method, scales):
    down, across = scales
    return resampled(xp, resampled(xp, x, -2, method, down), -1, method, across)


def write(term, context):
    mode, places = named(term.attribute("method"))
    return resize_call(term, context, {"mode": mode, "coordinate_transformation_mode": places})


OPERATOR = Operator(
    "Interpolate",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling((), lambda op, node: None, write),
    arity=1,
    defined=True,
)


@definition()
def interpolate(op, x: "n c h w"):
    h, w, method, down, across = map(symbol, ("h", "w", "m", "s_h", "s_w"))
    rows = op.InterpolationMatrix(op.Expand(literal(1), shape=(h,)), method=method, scale=down)
    columns = op.InterpolationMatrix(op.Expand(literal(1), shape=(w,)), method=method, scale=across)
    products = op.MatMul(op.MatMul(rows, x), op.Transpose(columns, perm=(-1, -2)))
    return op.Interpolate(x, method=method, scales=(down, across)), products
