"""What a search looks at next: what promises most, and of graphs that cost the same not all at once."""

import pytest

from taso_opt.search.plan import Plan
from taso_opt.search.queue import Queue, Waiting


def waiting(cost, operators=10, **other):
    return Waiting(Plan((), cost), None, cost, operators, **other)


def popped(queue):
    found = []
    while queue:
        found.append(queue.pop())
    return found


@pytest.fixture
def queue():
    return Queue()


def filled(queue, *some):
    for one in some:
        queue.push(one)
    return queue


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (waiting(1.0), waiting(1.01)),
        (waiting(1.0, operators=9), waiting(1.0, operators=10)),
        (waiting(1.01), waiting(1.0, detour=1)),
        (waiting(1.03, pardoned=0.03), waiting(1.01)),
    ],
)
def test_what_costs_less_is_simpler_less_of_a_detour_or_pardoned_comes_first(queue, first, second):
    assert popped(filled(queue, second, first)) == [first, second]


def test_what_is_equal_comes_in_the_order_in_which_it_was_found(queue):
    some = [waiting(1.0) for _ in range(5)]
    assert list(map(id, popped(filled(queue, *some)))) == list(map(id, some))


def test_graphs_of_one_cost_wait_for_dearer_ones_once_some_were_looked_at(queue):
    alike, dearer = [waiting(1.0) for _ in range(100)], waiting(1.03)
    filled(queue, *alike, dearer)
    before = 0
    while queue.pop() is not dearer:
        before += 1
        queue.note(1.0)
    assert 1 < before < 50
    assert len(popped(queue)) == len(alike) - before


def test_what_costs_less_than_those_that_were_looked_at_does_not_wait(queue):
    for _ in range(100):
        queue.note(1.0)
    less, same = waiting(0.999), waiting(1.0)
    assert popped(filled(queue, same, waiting(1.04), less)) == [less, waiting(1.04), same]


def test_rounding_makes_no_other_cost(queue):
    for _ in range(100):
        queue.note(0.1 + 0.2)
    same, dearer = waiting(0.3), waiting(0.31)
    assert popped(filled(queue, same, dearer)) == [dearer, same]


def test_a_cleared_queue_is_empty(queue):
    filled(queue, waiting(1.0)).clear()
    assert not queue
