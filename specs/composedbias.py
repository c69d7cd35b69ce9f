"""What a convolution, with a bias of its own or without, makes of the bias before it; for weights only.

It is the same for every pixel where the convolution looks at no pads.
"""

from taso_opt.core.dims import symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import definition, weight_operator
from taso_opt.spec.shared.shapes import same_dims, same_dtype

PLAIN = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "group": 1}


def infer(a, k, b=None):
    if a.rank != 1 or k.rank < 3:
        raise TypeMismatch(f"expected a bias and a kernel for ComposedBias, found {a} and {k}")
    same_dims("inner channels of ComposedBias", a.shape, k.shape[1:2])
    if b is not None:
        same_dims("output channels of ComposedBias", b.shape, k.shape[:1])
    return TensorType(same_dtype(a, k), k.shape[:1])


def evaluate(xp, a, k, b=None):
    taps = "hijkl"[: len(xp.shape(k)) - 2]
    mixed = xp.contract(f"md{taps},d->m", k, a)
    return mixed if b is None else xp.add(mixed, b)


OPERATOR = weight_operator("ComposedBias", infer, evaluate, arity=None, choices={"composed": ({},)})


@definition()
def composed_bias(op, a: "d", k: "m d i j"):
    return op.ComposedBias(a, k), op.Reshape(op.Conv(_window(op, a), k, **PLAIN), shape=(symbol("m"),))


@definition()
def composed_biases(op, a: "d", k: "m d i j", b: "m"):
    return op.ComposedBias(a, k, b), op.Reshape(op.Conv(_window(op, a), k, b, **PLAIN), shape=(symbol("m"),))


def _window(op, a):
    """All that a convolution sees at one pixel, where everything is the bias."""
    channels, rows, columns = map(symbol, "dij")
    return op.Expand(op.Reshape(a, shape=(1, channels, 1, 1)), shape=(1, channels, rows, columns))
