"""The index leaves out only rules that cannot match, which is shown against matching every rule everywhere."""

import pytest

from taso_opt.core.term import Const, Term, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.rewrite.index import Outlines, RuleIndex
from taso_opt.rewrite.lift import compile_rule
from taso_opt.rewrite.match import Matcher
from taso_opt.rewrite.pattern import CompiledRule, Pattern
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.text import parse_rule


def network(op) -> list[Term]:
    """Products, sums, joins, splits and transpositions, some of them many levels deep."""
    x, z = (Var(name, TensorType("float32", (4, 8))) for name in "xz")
    a, b = (Const(name, TensorType("float32", (8, 8))) for name in "ab")
    split = op.Split(op.Concat(op.MatMul(x, a), op.MatMul(z, b), axis=-1), axis=-1, sizes=(8, 8))
    left, right = op.item(split, 0), op.item(split, 1)
    total = op.Add(op.Relu(op.Add(left, x)), op.Mul(right, op.Sigmoid(z)))
    turned = op.Transpose(op.MatMul(op.Concat(total, x, axis=-2), op.Add(a, b)), perm=(-1, -2))
    return postorder([op.Relu(turned), op.MatMul(op.MatMul(x, a), b), op.Tanh(op.Concat(left, right, axis=-1))])


def _source(rule: CompiledRule) -> Pattern:
    return rule.source


@pytest.fixture(scope="module")
def op():
    return load_specs().builder()


@pytest.fixture(scope="module")
def compiled(op) -> list[CompiledRule]:
    rules = read_rules(None, op)
    return [found for rule in rules.directed() if (found := compile_rule(rule, op)) is not None]


def test_no_rule_that_matches_is_left_out(op, compiled):
    matchers = {id(rule): Matcher(op, rule.private_sizes) for rule in compiled}
    index = RuleIndex(compiled, _source, Outlines(op.types, (rule.rule for rule in compiled)))
    matches = 0
    for term in network(op):
        fitting = {id(rule) for rule in compiled if any(matchers[id(rule)].match(rule.source, term))}
        assert fitting <= {id(rule) for rule in index.candidates(term)}
        matches += len(fitting)
    assert matches >= 40


def test_most_rules_are_ruled_out_by_operators_alone(op, compiled):
    index = RuleIndex(compiled, _source, Outlines(op.types, (rule.rule for rule in compiled)))
    term = op.MatMul(Var("x", TensorType("float32", (4, 8))), Const("a", TensorType("float32", (8, 8))))
    same_root = [rule for rule in compiled if getattr(rule.source, "operator", "") == "MatMul"]
    assert 0 < len(index.candidates(term)) < len(same_root) / 2


def test_rules_about_other_shapes_are_ruled_out(op):
    rules = [
        parse_rule(f"Mul(x, Neg(y)) = Neg(Mul(x, y)) where x[{shape}], y[{shape}]", op)
        for shape in ("", "m", "1 n", "m n", "*b m n", "a b c d")
    ]
    compiled = [found for rule in rules if (found := compile_rule(rule, op)) is not None]
    index = RuleIndex(compiled, _source, Outlines(op.types, (rule.rule for rule in compiled)))

    def fitting(*shape):
        x, y = (Var(name, TensorType("float32", shape)) for name in "xy")
        return [str(rule.rule.variables[0].type) for rule in index.candidates(op.Mul(x, op.Neg(y)))]

    assert fitting(3, 4) == ["[m, n]", "[*b, m, n]"]
    assert fitting(1, 4) == ["[1, n]", "[m, n]", "[*b, m, n]"]
    assert fitting(2, 3, 4, 5) == ["[*b, m, n]", "[a, b, c, d]"]
    assert fitting() == ["[]"]
