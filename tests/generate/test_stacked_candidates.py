"""Sums and means over an axis of few elements are slices that are added; where the axis was joined nothing is cut."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Var
from taso_opt.generate.schemes.stacked import discover_stacked
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.verdict import Proved, Refuted
from terms import assert_same_values, tensor

PARTS = "Add(Slice(x; axis=-3, sizes=(0, 1, 1)), Slice(x; axis=-3, sizes={}))"
PAIR = f"ReduceSum(x; axes=(-3,)) = {PARTS} where x[*b, 2, h, w]"
MEAN = f"ReduceMean(x; axes=(-3,)) = Mul({PARTS}, {{}}) where x[*b, 2, h, w]"
"""The sum of two images as one addition, and their mean."""


@pytest.fixture(scope="module")
def candidates(library):
    return discover_stacked(library, 0, frozenset(library.operators))


def test_two_three_and_four_are_taken_together_along_each_axis_but_the_last(candidates, covers):
    assert len(candidates) == 18
    assert covers(candidates, PAIR.format("(1, 1, 0)"))
    assert covers(candidates, MEAN.format("(1, 1, 0)", "1/2"))
    assert not any("axes=(-1,)" in format_rule(rule) for rule in candidates)


def test_candidates_are_proved_at_all_sizes(library, candidates):
    prover = Prover(library)
    assert all(isinstance(examine(library, prover, rule), Proved) for rule in candidates)


@pytest.mark.parametrize("text", [PAIR.format("(0, 1, 1)"), MEAN.format("(1, 1, 0)", "1/3")])
def test_the_same_slice_twice_and_another_share_are_refuted(library, text):
    assert isinstance(examine(library, Prover(library), parse_rule(text, library.builder())), Refuted)


@pytest.mark.parametrize(("missing", "number"), [("Add", 0), ("ReduceSum", 9), ("Mul", 9), ("Slice", 0)])
def test_only_the_named_operators_are_tried(library, missing, number):
    assert len(discover_stacked(library, 0, frozenset(library.operators) - {missing})) == number


def test_any_batch_of_images_is_taken_and_no_other_number_of_them(library, candidates):
    op = library.builder()
    rewriter = Rewriter(op, RuleSet(candidates))

    def steps(*shape):
        root = op.ReduceMean(tensor(Var, "x", *shape), axes=(-3,))
        for step in rewriter.rewrites(root):
            assert_same_values(op, [root], [step.image])
            yield step.image

    assert [len(list(steps(*shape))) for shape in ((2, 4, 5), (3, 4, 5), (7, 4, 4, 5), (5, 4, 5))] == [1, 1, 1, 0]
