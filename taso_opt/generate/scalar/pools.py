"""What scalar functions are spelled with: operators, constants and parameters, a pool for each kind of function."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

ROOT_OF_HALF = Fraction(5741, 8119)
"""The simplest number that float32 rounds to the root of 1/2, by which a GELU multiplies, as its inverse divides."""

IN_TURN, OPERAND = "-", ":"
"""Between the operators of a function that are applied one after the other, and before the second operand of one."""


@dataclass(frozen=True)
class ScalarPool:
    """Functions that are one operator each or several in turn, and the operators and constants to spell them with.

    `max_ops` bounds the operators of a spelling; with `positive` only positive numbers are compared, because the
    functions are undefined elsewhere. Where parts are `shared`, what is an operand twice is counted once, as it is
    computed: x^8 takes three products. Spellings `of` operators have the data only in their operands: such operators
    are bounded, so that spellings may divide, and parts of them are shared. Of operators that are applied in turn, the
    second operand is said, a number or a variable. With `parameters`, functions are tried with these of the variables,
    with the `ends`, and with what one operator makes of both; parameters are one element each, or `tensors`. Without
    functions, the spellings are compared with each other, for equations in which a constant of one side is not on the
    other: what associativity and the like say of any tensors is found elsewhere.
    """

    functions: tuple[str, ...]
    variables: tuple[str, ...]
    literals: tuple[Fraction, ...]
    operators: tuple[str, ...]
    max_ops: int
    positive: bool = False
    of: str = ""
    shared: bool = False
    parameters: str = ""
    ends: str = ""
    tensors: bool = False


def _pool(functions: str, variables: str, literals: str, operators: str, max_ops: int, **other: Any) -> ScalarPool:
    numbers = tuple(Fraction(text) for text in literals.split())
    names = tuple(functions.split()), tuple(variables.split())
    return ScalarPool(*names, numbers, tuple(operators.split()), max_ops, **other)


SCALAR_POOLS = (
    _pool("HardSigmoid HardSwish", "x", "3 6 1/6 1/2", "Add Mul Div Clip", 4),
    _pool("HardSwish", "x", "", "HardSigmoid Mul", 2),
    _pool("Clip", "x", "0 1 6", "Min Max Relu", 2),
    _pool("Clip", "x", "1 6", "Relu Sub", 4),
    _pool("Clip", "x", "0 1 6", "Clamp", 1),
    _pool("Clamp", "x s t", "", "Relu Min Max", 2, parameters="s t", ends="0"),
    _pool("PRelu", "x s", "0", "Relu Neg Min Mul Add Sub", 5),
    _pool("PRelu", "x s", "", "Relu Neg Mul Add Sub", 5, parameters="s", tensors=True),
    _pool("LeakyRelu", "x s", "0", "Relu Neg Min Mul Add Sub", 4, parameters="s"),
    _pool("LeakyRelu", "x s", "", "Relu Neg Mul Add Sub", 5, parameters="s"),
    _pool("LeakyRelu", "x s", "", "PRelu", 1, parameters="s"),
    _pool("LeakyRelu", "x s", "0", "Relu Min Mul Add Sub", 3, parameters="s", ends="1"),
    _pool("LeakyRelu", "x s", "", "Relu Neg Mul Add Sub", 4, parameters="s", ends="1"),
    _pool("PRelu", "x s", "0", "Relu Min Mul Add Sub", 3, parameters="s", ends="1", tensors=True),
    _pool("PRelu", "x s", "", "Relu Neg Mul Add Sub", 4, parameters="s", ends="1", tensors=True),
    _pool("Abs Relu", "x", "0", "Relu Neg Max Min Add Sub", 3),
    _pool("Abs", "x", "2", "Relu Mul Sub", 3),
    _pool("Abs", "x", "", "Relu Neg Add", 4),
    _pool("Relu", "x", "0", "Neg Min", 3),
    _pool("Relu-Mul:2 Min:0-Mul:2", "x", "", "Abs Add Sub", 2),
    _pool("Min", "x s", "", "Relu Neg", 3, parameters="s", ends="0", tensors=True),
    _pool("Pow", "x", "", "Mul Sqrt", 4, positive=True),
    _pool("Pow", "x", "", "Mul Sqrt", 3, positive=True, shared=True),
    _pool("Pow", "x", "1", "Mul Sqrt Div Reciprocal", 3, positive=True),
    _pool("Reciprocal", "x", "1", "Div", 1, positive=True),
    _pool("Div", "x s", "", "Reciprocal Mul", 2, positive=True),
    _pool("Softplus", "x", "1", "Relu Abs Neg Exp Log Add", 7),
    _pool("Mish", "x", "", "Softplus Tanh Mul", 3),
    _pool("Neg-Sigmoid", "x", "1", "Sub", 1, of="Sigmoid"),
    _pool("Mul:2-Sigmoid Mul:2-Sigmoid-Mul:s", "x s", "1/2 1", "Add Mul", 4, of="Tanh"),
    _pool("Tanh", "x", "-2 -1 1 2", "Sigmoid Mul Add Sub", 4),
    _pool("Softplus-Tanh", "x", "1 2", "Add Sub Mul Div", 4, of="Sigmoid"),
    _pool("Elu", "x", "0 1", "Exp Relu Min Add Sub", 5),
    _pool("ScaledElu", "x s", "-1", "Mul Add", 3, of="Relu Min:0-Exp", parameters="s"),
    _pool("", "x s", "1", "Add Sub Mul", 2),
    _pool("", "x", "-1", "Neg Mul", 1),
    _pool("", "x", "0", "Add Sub", 1),
    _pool("", "x", "1", "Mul Div", 1),
    _pool("", "x", f"{ROOT_OF_HALF} {1 / ROOT_OF_HALF}", "Mul Div", 1),
)
