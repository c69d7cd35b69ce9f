"""Slices of one tensor are parts of one split, whatever lies between them, and parts are slices."""

from itertools import pairwise

import pytest

from taso_opt.core.dims import symbol
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var, postorder
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import parse_rule
from terms import assert_same_values, tensor

RULES = (
    "Slice(x; axis=-1, sizes=(n, p, q)) = Split(x; axis=-1, sizes=(n, p, q))[1] where x[m, n+p+q]",
    "Slice(x; axis=-1, sizes=(0, p, q)) = Split(x; axis=-1, sizes=(p, q))[0] where x[m, p+q]",
)


@pytest.fixture(scope="module")
def rewriter(op):
    return Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in RULES)))


def columns(op, x, start, stop):
    size = op.type(x).shape[-1]
    return op.Slice(x, axis=-1, sizes=(start, stop - start, size - stop))


def cut(op, rewriter, *outputs):
    """The sizes of the parts that each step makes of what some outputs are made of; they compute the same."""
    found, steps = [], {step.replacements for step in rewriter.steps(postorder(outputs))}
    for step in rewriter.cuts(postorder(outputs)):
        assert step.replacements in steps, "a search takes it, too"
        old, new = zip(*step.replacements, strict=True)
        assert_same_values(op, old, new)
        (split,) = {one.term for one in new}
        found.append(split.attribute("sizes"))
    return found


@pytest.mark.parametrize("places", [(0, 2, 5, 7, 12), (0, 1, 2, 12), (0, 6, 12)])
def test_slices_side_by_side_are_all_parts_of_one_split(op, rewriter, places):
    x = tensor(Var, "x", 2, 12)
    slices = [columns(op, x, start, stop) for start, stop in pairwise(places)]
    sizes = tuple(stop - start for start, stop in pairwise(places))
    assert cut(op, rewriter, *reversed(slices)) == [sizes]


def test_what_lies_before_between_and_behind_is_a_part_too(op, rewriter):
    x = tensor(Var, "x", 2, 12)
    assert cut(op, rewriter, columns(op, x, 7, 10), columns(op, x, 1, 4)) == [(1, 3, 3, 3, 2)]


def test_each_tensor_is_cut_for_itself(op, rewriter):
    x, y = tensor(Var, "x", 2, 12), tensor(Var, "y", 2, 12)
    slices = [columns(op, one, at, at + 4) for at in (0, 4, 8) for one in (x, op.Relu(x), y)]
    assert cut(op, rewriter, *slices) == [(4, 4, 4)] * 3


def test_slices_that_overlap_or_stand_alone_or_have_open_sizes_are_left_alone(op, rewriter):
    x, open_ended = tensor(Var, "x", 2, 12), tensor(Var, "y", 2, symbol("n") + 4)
    assert not cut(op, rewriter, columns(op, x, 0, 5), columns(op, x, 4, 8))
    assert not cut(op, rewriter, columns(op, x, 2, 5))
    sizes = (0, 2, symbol("n") + 2), (2, 2, symbol("n"))
    assert not cut(op, rewriter, *(op.Slice(open_ended, axis=-1, sizes=one) for one in sizes))


def test_slices_of_one_size_that_only_a_run_knows_are_equal_parts(op, rewriter):
    size = symbol("s")
    x = tensor(Var, "x", 2, 4 * size)
    slices = [op.Slice(x, axis=-1, sizes=(at * size, size, (3 - at) * size)) for at in range(4)]
    assert sizes_of_parts(rewriter, slices) == [(size,) * 4]
    assert sizes_of_parts(rewriter, slices[2:]) == [(2 * size, size, size)]
    assert not sizes_of_parts(rewriter, [slices[0], op.Slice(x, axis=-1, sizes=(size, 2 * size, size))])


def sizes_of_parts(rewriter, slices):
    steps = rewriter.cuts(postorder(slices))
    return [{image.term for _, image in step.replacements}.pop().attribute("sizes") for step in steps]


def test_an_axis_that_no_rule_speaks_of_and_weights_are_left_alone(op, rewriter):
    x, w = tensor(Var, "x", 4, 12), tensor(Const, "w", 2, 12)
    assert not cut(op, rewriter, *(op.Slice(x, axis=-2, sizes=sizes) for sizes in ((0, 2, 2), (2, 2, 0))))
    assert not cut(op, rewriter, columns(op, w, 0, 6), columns(op, w, 6, 12))


@pytest.mark.parametrize("sizes", [(5, 7), (2, 3, 4, 3), (1,) * 12])
def test_each_part_of_a_split_is_a_slice(op, rewriter, sizes):
    split = op.Split(tensor(Var, "x", 2, 12), axis=-1, sizes=sizes)
    steps = [rewriter.sliced(op.item(split, at)) for at in range(len(sizes))]
    for at, step in enumerate(steps):
        ((old, new),) = step.replacements
        assert (old, new.operator) == (op.item(split, at), "Slice")
        assert_same_values(op, [old], [new])


def test_a_part_of_an_axis_that_no_rule_speaks_of_is_no_slice(op, rewriter):
    split = op.Split(tensor(Var, "x", 12, 2), axis=-2, sizes=(5, 7))
    assert rewriter.sliced(op.item(split, 0)) is None
