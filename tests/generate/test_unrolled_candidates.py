"""Sums over an axis of few elements are as many slices added up, which costs nothing where the axis was joined."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Var
from taso_opt.generate.schemes.unrolled import discover_unrolled
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.verdict import Proved, Refuted
from terms import assert_same_values, tensor

PARTS = "Add(Slice(x; axis=-3, sizes=(0, 1, 1)), Slice(x; axis=-3, sizes={}))"
PAIR = f"ReduceSum(x; axes=(-3,)) = {PARTS} where x[*b, 2, h, w]"
"""The sum of two images as one addition."""


@pytest.fixture(scope="module")
def candidates(library):
    return discover_unrolled(library, 0, frozenset(library.operators))


def test_sums_of_two_three_and_four_are_found_along_each_axis_but_the_last(candidates, covers):
    assert len(candidates) == 9
    assert covers(candidates, PAIR.format("(1, 1, 0)"))
    assert not any("axes=(-1,)" in format_rule(rule) for rule in candidates)


def test_candidates_are_proved_at_all_sizes(library, candidates):
    prover = Prover(library)
    assert all(isinstance(examine(library, prover, rule), Proved) for rule in candidates)


def test_the_same_slice_twice_is_refuted(library):
    wrong = parse_rule(PAIR.format("(0, 1, 1)"), library.builder())
    assert isinstance(examine(library, Prover(library), wrong), Refuted)


@pytest.mark.parametrize("missing", ["Add", "ReduceSum", "Slice"])
def test_nothing_is_found_without_one_of_the_operators(library, missing):
    assert discover_unrolled(library, 0, frozenset(library.operators) - {missing}) == ()


def test_any_batch_of_images_is_taken_and_no_other_number_of_them(library, candidates):
    op = library.builder()
    rewriter = Rewriter(op, RuleSet(candidates))

    def steps(*shape):
        root = op.ReduceSum(tensor(Var, "x", *shape), axes=(-3,))
        for step in rewriter.rewrites(root):
            assert_same_values(op, [root], [step.image])
            yield step.image

    assert [len(list(steps(*shape))) for shape in ((2, 4, 5), (3, 4, 5), (7, 4, 4, 5), (5, 4, 5))] == [1, 1, 1, 0]
