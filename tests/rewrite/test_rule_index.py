"""The index leaves out only rules that cannot match, which is shown against matching every rule everywhere."""

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Term, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.rewrite.patterns.elements import element_pattern
from taso_opt.rewrite.patterns.match import Matcher
from taso_opt.rewrite.patterns.pattern import CompiledRule
from taso_opt.rewrite.ruleset import compiled as compilation
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.rewrite.ruleset.index import Outlines, RuleIndex, operators_of, upper_operators
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


def _pattern(rule: CompiledRule):
    return element_pattern((rule, None))


def index_of(op, rules: CompiledRules) -> RuleIndex[CompiledRule]:
    def entries(outline):
        return tuple(rules.may_match(outline.operator, operators_of(outline)))

    return RuleIndex(entries, _pattern, Outlines(op.types, rules.sizes))


def test_no_rule_that_matches_is_left_out(op, compiled):
    asked = [id(rule) for rule in compiled.on_request]
    rules = [rule for rule in compiled if id(rule) not in asked]
    matchers = {id(rule): Matcher(op, rule.private_sizes) for rule in rules}
    index = index_of(op, compiled)
    matches = 0
    for term in network(op):
        fitting = [id(rule) for rule in rules if any(matchers[id(rule)].match(_pattern(rule), term))]
        candidates = [id(rule) for rule in index.candidates(term)]
        assert fitting == [rule for rule in candidates if rule in fitting], "candidates stand in the order of the rules"
        matches += len(fitting)
    assert matches >= 40


def test_only_rules_whose_operators_a_term_has_are_compiled(op, compiled, monkeypatch):
    sources = []

    def compiling(rule, builder):
        sources.append(rule.source)
        return compile_forms(rule, builder)

    compile_forms = compilation.compile_forms
    monkeypatch.setattr(compilation, "compile_forms", compiling)
    index = index_of(op, CompiledRules(compiled.rules, op))
    x, y = (Var(name, TensorType("float32", (4, 8))) for name in "xy")
    index.candidates(op.Add(op.Relu(x), op.Relu(y)))
    assert sources
    for source in sources:
        places = [*source, *(child for top in source for child in top.children)]
        assert any({"Add"} <= set(upper_operators(term)) <= {"Add", "Relu"} for term in places)
    met = len(sources)
    index.candidates(op.Add(op.Relu(y), op.Relu(x)))
    assert len(sources) == met
    index.candidates(op.Relu(op.Neg(x)))
    assert len(sources) > met


def test_most_rules_are_ruled_out_by_operators_alone(op, compiled):
    index = index_of(op, compiled)
    term = op.MatMul(Var("x", TensorType("float32", (4, 8))), Const("a", TensorType("float32", (8, 8))))
    same_root = [rule for rule in compiled if getattr(rule.source, "operator", "") == "MatMul"]
    assert 0 < len(index.candidates(term)) < len(same_root) / 2


def test_rules_about_other_shapes_are_ruled_out(op):
    rules = [
        parse_rule(f"Mul(x, Neg(y)) = Neg(Mul(x, y)) where x[{shape}], y[{shape}]", op)
        for shape in ("", "m", "1 n", "m n", "*b m n", "a b c d")
    ]
    index = index_of(op, CompiledRules(RuleSet(tuple(rules)), op))

    def fitting(*shape):
        x, y = (Var(name, TensorType("float32", shape)) for name in "xy")
        return [str(rule.rule.variables[0].type) for rule in index.candidates(op.Mul(x, op.Neg(y)))]

    assert fitting(3, 4) == ["[m, n]", "[*b, m, n]"]
    assert fitting(1, 4) == ["[1, n]", "[m, n]", "[*b, m, n]"]
    assert fitting(2, 3, 4, 5) == ["[*b, m, n]", "[a, b, c, d]"]
    assert fitting() == ["[]"]
