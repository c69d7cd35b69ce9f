"""A search that goes on after another counts from the beginning of the first; plans can be priced anew."""

from dataclasses import replace

from taso_opt.core.term import Var
from taso_opt.core.types import TensorType
from taso_opt.search.plan import Plan, SearchPoint, SearchResult

GRAPHS = FIRST, SECOND, THIRD, ORIGINAL = tuple(
    (Var(name, TensorType("float32", (1,))),) for name in ("first", "second", "third", "original")
)


def result(explored, expanded, seconds):
    points = (SearchPoint(0.0, 1, 0, 2.0), SearchPoint(seconds, explored, expanded, 1.0))
    return SearchResult((Plan(ORIGINAL, 4.0),), explored, expanded, seconds, "patience", points)


def test_a_second_search_goes_on_counting_where_the_first_ended():
    both = result(5, 3, 2.0).after(result(7, 6, 4.0))
    assert (both.explored, both.expanded, both.seconds) == (12, 9, 6.0)
    assert both.history == (SearchPoint(4.0, 8, 6, 2.0), SearchPoint(6.0, 12, 9, 1.0))


def test_what_the_first_search_found_is_kept_with_what_the_second_found():
    known, anew = result(1, 1, 1.0), result(1, 1, 1.0)
    known = replace(known, plans=(Plan(FIRST, 2.0), Plan(THIRD, 3.0), *known.plans))
    anew = replace(anew, plans=(Plan(SECOND, 1.0), Plan(FIRST, 2.0), *anew.plans))
    assert anew.after(known).plans == (Plan(SECOND, 1.0), Plan(FIRST, 2.0), Plan(THIRD, 3.0), Plan(ORIGINAL, 4.0))


def test_plans_priced_anew_are_in_their_new_order_and_those_that_lose_fall_out():
    plans = tuple(Plan(graph, cost) for graph, cost in zip(GRAPHS, (1.0, 2.0, 3.0, 4.0), strict=True))
    costs = dict(zip(GRAPHS, (6.0, 4.5, 2.5, 5.0), strict=True))
    priced = SearchResult(plans, 4, 4, 1.0, "patience").priced(costs.__getitem__)
    assert priced.plans == (Plan(THIRD, 2.5), Plan(SECOND, 4.5), Plan(ORIGINAL, 5.0))
