"""What has gained nowhere is not tried further on; places are tried in rounds that are spread over all of them."""

import pytest

from taso_opt.core.term import Var
from taso_opt.rewrite.finding.step import Step
from taso_opt.search.trials import ENOUGH, FIRST_ROUND, Trials, rounds
from terms import tensor


def sequence(place, *rules):
    return tuple(Step(rule, ((tensor(Var, f"x{place}", 4), None),)) for rule in rules)


def ids(*rules):
    return tuple(map(id, rules))


def test_rules_are_hopeless_where_they_were_tried_at_enough_places_and_gained_at_none():
    fold, join, other = object(), object(), object()
    trials = Trials()
    for place in range(ENOUGH - 1):
        trials.note([sequence(place, fold, join), sequence(place, fold, join)], [])
    assert not trials.is_hopeless(ids(fold, join))
    trials.note([sequence(ENOUGH, fold, join)], [])
    assert trials.is_hopeless(ids(fold, join))
    assert trials.is_hopeless(ids(fold)), "nothing that begins so has gained"
    assert not trials.is_hopeless(ids(fold, other))
    assert not trials.is_hopeless(ids(join))


def test_a_place_counts_once_though_several_graphs_have_it():
    fold, trials = object(), Trials()
    for _ in range(ENOUGH):
        trials.note([sequence(0, fold)], [])
    assert not trials.is_hopeless(ids(fold))
    trials.note([sequence(place, fold) for place in range(ENOUGH)], [])
    assert trials.is_hopeless(ids(fold))


def test_what_leads_to_a_gain_anywhere_is_followed_on():
    fold, join, other = object(), object(), object()
    trials = Trials()
    for place in range(ENOUGH):
        gained = [sequence(place, fold, join, other)] if place == 0 else []
        trials.note([sequence(place, fold, join), sequence(place, fold, join, other)], gained)
    assert not any(trials.is_hopeless(rules) for rules in (ids(fold), ids(fold, join), ids(fold, join, other)))


@pytest.mark.parametrize("count", [0, 1, 2, FIRST_ROUND, FIRST_ROUND + 1, 370])
def test_each_place_comes_once_and_the_first_rounds_are_spread_over_all(count):
    found = list(rounds(range(count)))
    assert sorted(place for one in found for place in one) == list(range(count))
    assert all(one == sorted(one) for one in found)
    if count == 370:
        assert [len(one) for one in found] == [16, 16, 32, 64, 128, 114]
        assert max(later - place for place, later in zip(found[0], found[0][1:], strict=False)) < 370 / 8
