"""What a step changes is judged locally, and exactly: kernels that the runtime forms of several operators included."""

import re
from fractions import Fraction
from zlib import crc32

from taso_opt.core.literal import literal
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule

RULES = (
    "Mul(Mul(x, z), y) = Mul(Mul(y, x), z) where x[*b], y[*b], z[]",
    "Mul(Add(1, x), s) = Add(Mul(x, s), s) where s[*any_s], x[*any_x]",
    "MatMul(Mul(x, z), y) = MatMul(x, Mul(y, z)) where x[*b, m, k], y[k, n], z[]",
    "(MatMul(x, y), MatMul(z, y)) = (Split(MatMul(Concat(x, z; axis=-2), y); axis=-2, sizes=(m, n))[0], "
    "Split(MatMul(Concat(x, z; axis=-2), y); axis=-2, sizes=(m, n))[1]) where x[*b, m, k], y[k, p], z[*b, n, k]",
)


def gelu(op, x, half_last):
    half, bend = literal(Fraction(1, 2), "float32"), op.Add(op.Erf(x), literal(1, "float32"))
    return op.Mul(op.Mul(bend, x), half) if half_last else op.Mul(op.Mul(half, bend), x)


def twins(op):
    """Two activated products of one weight, and what uses them: a product and a function."""
    first, second = (Var(name, TensorType("float32", (1, 6, 4))) for name in "ab")
    weight, last = (Const(name, TensorType("float32", (4, 4))) for name in "vw")
    left, right = gelu(op, op.MatMul(first, weight), True), gelu(op, op.MatMul(second, weight), False)
    return op.MatMul(left, last), op.Tanh(right)


def test_the_change_of_cost_of_every_step_is_that_of_the_whole_graph(op):
    finder, outputs = UnitFinder(op), twins(op)

    def cost(terms, boundary=()):
        """Some number for each kind of unit, whatever the order of its operands."""
        kinds = (sorted(re.findall(r"\w+\(|\d+/?\d*(?=[,)])", unit.key)) for unit in finder.units(terms, boundary))
        return sum(crc32(str(kind).encode()) for kind in kinds)

    groups = [unit.members for unit in finder.units(outputs)]
    assert max(map(len, groups)) > 4
    here = Neighbourhood(outputs, groups, op.rebuild)
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(text, op) for text in RULES)))
    judged = set()
    for step in rewriter.steps(here.terms):
        changed = substitute_terms(op, outputs, dict(step.replacements))
        if changed is None:
            continue
        change = here.local_change((step,), step.replacements)
        local = cost(change.added, change.kept) - cost(change.removed, change.kept)
        assert local == cost(changed) - cost(outputs), step
        judged.add(step.rule.rule)
    assert len(judged) == 5  # one rule in both directions


def test_operators_that_the_runtime_executes_together_count_as_saved_when_they_go():
    op = load_specs().builder()
    x = Var("x", TensorType("float32", (4,)))
    first = op.Relu(x)
    second = op.Tanh(first)
    last = op.Neg(second)
    outputs = (op.Exp(last), op.Sqrt(second))
    here = Neighbourhood(outputs, [frozenset((first, second, last))])
    whole = here.local_change((), ((last, op.Sigmoid(x)),))
    assert (whole.saved, whole.born) == (0, {op.Sigmoid(x), first, second})
    here = Neighbourhood(outputs[:1], [frozenset((first, second, last))])
    whole = here.local_change((), ((last, op.Sigmoid(x)),))
    assert (whole.saved, whole.born) == (2, {op.Sigmoid(x)})
