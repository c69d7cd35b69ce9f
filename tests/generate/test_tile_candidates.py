"""Convolutions in tiles are found with the points that round least, proved at all sizes, and refuted where changed."""

import re
from fractions import Fraction

import numpy as np
import pytest

from taso_opt.core.rule import FpClass
from taso_opt.generate.schemes.tiles import TILES, best_points, discover_tiles, growth
from taso_opt.semantics.bounds import bounds_of_sizes
from taso_opt.semantics.instances import random_instances
from taso_opt.spec.shared.interpolation import of_inputs, of_outputs, of_taps
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.scalar_rules import is_definitional
from taso_opt.verify.verdict import Proved, Refuted

SMALL = "((0, 1), (1, 1), (-1, 1), (1, 0))"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_tiles(library, 0, frozenset(library.operators))


@pytest.fixture(scope="module")
def simple(candidates):
    """The shortest of them: tiles of two by two that fill the image, without a bias."""
    return min(map(format_rule, candidates), key=len)


def test_there_is_one_for_each_number_of_rows_and_columns_that_is_left_with_and_without_a_bias(candidates):
    assert len(candidates) == 2 * sum(tile**2 for _, tile in TILES)
    assert sum("WinogradBias" in format_rule(rule) for rule in candidates) == len(candidates) // 2
    assert {len(rule.variables) for rule in candidates} == {2, 3}


def test_the_points_that_are_taken_round_less_than_the_usual_ones():
    assert best_points(4, 3) == ((0, 1), (1, 1), (-1, 1), (1, 0))
    ours, usual = best_points(6, 3), ((0, 1), (1, 1), (-1, 1), (2, 1), (-2, 1), (1, 0))
    assert growth(ours, 3) < growth(usual, 3) / 4
    assert _error(ours) < _error(usual) / 1.5


def _error(points):
    """The largest error of tiles of one row over many channels in single precision."""
    generator = np.random.default_rng(5)
    outputs, inputs, kernels = (
        np.array(rows, float) for rows in (of_outputs(points, 3), of_inputs(points), of_taps(points, 3))
    )
    images, filters = generator.normal(size=(64, 128, 6)), generator.normal(size=(128, 3))
    exact = np.stack([np.einsum("tci,ci->t", images[..., at : at + 3], filters) for at in range(4)], axis=1)
    parts = [array.astype(np.float32) for array in (images @ inputs.T, filters @ kernels.T)]
    found = np.einsum("tcx,cx->tx", *parts) @ outputs.T.astype(np.float32)
    return float(np.abs(found - exact).max())


def test_errors_grow_by_no_more_than_is_said_for_one_product():
    points = best_points(6, 3)
    rows = zip(of_outputs(points, 3)[0], of_inputs(points), of_taps(points, 3), strict=True)
    first = sum((value**2 * _square(one) * _square(other) for value, one, other in rows), Fraction(0))
    assert 0 < first <= growth(points, 3)


def _square(row):
    return sum(value**2 for value in row)


def test_candidates_are_proved_at_all_sizes_pads_of_none_included(library, candidates):
    builder = library.builder()
    for rule in candidates:
        assert is_definitional(builder, rule)
        least = bounds_of_sizes(rule.roots).least
        assert {name for name in least if name.startswith("p_")} == {"p_t", "p_l", "p_b", "p_r"}
    for rule in sorted(candidates, key=lambda one: len(format_rule(one)))[::7]:
        assert prove_definition(builder, rule) is None, format_rule(rule)


def test_instances_have_several_groups_and_batches_and_are_evaluated(library, candidates):
    builder, generator = library.builder(), np.random.default_rng(0)
    rule = next(one for one in candidates if "WinogradBias" in format_rule(one))
    groups = {side[0].attribute("group") for side in random_instances(builder, rule.roots, 30, generator)}
    assert len(groups) > 1
    verdict = examine(library, Prover(library), rule)
    assert isinstance(verdict, Proved) and verdict.fp_class is FpClass.E3


@pytest.mark.parametrize(
    ("true", "false"),
    [
        (f"WinogradKernel(f; points={SMALL})", "WinogradKernel(f; points=((0, 1), (1, 1), (-2, 1), (1, 0)))"),
        ("pads=(p_t, p_l, p_b, p_r), strides=(2, 2)", "pads=(p_b, p_l, p_t, p_r), strides=(2, 2)"),
        ("perm=(-3, -4, -2, -1)", "perm=(-3, -4, -1, -2)"),
    ],
)
def test_a_candidate_with_a_mistake_is_not_proved(library, simple, true, false):
    assert true in simple
    changed = parse_rule(simple.replace(true, false), library.builder())
    assert prove_definition(library.builder(), changed) is not None
    assert not isinstance(examine(library, Prover(library), changed), Proved)


def test_other_points_on_both_sides_are_proved_and_points_of_only_one_are_refuted(library, simple):
    others = simple.replace(SMALL, "((0, 1), (1, 2), (-5, 1), (3, 1))")
    assert prove_definition(library.builder(), parse_rule(others, library.builder())) is None
    only_one = re.sub(
        r"WinogradInput\(f; points=\(\(0, 1\), \(1, 1\)", "WinogradInput(f; points=((0, 1), (2, 1)", simple
    )
    assert isinstance(examine(library, Prover(library), parse_rule(only_one, library.builder())), Refuted)
