"""What is remembered of terms that look alike leaves out no rule, and terms that look alike are told from others."""

from collections import Counter

from taso_opt.core.term import Const, Var, postorder
from taso_opt.rewrite.patterns.match import is_made_of_constants
from taso_opt.rewrite.ruleset.likeness import Likeness, is_told_by_looks
from taso_opt.rewrite.steps import Rewriter
from terms import tensor


def alike(op, name, width):
    """Products, sums, splits and joins over operands of their own, some of them equal, of one width."""
    x, y = (tensor(Var, f"{name}{one}", 3, width) for one in "xy")
    v, w = (tensor(Const, f"{name}{one}", width, width) for one in "vw")
    split = op.Split(op.Concat(op.MatMul(x, v), op.MatMul(y, w), axis=-1), axis=-1, sizes=(width, width))
    left, right = op.item(split, 0), op.item(split, 1)
    products = [op.Mul(left, right), op.Mul(left, left), op.Mul(op.Add(x, y), x), op.Mul(op.Add(x, y), left)]
    sums = [op.Add(op.MatMul(x, v), op.MatMul(x, w)), op.Add(op.MatMul(x, v), op.MatMul(y, v)), op.Sub(x, x)]
    joins = [op.Concat(op.Relu(left), op.Relu(right), axis=-1), op.Concat(op.Relu(x), op.Sigmoid(y), axis=-1)]
    return [
        *products,
        *sums,
        *joins,
        op.MatMul(op.MatMul(x, v), w),
        op.Transpose(op.Transpose(x, perm=(-1, -2)), perm=(-1, -2)),
    ]


def test_what_was_learned_of_other_terms_changes_no_rewriting(op, compiled):
    roots = [root for name, width in (("a", 8), ("b", 8), ("c", 1)) for root in alike(op, name, width)]
    shared, found = Rewriter(op, compiled), 0
    for term in postorder(roots):
        alone = Rewriter(op, compiled).rewrites(term)
        assert [step.replacements for step in shared.rewrites(term)] == [step.replacements for step in alone], term
        found += len(alone)
    assert found > 50


def test_which_output_a_term_is_makes_no_level(op, compiled):
    shapes = tensor(Var, "u", 4, 6), tensor(Var, "x", 2, 6), tensor(Var, "y", 2, 6)
    wholes = op.Relu(shapes[0]), op.Concat(*shapes[1:], axis=-2)
    shared, found = Rewriter(op, compiled), []
    for whole in wholes:
        columns = op.item(op.Split(whole, axis=-1, sizes=(2, 4)), 0)
        part = op.item(op.Split(columns, axis=-2, sizes=(2, 2)), 0)
        steps = [step.replacements for step in shared.rewrites(part)]
        assert steps == [step.replacements for step in Rewriter(op, compiled).rewrites(part)]
        found.append(len(steps))
    assert found[1] > found[0]


def test_terms_look_alike_by_operators_attributes_types_and_what_is_constant(op):
    likeness = Likeness(op, is_made_of_constants)
    x, y, wide = tensor(Var, "x", 2, 3), tensor(Var, "y", 2, 3), tensor(Var, "z", 2, 4)
    weight = tensor(Const, "w", 2, 3)
    same = [op.Add(x, y), op.Add(y, x), op.Add(x, x)]
    assert len({likeness.number(term) for term in same}) == 1
    others = [op.Add(wide, wide), op.Add(x, weight), op.Mul(x, y), op.Add(op.Relu(x), y), op.Sub(x, y)]
    assert len({likeness.number(term) for term in (same[0], *others)}) == 1 + len(others)
    turned = [op.Slice(x, axis=-1, sizes=sizes) for sizes in ((0, 1, 2), (1, 1, 1))]
    assert likeness.number(turned[0]) != likeness.number(turned[1])


def test_terms_are_of_one_kind_in_whatever_order_their_names_put_operands(op):
    likeness = Likeness(op, lambda term: isinstance(term, Const))
    rows = [tensor(Var, f"x{at}", 1, 4) for at in range(8)]
    sums = [op.Add(op.Erf(row), op.Relu(row)) for row in rows]
    assert len({likeness.number(one) for one in sums}) == 2
    assert len({likeness.kind(one) for one in sums}) == 1
    assert likeness.kind(op.Add(op.Erf(rows[0]), op.Erf(rows[1]))) != likeness.kind(sums[0])


def test_most_rules_can_be_told_by_looks_and_those_about_one_term_at_two_places_cannot(op, compiled):
    single = [rule for rule in compiled if not rule.merges and not rule.folds]
    told = [rule for rule in single if is_told_by_looks(rule.source)]
    assert len(told) > len(single) / 2
    uses = [Counter(child for term in postorder(rule.rule.source) for child in term.children) for rule in single]
    twice = [rule for rule, used in zip(single, uses, strict=True) if any(used[one] > 1 for one in rule.rule.variables)]
    assert len(twice) > 100
    assert not any(is_told_by_looks(rule.source) for rule in twice)
