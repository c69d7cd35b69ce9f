"""Poolings are taken apart into one of rows and one of columns, with any windows."""

import pytest

from taso_opt.generate.schemes.separable import discover_separable

DOWN = "kernel=(i, 1), pads=(p, 0, r, 0), strides=(u, 1)"
ACROSS = "kernel=(1, j), pads=(0, q, 0, s), strides=(1, v)"
BOTH = "kernel=(i, j), pads=(p, q, r, s), strides=(u, v)"


def apart(name, more, across=ACROSS):
    return f"{name}(x; {more}, {BOTH}) = {name}({name}(x; {more}, {DOWN}); {more}, {across}) where x[n, c, h, w]"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_separable(library, 0, frozenset(library.operators))


@pytest.mark.parametrize(
    ("name", "more"),
    [("MaxPool", "dilations=(1, 1)"), ("AveragePool", "count_include_pad=0"), ("AveragePool", "count_include_pad=1")],
)
def test_the_greatest_and_both_averages_are_found_for_any_windows(candidates, covers, name, more):
    assert covers(candidates, apart(name, more))


def test_all_are_proved(candidates, proved):
    assert len(candidates) == 3
    assert proved(candidates)


@pytest.mark.parametrize("name", ["MaxPool", "AveragePool"])
def test_padding_at_the_wrong_side_is_refuted(refuted, name):
    more = "dilations=(1, 1)" if name == "MaxPool" else "count_include_pad=0"
    wrong = apart(name, more, ACROSS.replace("q, 0, s", "s, 0, q"))
    assert refuted(wrong)


def test_only_the_named_operators_are_tried(library):
    assert [rule.source[0].operator for rule in discover_separable(library, 0, frozenset({"MaxPool"}))] == ["MaxPool"]
