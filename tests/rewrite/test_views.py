"""Views give the steps that are found directly, and tell apart what rules tell apart."""

import pytest

from taso_opt.core.literal import literal
from taso_opt.core.term import Const, Var, postorder
from taso_opt.rewrite.patterns.below import LEVELS, OperatorsBelow
from taso_opt.rewrite.patterns.match import is_made_of_constants
from taso_opt.rewrite.patterns.pattern import Application, Variable
from taso_opt.rewrite.ruleset.views import Views, images_of, is_seen_in_views
from taso_opt.rewrite.steps import Rewriter
from terms import tensor


@pytest.fixture
def views(op):
    return Views(op, is_made_of_constants)


X, Y, Z = (tensor(Var, name, 4, 8) for name in "xyz")
V, W = (tensor(Const, name, 8, 8) for name in "vw")


def graphs(op):
    """Terms over and under each other, so that steps show up high above the leaves of a view and at them."""
    split = op.Split(op.MatMul(op.Add(X, Y), op.Concat(V, W, axis=-1)), axis=-1, sizes=(8, 8))
    first, second = op.item(split, 0), op.item(split, 1)
    gate = op.Mul(op.Sigmoid(first), op.Sigmoid(second))
    half = op.Mul(op.Add(gate, gate), literal(2, "float32"))
    mean = op.ReduceMean(op.Mul(half, half), axes=(-1,))
    return [
        op.Add(op.MatMul(half, V), op.MatMul(half, W)),
        op.MatMul(op.MatMul(op.Sub(half, mean), V), W),
        op.Relu(op.Transpose(op.Transpose(half, perm=(-1, -2)), perm=(-1, -2))),
        op.Div(op.Sub(Z, mean), op.Sqrt(op.Add(mean, literal(1, "float32")))),
        op.Concat(op.Relu(first), op.Relu(second), axis=-1),
    ]


def steps_of(steps):
    return {step.replacements for step in steps}


def test_steps_through_views_are_those_found_directly(op, compiled):
    rewriter, seen = Rewriter(op, compiled), 0
    terms = postorder(graphs(op))
    for term in [*terms, *(step.image for root in terms for step in rewriter.rewrites(root))]:
        direct = [*rewriter._single_steps(term, rewriter._seen), *rewriter._single_steps(term, rewriter._deep)]
        direct = [step for step in direct if term not in postorder([step.image])]
        assert steps_of(rewriter.rewrites(term)) == steps_of(direct), term
        seen += len(direct)
    assert seen > 50


def test_merges_through_views_are_those_found_directly(op, compiled):
    terms = postorder(graphs(op))
    merged = steps_of(step for step in Rewriter(op, compiled).steps(terms) if step.rule.merges)
    direct = Rewriter(op, compiled)
    direct._merges._viewed.at = lambda term: (direct._merges._viewed._find(term), {})
    assert merged == steps_of(step for step in direct.steps(terms) if step.rule.merges)
    assert merged


def test_one_view_is_for_any_leaves_of_the_same_types(op, views):
    deep = op.Tanh(op.Exp(op.Neg(X)))
    assert views.view(op.Relu(op.Neg(deep))).nodes == views.view(op.Relu(op.Neg(Y))).nodes
    assert views.view(op.MatMul(op.Neg(deep), V)).nodes == views.view(op.MatMul(op.Neg(Z), W)).nodes


def test_views_tell_apart_what_rules_tell_apart(op, views):
    one, two = literal(1, "float32"), literal(2, "float32")
    different = [
        op.Sub(X, X),
        op.Sub(X, Y),
        op.Sub(X, tensor(Var, "w", 1, 8)),
        op.Sub(X, tensor(Const, "c", 4, 8)),
        op.Sub(one, X),
        op.Sub(two, X),
        op.Sub(op.Neg(X), X),
        op.Sub(op.Neg(X), Y),
        op.ReduceMean(X, axes=(-1,)),
        op.ReduceMean(X, axes=(-2,)),
    ]
    assert len({views.view(term).nodes for term in different}) == len(different)
    assert views.view(op.Sub(X, Y)).nodes == views.view(op.Sub(Y, Z)).nodes


def test_a_term_over_its_own_leaves_is_the_term_again(op, views):
    for term in postorder(graphs(op)):
        if not views.is_leaf(term):
            view = views.view(term)
            alike, stand_ins = views.over_stand_ins(term, view)
            assert views.replaced(alike, images_of(view, stand_ins, view.leaves)) is term


def test_most_rules_are_seen_in_views(compiled):
    single = [rule for rule in compiled if not rule.merges and not rule.folds]
    seen = [rule for rule in single if is_seen_in_views(rule.source)]
    assert len(single) / 2 < len(seen) < len(single)


def test_operators_are_below_a_term_from_their_level_on(op):
    below = OperatorsBelow()
    x = Variable("x", X.type, (None, None), False)
    asked = below.asked(Application("Relu", (Application("Tanh", (x,), (), False, False),), (), False, False))
    deeper = op.Relu(op.Neg(op.Tanh(X)))
    assert [bits.bit_count() for bits in below.of(deeper)[:4]] == [1, 2, 3, 3]
    assert len(below.of(deeper)) == LEVELS
    assert not below.may_hold(asked, deeper)
    assert not below.may_hold(asked, op.Tanh(op.Neg(X)))
    assert below.may_hold(asked, op.Relu(op.Tanh(X)))
