"""max(x, 0) + slope min(x, 0), the slope broadcast to the shape of x."""

from taso_opt.errors import TypeMismatch
from taso_opt.spec import definition
from taso_opt.spec.shared.elementwise import scalar_operator
from taso_opt.spec.shared.piecewise import by_sign, negated, positive
from taso_opt.spec.shared.shapes import broadcast, is_star


def infer(x, slope):
    result = broadcast(x, slope)
    if result != x and not any(map(is_star, (*x.shape, *slope.shape))):
        raise TypeMismatch(f"expected a slope that broadcasts to {x}, found {slope}")
    return result


def evaluate(xp, x, slope):
    return xp.subtract(positive(xp, x), xp.multiply(slope, positive(xp, negated(xp, x))))


OPERATOR = scalar_operator("PRelu", evaluate, 2, infer=infer)


@definition(respelled=False)
def prelu(op, x: "*any_x", s: "*any_s"):
    return op.PRelu(x, s), by_sign(op, x, op.Mul(x, s), x)
