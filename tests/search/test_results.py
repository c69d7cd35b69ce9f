"""A search that goes on after another counts from the beginning of the first."""

from taso_opt.search.plan import SearchPoint, SearchResult


def result(explored, expanded, seconds):
    points = (SearchPoint(0.0, 1, 0, 2.0), SearchPoint(seconds, explored, expanded, 1.0))
    return SearchResult((), explored, expanded, seconds, "patience", points)


def test_a_second_search_goes_on_counting_where_the_first_ended():
    both = result(5, 3, 2.0).after(result(7, 6, 4.0))
    assert (both.explored, both.expanded, both.seconds) == (12, 9, 6.0)
    assert both.history == (SearchPoint(4.0, 8, 6, 2.0), SearchPoint(6.0, 12, 9, 1.0))
