"""Substitution into graphs: images are looked into too, cycles are noticed, what lies low enough stays as it is."""

import random

import pytest

from taso_opt.core.term import Var
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.spec import load_specs
from terms import tensor

GRAPHS = 300


class Cyclic(Exception):
    pass


def naively(op, term, mapping, above=()):
    if term in above:
        raise Cyclic
    image = mapping.get(term)
    if image is not None:
        return naively(op, image, mapping, (*above, term))
    return op.rebuild(term, tuple(naively(op, child, mapping, (*above, term)) for child in term.children))


def random_terms(op, dice, count=12):
    terms = [tensor(Var, name, 3) for name in "xyz"]
    for _ in range(count):
        one, other = dice.choices(terms, k=2)
        terms.append(dice.choice([op.Relu(one), op.Neg(one), op.Add(one, other), op.Sub(one, other)]))
    return terms


@pytest.fixture(scope="module")
def op():
    return load_specs().builder()


def test_it_is_what_replacing_each_term_wherever_it_stands_gives(op):
    dice, cyclic, changed = random.Random(0), 0, 0
    for _ in range(GRAPHS):
        terms = random_terms(op, dice)
        roots = terms[-2:]
        olds = dice.sample(terms, dice.randint(1, 3))
        mapping = {old: dice.choice([op.Tanh(dice.choice(terms)), dice.choice(terms)]) for old in olds}
        mapping = {old: new for old, new in mapping.items() if old is not new}
        try:
            expected = tuple(naively(op, root, mapping) for root in roots)
        except Cyclic:
            expected = None
        assert substitute_terms(op, roots, mapping) == expected
        cyclic += expected is None
        changed += expected is not None and expected != tuple(roots)
    assert cyclic > GRAPHS / 10
    assert changed > GRAPHS / 10


class Asked(set):
    """A set that is empty, and remembers what it was asked for."""

    def __contains__(self, term):
        self.add(term)
        return False


def test_what_is_no_higher_than_all_that_is_replaced_is_not_looked_into(op):
    x, y = (tensor(Var, name, 3) for name in "xy")
    deep = op.Relu(op.Neg(x))
    old, asked = op.Neg(deep), Asked()
    new = substitute_terms(op, (op.Sub(op.Tanh(old), op.Tanh(deep)),), {old: y}, asked)
    assert new == (op.Sub(op.Tanh(y), op.Tanh(deep)),)
    assert {op.Tanh(deep), y} <= set(asked)
    assert not {deep, x} & set(asked)
