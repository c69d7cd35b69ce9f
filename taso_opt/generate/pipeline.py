"""Discovers all candidate rules: enumerates every shard, reduces what it suggests, generalises what is left."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TypeVar

from taso_opt.core.rule import Rule
from taso_opt.errors import UsageError
from taso_opt.generate.definitions import discover_definitions
from taso_opt.generate.enumerate import enumerate_terms
from taso_opt.generate.families import POOLS, Pool
from taso_opt.generate.generalise import Generaliser
from taso_opt.generate.moves import Shard, shards
from taso_opt.generate.reduce import reduced
from taso_opt.generate.scalars import discover_scalars
from taso_opt.generate.settings import GenerateSettings, GenerateStats, Generation, PoolStats
from taso_opt.generate.sketch import rule_of, shape_of
from taso_opt.generate.subsume import subsumes
from taso_opt.generate.workers import cores, workers
from taso_opt.spec import SpecLibrary, load_specs
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Operator
from taso_opt.spec.text import format_rule

CHUNK = 16
"""How many groups of equations one process generalises at a time."""

Progress = Callable[[str, int, int], None]
"""Told the name of the stage, how many pieces of it are done and how many there are."""

Piece = TypeVar("Piece")


@dataclass(frozen=True)
class Sketched:
    """An equation of one shard: what it shares with equations of other sizes, its leaves in order, and itself."""

    shape: str
    leaves: tuple[int, ...]
    rule: Rule


@dataclass(frozen=True)
class Generalised:
    """The forms that groups of equations have, and how many equations turned out false on fresh instances."""

    forms: tuple[Rule, ...]
    refuted: int


def generate(
    library: SpecLibrary,
    settings: GenerateSettings,
    progress: Progress = lambda *_: None,
    pools: Sequence[Pool] = POOLS,
) -> Generation:
    """All candidate rules of at most `settings.max_ops` operators a side, the same for any number of jobs.

    Raises UsageError when an operator is not declared.
    """
    operators = tensor_operators(selected(library, settings))
    work = [shard for pool in pools for shard in shards(pool, operators)]
    # A process of its own loads the specs that ship with the tool; any other library stays in this one.
    with workers((settings.jobs or cores()) if library is load_specs() else 1) as run:
        # 1. Enumerate (paper, section 2.3); drop renamings, common subgraphs and what is implied (section 2.5).
        explore = partial(_explore, None if library is load_specs() else library, settings)
        explored = list(_watched(run(explore, work), "enumerate", len(work), progress))
        # 2. Bring together the same equation from different shards and give it its most general types.
        groups = _grouped(sketched for _, found in explored for sketched in found)
        chunks = [groups[start : start + CHUNK] for start in range(0, len(groups), CHUNK)]
        generalise = partial(_generalise, None if library is load_specs() else library, settings.seed)
        general = list(_watched(run(generalise, chunks), "generalise", len(chunks), progress))
    # 3. Keep each equation once, in its most general form.
    forms = [form for chunk in general for form in chunk.forms]
    candidates = most_general(forms, library.builder())
    # 4. Scalar functions, which are judged over the reals.
    scalars = discover_scalars(library, settings.max_ops, settings.seed, frozenset(selected(library, settings)))
    # 5. What the standard says of operators in other operators.
    definitions = discover_definitions(library, frozenset(selected(library, settings)), scalars)
    found = (*candidates, *scalars, *definitions)
    candidates = tuple(sorted(found, key=lambda rule: (rule.size, format_rule(rule))))
    refuted = sum(chunk.refuted for chunk in general)
    counts = _summed([one for one, _ in explored])
    stats = GenerateStats(counts, len(groups), refuted, len(forms), len(scalars), len(definitions), len(candidates))
    return Generation(candidates, stats)


def selected(library: SpecLibrary, settings: GenerateSettings) -> Mapping[str, Operator]:
    """The operators that take part."""
    if settings.operators is None:
        return library.operators
    for name in settings.operators:
        if name not in library.operators:
            raise UsageError(f"expected operators among {', '.join(sorted(library.operators))}, found {name!r}")
    return {name: library.operators[name] for name in sorted(set(settings.operators))}


def tensor_operators(operators: Mapping[str, Operator]) -> Mapping[str, Operator]:
    """Those that residues can evaluate; the others belong to the scalar functions or have definitions."""
    return {name: one for name, one in operators.items() if not (one.scalar or one.defined)}


def most_general(rules: Iterable[Rule], builder: Builder) -> tuple[Rule, ...]:
    """The rules without those that are instances of others, sorted by size and text."""
    by_text = {format_rule(rule): rule for rule in rules}
    alike: dict[tuple[int, str], list[Rule]] = defaultdict(list)
    for text in sorted(by_text):
        alike[_operators(by_text[text])].append(by_text[text])
    kept = [
        rule
        for group in alike.values()
        for place, rule in enumerate(group)
        if not any(_replaces(group, other, place, builder) for other in range(len(group)))
    ]
    return tuple(sorted(kept, key=lambda rule: (rule.size, format_rule(rule))))


def _replaces(group: Sequence[Rule], other: int, place: int, builder: Builder) -> bool:
    """Whether another rule says all that one says; of two that say the same the first one stays."""
    if other == place or not subsumes(group[other], group[place], builder):
        return False
    return other < place or not subsumes(group[place], group[other], builder)


def _operators(rule: Rule) -> tuple[int, str]:
    """How many outputs there are and what operators each side is written with, in either order."""
    sides = [sorted(re.findall(r"\w+(?=\()", side)) for side in format_rule(rule).partition(" where ")[0].split(" = ")]
    return len(rule.source), str(sorted(sides))


def _explore(library: SpecLibrary | None, settings: GenerateSettings, shard: Shard) -> tuple[PoolStats, list[Sketched]]:
    """The equations of one shard, and how many there were at each stage."""
    library = library or load_specs()
    max_ops = shard.max_ops(settings.max_ops)
    found = enumerate_terms(shard, tensor_operators(selected(library, settings)), max_ops, settings.seed)
    reduction = reduced(found, max_ops, settings.seed)
    kinds, builder = found.table.kinds, library.builder()
    sketched = [Sketched(*shape_of(sides, kinds), rule_of(sides, kinds, builder)) for sides in reduction.kept]
    levels = tuple((level.terms, level.classes) for level in found.levels)
    stats = PoolStats(
        shard.pool.families[0], shard.pool.name, levels, reduction.claims, reduction.dropped, len(sketched)
    )
    return stats, sketched


def _grouped(found: Iterable[Sketched]) -> list[list[Sketched]]:
    """Equations that differ in sizes or in identified variables only; those with the most variables come first."""
    groups: dict[str, list[Sketched]] = defaultdict(list)
    for sketched in found:
        groups[sketched.shape].append(sketched)
    return [sorted(group, key=lambda one: -len(set(one.leaves))) for _, group in sorted(groups.items())]


def _generalise(library: SpecLibrary | None, seed: int, groups: Sequence[Sequence[Sketched]]) -> Generalised:
    """The most general forms of every group; an equation that an earlier form of its group covers adds none."""
    builder = (library or load_specs()).builder()
    generaliser = Generaliser(builder, seed)
    forms: list[Rule] = []
    refuted = 0
    for group in groups:
        known: list[Rule] = []
        for sketched in group:
            if not any(subsumes(form, sketched.rule, builder) for form in known):
                fresh = generaliser.forms(sketched.rule)
                refuted += not fresh
                known += fresh
        forms += known
    return Generalised(tuple(forms), refuted)


def _summed(stats: Sequence[PoolStats]) -> tuple[PoolStats, ...]:
    pools: dict[str, list[PoolStats]] = defaultdict(list)
    for one in stats:
        pools[one.pool].append(one)
    return tuple(reduce(add, group) for group in pools.values())


def _watched(pieces: Iterable[Piece], stage: str, count: int, progress: Progress) -> Iterator[Piece]:
    for done, piece in enumerate(pieces, 1):
        progress(stage, done, count)
        yield piece
