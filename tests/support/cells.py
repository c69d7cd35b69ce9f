"""Cells of recurrences that are written out, and what chaining makes of them."""

from taso_opt.core.term import Apply, Const, Var, postorder
from taso_opt.search.sequences.chaining import chained
from terms import assert_same_values, tensor

SIZE = 3
INPUTS = 5


def weights(name="", gates=4):
    kinds = {"w": (INPUTS, SIZE), "r": (SIZE, SIZE), "p": (SIZE,)}
    return [[tensor(Const, f"{kind}{gate}{name}", *shape) for kind, shape in kinds.items()] for gate in range(gates)]


def elements(count, size=INPUTS, batch=2):
    return [tensor(Var, f"x{at}", batch, size) for at in range(count)]


def affine(op, x, h, own):
    w, r, p = own
    return op.Add(op.Add(op.MatMul(x, w), op.MatMul(h, r)), p)


def count(roots, *operators):
    return sum(isinstance(term, Apply) and term.operator in operators for term in postorder(roots))


def chains(op, rewriter, *outputs):
    """What each sequence makes of the outputs; they compute the same."""
    found = []
    for steps, replacements in chained(outputs, rewriter, lambda: False):
        new = [dict(replacements).get(output, output) for output in outputs]
        assert_same_values(op, outputs, new)
        assert all(op.types(old) == op.types(image) for step in steps for old, image in step.replacements)
        found.append(new)
    return found
