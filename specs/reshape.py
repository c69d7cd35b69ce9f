"""The same elements in row-major order under another shape; the attribute is the full target shape."""

import numpy as np

from taso_opt.core.dims import product, symbol
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec import OnnxCall, Operator, Spelling, axiom
from taso_opt.spec.shared.shapes import is_star


def infer(x, shape):
    symbolic = any(is_star(dim) for dim in (*x.shape, *shape))
    if not symbolic and product(x.shape) != product(shape):
        raise TypeMismatch(f"expected a shape of {product(x.shape)} elements for Reshape, found {list(shape)}")
    return TensorType(x.dtype, tuple(shape))


def evaluate(xp, x, shape):
    return xp.reshape(x, shape)


def read(op, node):
    if len(node.inputs) < 2 or node.types[0] is None:
        return None
    target = _computed(node) if node.constants[1] is None else [int(dim) for dim in node.constants[1]]
    if target is None or (0 in target and node.attribute("allowzero", 0)):
        return None
    shape = _resolved(target, node.types[0].shape)
    return None if shape is None else op.Reshape(node.inputs[0], shape=shape)


def _computed(node):
    """The target that a node is given while it runs, as far as ONNX infers it from sizes of inputs; None if not at all.

    A size that it has no name for is what the others leave.
    """
    (result,) = node.results
    if result is None:
        return None
    names = {name for size in node.types[0].shape if not isinstance(size, int) for name in size.symbols()}
    return [size if isinstance(size, int) or names.issuperset(size.symbols()) else -1 for size in result.shape]


def _resolved(target, source):
    """Replace ONNX's 0 (copy) and -1 (the rest) by sizes; None when that needs numbers that are not known."""
    if any(dim == 0 and at >= len(source) for at, dim in enumerate(target)):
        return None
    shape = [source[at] if dim == 0 else dim for at, dim in enumerate(target)]
    if -1 not in target:
        return tuple(shape)
    if target.count(-1) > 1:
        return None
    rest = target.index(-1)
    known = shape[:rest] + shape[rest + 1 :]
    remaining = list(source)
    for dim in [dim for dim in known if not isinstance(dim, int)]:
        if dim not in remaining:
            return None
        remaining.remove(dim)
    total, divisor = product(tuple(remaining)), product(tuple(dim for dim in known if isinstance(dim, int)))
    if divisor == 0 or (isinstance(total, int) and total % divisor):
        return None
    shape[rest] = total // divisor
    return tuple(shape)


def write(term, context):
    (x,) = term.args
    source = context.type_of(x).shape
    target = []
    for at, dim in enumerate(term.attribute("shape")):
        copied = not isinstance(dim, int) and at < len(source) and source[at] == dim
        target.append(0 if copied else dim if isinstance(dim, int) and dim != 0 else -1)
    if target.count(-1) > 1 or 0 in term.attribute("shape"):
        return None
    return OnnxCall("Reshape", (x, np.array(target, np.int64)))


OPERATOR = Operator(
    "Reshape",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("Reshape",), read, write),
    arity=1,
    arithmetic=False,
    choices={"shape": ({"shape": (symbol("*s"),)}, {"shape": (symbol("*r"),)})},
)


@axiom()
def reshape_of_reshape(op, x: "*a"):
    s, r = (symbol("*s"),), (symbol("*r"),)
    return op.Reshape(op.Reshape(x, shape=s), shape=r), op.Reshape(x, shape=r)


@axiom()
def reshape_to_its_own_shape(op, x: "*a"):
    return op.Reshape(x, shape=(symbol("*a"),)), x


@axiom("y: ")
def reshape_of_add(op, x: "*a", y: "*a"):
    return _elementwise(op, "Add", x, y)


@axiom("y: ")
def reshape_of_mul(op, x: "*a", y: "*a"):
    return _elementwise(op, "Mul", x, y)


@axiom("y: ", "x: ")
def reshape_of_sub(op, x: "*a", y: "*a"):
    return _elementwise(op, "Sub", x, y)


def _elementwise(op, name, x, y):
    f, s = getattr(op, name), (symbol("*s"),)
    moved = [op.Reshape(operand, shape=s) if op.type(operand).rank else operand for operand in (x, y)]
    return op.Reshape(f(x, y), shape=s), f(*moved)
