"""Regions of a graph that are linear: what belongs to one, and what it is made of."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var, postorder
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.linear import MOST_MEMBERS, linear_regions
from terms import tensor

SIZE = 4


@pytest.fixture(scope="module")
def regions(op):
    rewriter = Rewriter(op, RuleSet(()))

    def found(*outputs):
        return [(set(one.members), set(one.sources)) for one in linear_regions(postorder(outputs), rewriter)]

    return found


def row(name):
    return tensor(Var, name, 1, SIZE)


X, Y, Z = map(row, "xyz")
NUMBER, OTHER = tensor(Const, "a", 1), tensor(Const, "b")


def test_sums_and_multiples_of_all_spellings_are_one_region(op, regions):
    terms = [op.Mul(X, NUMBER), op.Div(Y, OTHER)]
    terms.append(op.Sub(*terms))
    terms.append(op.Add(terms[-1], Z))
    terms.append(op.Mul(OTHER, terms[-1]))
    assert regions(terms[-1]) == [(set(terms), {X, Y, Z})]


def test_nothing_else_is_linear(op, regions):
    column, bias, weights = tensor(Const, "c", 1, 1), tensor(Const, "d", SIZE), tensor(Const, "w", SIZE, SIZE)
    others = [op.Mul(X, Y), op.Add(X, bias), op.Mul(X, bias), op.Div(OTHER, X), op.MatMul(X, weights), op.Tanh(X)]
    assert regions(*others) == []
    assert regions(op.Add(bias, OTHER)) == []
    assert regions(op.Mul(tensor(Var, "s", 1), column)) == []
    assert len(regions(op.Mul(X, column))) == 1


def test_constants_are_sources_like_others(op, regions):
    first = tensor(Const, "first", 1, SIZE)
    start = op.Mul(first, OTHER)
    state = op.Add(op.Mul(X, NUMBER), start)
    assert regions(state) == [({state, op.Mul(X, NUMBER)}, {X, start})]


def test_what_depends_on_a_region_is_none_of_its_sources(op, regions):
    first = op.Add(op.Mul(X, NUMBER), Y)
    second = op.Add(first, op.Tanh(first))
    before, after = regions(second)
    assert before == ({first, op.Mul(X, NUMBER)}, {X, Y})
    assert after == ({second}, {first, op.Tanh(first)})


def test_a_region_takes_up_as_many_others_as_go_together(op, regions):
    one = op.Mul(X, NUMBER)
    other = op.Mul(op.Tanh(one), NUMBER)
    apart = op.Mul(Z, OTHER)
    both = op.Add(op.Sub(one, apart), other)
    found = regions(both)
    assert ({both, other}, {op.Tanh(one), op.Sub(one, apart)}) in found
    assert ({one, apart, op.Sub(one, apart)}, {X, Z}) in found


def test_it_is_the_same_region_wherever_a_term_is_used_twice(op, regions):
    once = op.Mul(X, NUMBER)
    twice = op.Add(once, once)
    assert regions(op.Sub(twice, once)) == [({once, twice, op.Sub(twice, once)}, {X})]


def test_a_region_of_thousands_is_taken_in_parts(op):
    state = X
    for _ in range(2 * MOST_MEMBERS):
        state = op.Add(op.Mul(state, NUMBER), Y)
    found = linear_regions(postorder((state,)), Rewriter(op, RuleSet(())))
    assert [len(region.members) for region in found] == [MOST_MEMBERS] * 4
