"""Discovers all candidate rules: enumerates shards, reduces what they suggest, generalises that, and tries forms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from functools import partial, reduce
from hashlib import blake2b
from operator import add
from typing import Any, TypeVar

from taso_opt.core.machine.memory import all_memory
from taso_opt.core.machine.processors import cores
from taso_opt.core.rule import Rule
from taso_opt.errors import InvalidInputError, RuleError, SpecError, UsageError
from taso_opt.generate.engines.checkpoint import Checkpoint, open_checkpoint
from taso_opt.generate.engines.workers import Engine, processes
from taso_opt.generate.enumeration.explore import Exploration, Explored, Sketched, packed, unpacked
from taso_opt.generate.enumeration.families import EXTRA, POOLS, Pool
from taso_opt.generate.enumeration.moves import Shard, shards
from taso_opt.generate.equations.generalise import Generaliser
from taso_opt.generate.equations.subsume import most_general, subsumes
from taso_opt.generate.scalar.bends import discover_bends
from taso_opt.generate.scalar.bounded import discover_bounded
from taso_opt.generate.scalar.functions import discover_scalars
from taso_opt.generate.schemes import SCHEMES, Scheme
from taso_opt.generate.schemes.bodies import discover_bodies
from taso_opt.generate.schemes.definitions import discover_definitions
from taso_opt.generate.settings import LEAST_MEMORY, VERSION, GenerateSettings, GenerateStats, Generation, PoolStats
from taso_opt.semantics.devices import array_module
from taso_opt.spec import SpecLibrary, load_specs
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Operator
from taso_opt.spec.text import MISFITS, format_rule, parse_rule

CHUNK = 16
"""How many groups of equations one process generalises at a time."""

Progress = Callable[[str, int, int], None]
"""Told the name of the stage, how many pieces of it are done and how many there are."""

Work = TypeVar("Work")
Piece = TypeVar("Piece")


Steps = Callable[[int, int], None]
Groups = list[list[Sketched]]


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
    """All candidate rules of at most `settings.max_ops` operators a side, the same wherever the work is done.

    Raises UsageError when an operator or a pool is not known, InvalidInputError when the folder to go on from holds
    something else, UnsupportedError when there is no such cluster or array module.
    """
    operators = tensor_operators(selected(library, settings))
    work = [shard for pool in named(pools, settings) for shard in shards(pool, operators)]
    array_module(settings.array)
    names = frozenset(selected(library, settings))
    schemes: list[Scheme] = [partial(discover_functions, max_ops=settings.max_ops), *SCHEMES]
    done = open_checkpoint(settings.resume, _task(library, settings, names, work))
    # Other processes load the specs that ship with the tool; any other library stays in this one.
    shipped = None if library is load_specs() else library
    share = memory_share(settings)
    exploration = Exploration(shipped, tuple(operators), settings.max_ops, settings.seed, share, settings.array)
    with closing(done), _engine(settings, alone=shipped is not None) as engine:
        # 1. Enumerate (paper, section 2.3); drop renamings, common subgraphs and what is implied (section 2.5).
        explored = _explored(exploration, work, engine, done, partial(progress, "enumerate"))
        # 2. Bring together the same equation from different shards and give it its most general types.
        groups = _grouped(sketched for one in explored for sketched in one.found)
        general = _generalised(shipped, settings.seed, groups, engine, done, partial(progress, "generalise"))
        # 3. Try what residues do not reach: functions of numbers, and equations of forms that are too large.
        tried = _tried(shipped, settings.seed, names, schemes, engine, done, partial(progress, "try"))
    forms = [form for chunk in general for form in chunk.forms]
    scalars, passing = tried[0], [rule for found in tried[1:] for rule in found]
    definitions = discover_definitions(library, names, scalars)
    definitions += discover_bodies(library, names, (*scalars, *definitions))
    # 4. Keep each equation once, in its most general form.
    candidates = most_general((*forms, *scalars, *definitions, *passing), library.builder())
    refuted = sum(chunk.refuted for chunk in general)
    levels = _summed([one.stats for one in explored])
    counts = map(len, (forms, scalars, definitions, passing, candidates))
    return Generation(candidates, GenerateStats(levels, len(groups), refuted, *counts))


def _task(
    library: SpecLibrary, settings: GenerateSettings, names: Collection[str], work: Sequence[Shard]
) -> dict[str, Any]:
    """All that the pieces of a run depend on."""
    return {
        "version": VERSION,
        "specs": library.digest,
        "operators": sorted(names),
        "max_ops": settings.max_ops,
        "seed": settings.seed,
        "work": _digest(work),
        "schemes": [scheme.__module__ for scheme in SCHEMES],
    }


def discover_functions(library: SpecLibrary, seed: int, operators: frozenset[str], *, max_ops: int) -> tuple[Rule, ...]:
    """Equations of scalar functions, judged over the reals: for all numbers, under conditions, and around a bend."""
    scalars = discover_scalars(library, max_ops, seed, operators)
    bounded = discover_bounded(library, max_ops, seed, operators, scalars)
    return (*scalars, *bounded, *discover_bends(library, seed, operators))


def _digest(work: Sequence[Shard]) -> str:
    """A name for a list of shards, by all that they are made of, the same in every process."""
    text = "\n".join(repr((_stated(one.pool), one.variables, sorted(one.operators), one.mode)) for one in work)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _stated(pool: Pool) -> tuple[Any, ...]:
    """All that a pool is made of; sets have another order in every process."""
    values = (getattr(pool, field.name) for field in fields(pool))
    return tuple(sorted(value) if isinstance(value, frozenset) else value for value in values)


@contextmanager
def _engine(settings: GenerateSettings, alone: bool) -> Iterator[Engine]:
    if settings.cluster is not None and not alone:
        from taso_opt.generate.engines.cluster import cluster

        with cluster(settings.cluster) as engine:
            yield engine
        return
    with processes(1 if alone else jobs_of(settings)) as engine:
        yield engine


def jobs_of(settings: GenerateSettings) -> int:
    """How many processes there are: no more than have the least memory each, this one besides."""
    most = max(1, memory_of(settings) // LEAST_MEMORY - 1)
    return min(settings.jobs or cores(), most)


def memory_of(settings: GenerateSettings) -> int:
    """How many bytes all processes may use together: four fifths of what there is unless told otherwise."""
    if settings.max_memory is not None:
        return settings.max_memory
    return all_memory() * 4 // 5


def memory_share(settings: GenerateSettings) -> int:
    """How many bytes one process may use."""
    jobs = jobs_of(settings)
    return memory_of(settings) // (jobs + 1 if jobs > 1 else 1)


def _explored(
    exploration: Exploration, work: Sequence[Shard], engine: Engine, done: Checkpoint, progress: Steps
) -> list[Explored]:
    """What every shard gives, in their order; shards that are too large for one process come last, one by one."""
    builder = (exploration.library or load_specs()).builder()
    results = {place: _restored(unpacked, values, builder) for place, values in done.known("enumerate")}

    def note(place: int, found: Explored) -> None:
        results[place] = found
        done.save("enumerate", place, packed(found))
        progress(len(results), len(work))

    missing = [place for place in range(len(work)) if place not in results]
    large = []
    for at, found in engine.each(exploration.alone, [work[place] for place in missing]):
        if found is None:
            large.append(missing[at])
        else:
            note(missing[at], found)
    for place in sorted(large):
        note(place, exploration.together(work[place], engine))
    return [results[place] for place in range(len(work))]


def _generalised(
    library: SpecLibrary | None, seed: int, groups: Groups, engine: Engine, done: Checkpoint, progress: Steps
) -> list[Generalised]:
    """The forms of all groups, some groups at a time."""
    chunks = [groups[start : start + CHUNK] for start in range(0, len(groups), CHUNK)]
    builder = (library or load_specs()).builder()
    known = {place: _restored(_forms, values, builder) for place, values in done.known("generalise")}

    def save(place: int, found: Generalised) -> None:
        done.save("generalise", place, [_texts(found.forms), found.refuted])

    return _finished(partial(_generalise, library, seed), chunks, known, save, engine, progress)


def _tried(
    library: SpecLibrary | None,
    seed: int,
    operators: frozenset[str],
    schemes: Sequence[Scheme],
    engine: Engine,
    done: Checkpoint,
    progress: Steps,
) -> list[tuple[Rule, ...]]:
    """The candidates of every scheme, in their order."""
    builder = (library or load_specs()).builder()
    known = {place: _restored(_rules, values, builder) for place, values in done.known("try")}

    def save(place: int, found: tuple[Rule, ...]) -> None:
        done.save("try", place, _texts(found))

    return _finished(partial(_try, library, seed, operators), schemes, known, save, engine, progress)


def _finished(
    function: Callable[[Work], Piece],
    work: Sequence[Work],
    known: dict[int, Piece],
    save: Callable[[int, Piece], None],
    engine: Engine,
    progress: Steps,
) -> list[Piece]:
    """What all pieces of work give, in their order; what is not `known` yet is saved as soon as it is."""
    missing = [place for place in range(len(work)) if place not in known]
    for at, found in engine.each(function, [work[place] for place in missing]):
        known[missing[at]] = found
        save(missing[at], found)
        progress(len(known), len(work))
    return [known[place] for place in range(len(work))]


def _try(library: SpecLibrary | None, seed: int, operators: frozenset[str], scheme: Scheme) -> tuple[Rule, ...]:
    return scheme(library or load_specs(), seed, operators)


def _forms(values: Any, builder: Builder) -> Generalised:
    """What `_generalised` saved of one chunk."""
    texts, refuted = values
    return Generalised(_rules(texts, builder), int(refuted))


def _texts(rules: Iterable[Rule]) -> list[str]:
    return [format_rule(rule) for rule in rules]


def _rules(texts: Any, builder: Builder) -> tuple[Rule, ...]:
    return tuple(parse_rule(text, builder) for text in texts)


def _restored(read: Callable[[Any, Builder], Piece], values: Any, builder: Builder) -> Piece:
    try:
        return read(values, builder)
    except (*MISFITS, ValueError, RuleError, SpecError) as error:
        raise InvalidInputError(f"expected what an interrupted run left in --resume, found {error}") from error


def named(pools: Sequence[Pool], settings: GenerateSettings) -> list[Pool]:
    """The pools that take part."""
    if settings.pools is None:
        return list(pools)
    names = {pool.name: pool for pool in (*pools, *EXTRA)}
    for name in settings.pools:
        if name not in names:
            raise UsageError(f"expected a pool, found {name!r}: there are {', '.join(names)}")
    return [pool for name, pool in names.items() if name in settings.pools]


def selected(library: SpecLibrary, settings: GenerateSettings) -> Mapping[str, Operator]:
    """The operators that take part."""
    if settings.operators is None:
        return library.operators
    for name in settings.operators:
        if name not in library.operators:
            raise UsageError(f"expected an operator, found {name!r}: there are {', '.join(sorted(library.operators))}")
    return {name: library.operators[name] for name in sorted(set(settings.operators))}


def tensor_operators(operators: Mapping[str, Operator]) -> Mapping[str, Operator]:
    """Those that residues can evaluate."""
    return {name: one for name, one in operators.items() if one.is_enumerated}


def _grouped(found: Iterable[Sketched]) -> Groups:
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
