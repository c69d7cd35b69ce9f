"""Candidates made by schemes: the forms that rules have which are too large to be enumerated."""

from __future__ import annotations

from collections.abc import Callable

from taso_opt.core.rule import Rule
from taso_opt.generate.schemes.adjoining import discover_adjoining
from taso_opt.generate.schemes.blocks import discover_blocks
from taso_opt.generate.schemes.cropped import discover_cropped
from taso_opt.generate.schemes.expansions import discover_expansions
from taso_opt.generate.schemes.features import discover_features
from taso_opt.generate.schemes.flattened import discover_flattened
from taso_opt.generate.schemes.kernels import discover_kernels
from taso_opt.generate.schemes.lines import discover_lines
from taso_opt.generate.schemes.lookups import discover_lookups
from taso_opt.generate.schemes.means import discover_means
from taso_opt.generate.schemes.merged import discover_merged
from taso_opt.generate.schemes.moved import discover_moved
from taso_opt.generate.schemes.pairs import discover_pairs
from taso_opt.generate.schemes.pixels import discover_pixels
from taso_opt.generate.schemes.pooled import discover_pooled
from taso_opt.generate.schemes.relative import discover_relative
from taso_opt.generate.schemes.repeats import discover_repeats
from taso_opt.generate.schemes.rows import discover_rows
from taso_opt.generate.schemes.separable import discover_separable
from taso_opt.generate.schemes.shuffled import discover_shuffled
from taso_opt.generate.schemes.slices import discover_slices
from taso_opt.generate.schemes.stacked import discover_stacked
from taso_opt.generate.schemes.steps import discover_steps
from taso_opt.generate.schemes.tiles import discover_tiles
from taso_opt.generate.schemes.volumes import discover_volumes
from taso_opt.generate.schemes.zeros import discover_zeros
from taso_opt.spec import SpecLibrary

Scheme = Callable[[SpecLibrary, int, frozenset[str]], tuple[Rule, ...]]
"""The candidates of some form over the named operators, by a seed for the instances that they must hold at."""

SCHEMES: tuple[Scheme, ...] = (
    discover_slices,
    discover_zeros,
    discover_cropped,
    discover_means,
    discover_pooled,
    discover_expansions,
    discover_tiles,
    discover_lines,
    discover_moved,
    discover_kernels,
    discover_merged,
    discover_separable,
    discover_features,
    discover_blocks,
    discover_shuffled,
    discover_adjoining,
    discover_pixels,
    discover_stacked,
    discover_steps,
    discover_volumes,
    discover_pairs,
    discover_lookups,
    discover_relative,
    discover_repeats,
    discover_flattened,
    discover_rows,
)
"""All schemes that stand on nothing but the specs, in the order in which their candidates are listed."""
