"""The equations of one shard: its enumeration reduced to what the rest of it follows from, as a pure function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from taso_opt.core.quotients import parse_size
from taso_opt.core.rule import Rule
from taso_opt.generate.engines.workers import Engine
from taso_opt.generate.enumeration.enumerate import Effort, TooLarge, enumerate_terms
from taso_opt.generate.enumeration.level import Batch, Level, Range, evaluate
from taso_opt.generate.enumeration.moves import Shard
from taso_opt.generate.enumeration.reduce import reduced
from taso_opt.generate.enumeration.sketch import rule_of, shape_of
from taso_opt.generate.settings import PoolStats
from taso_opt.spec import SpecLibrary, load_specs
from taso_opt.spec.builder import Builder
from taso_opt.spec.text import format_rule, parse_rule

ROW_BYTES = 256
"""What an operand tuple of the last level takes, with its keys, their order and the equations that it makes."""


@dataclass(frozen=True)
class Sketched:
    """An equation of one shard: what it shares with equations of other sizes, its leaves in order, and itself."""

    shape: str
    leaves: tuple[int, ...]
    rule: Rule


@dataclass(frozen=True)
class Explored:
    """The equations of one shard, and how many there were at each stage."""

    stats: PoolStats
    found: tuple[Sketched, ...]


@dataclass(frozen=True)
class Exploration:
    """What the exploration of a shard depends on besides it; `library` is None for the specs that ship with the tool.

    `memory` is what one process may use, in bytes.
    """

    library: SpecLibrary | None
    operators: tuple[str, ...]
    max_ops: int
    seed: int
    memory: int
    array: str

    def alone(self, shard: Shard) -> Explored | None:
        """Explore a shard in this process; None when a level of it has more terms than one process should evaluate."""
        rows = self.memory // ROW_BYTES
        try:
            return self._explored(shard, Effort(most_rows=rows, part_rows=rows, array=self.array))
        except TooLarge:
            return None

    def together(self, shard: Shard, engine: Engine) -> Explored:
        """Explore a shard here, its levels on an engine."""

        def spread(level: Level, pieces: Sequence[Range]) -> Iterator[Sequence[Batch]]:
            return engine.spread(_evaluated, level, pieces)

        return self._explored(shard, Effort(spread, part_rows=self.memory // ROW_BYTES, array=self.array))

    def _explored(self, shard: Shard, effort: Effort) -> Explored:
        library = self.library or load_specs()
        max_ops = shard.max_ops(self.max_ops)
        operators = {name: library.operators[name] for name in self.operators}
        found = enumerate_terms(shard, operators, max_ops, self.seed, effort)
        reduction = reduced(found, max_ops, self.seed)
        kinds, builder = found.table.kinds, library.builder()
        sketched = tuple(Sketched(*shape_of(sides, kinds), rule_of(sides, kinds, builder)) for sides in reduction.kept)
        levels = tuple((level.terms, level.classes) for level in found.levels)
        family, name = shard.pool.families[0], shard.pool.name
        stats = PoolStats(family, name, levels, reduction.claims, reduction.dropped, len(sketched))
        return Explored(stats, sketched)


def _evaluated(level: Level, piece: Range) -> list[Batch]:
    return list(evaluate(level, piece))


def packed(explored: Explored) -> Any:
    """What a shard gave as JSON values."""
    found = [[one.shape, one.leaves, format_rule(one.rule)] for one in explored.found]
    return {"stats": {**vars(explored.stats)}, "found": found}


def unpacked(values: Any, builder: Builder) -> Explored:
    """What `packed` was given; raises the errors of the form of data, and RuleError, on anything else."""
    stats = dict(values["stats"])
    levels = tuple((int(terms), int(classes)) for terms, classes in stats.pop("levels"))
    dropped = Counter({str(reason): int(count) for reason, count in stats.pop("dropped").items()})
    claims, kept = (int(stats.pop(name)) for name in ("claims", "kept"))
    found = (
        Sketched(str(shape), tuple(map(int, leaves)), parse_rule(text, builder, parse_size))
        for shape, leaves, text in values["found"]
    )
    family, pool = (str(stats.pop(name)) for name in ("family", "pool"))
    return Explored(PoolStats(family, pool, levels, claims, dropped, kept), tuple(found))
