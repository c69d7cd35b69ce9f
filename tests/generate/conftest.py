"""Small generations, each made once, and what the tests ask of them."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

import pytest

from taso_opt.core.rule import Rule
from taso_opt.generate import GenerateSettings, generate
from taso_opt.generate.enumeration.families import POOLS
from taso_opt.generate.equations.subsume import subsumes
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.verdict import Proved, Refuted


@cache
def _generated(pools: tuple[str, ...], operators: tuple[str, ...], max_ops: int) -> tuple[Rule, ...]:
    chosen = [pool for pool in POOLS if pool.name in pools]
    assert len(chosen) == len(pools), f"expected the names of pools, found {pools}"
    settings = GenerateSettings(operators=operators, max_ops=max_ops, jobs=1)
    return generate(load_specs(), settings, pools=chosen).candidates


@pytest.fixture
def discovered() -> Callable[[str, str, int], Sequence[Rule]]:
    """The candidates over some pools and operators, both given with commas between them."""

    def call(pools: str, operators: str, max_ops: int = 3) -> Sequence[Rule]:
        return _generated(tuple(pools.split(", ")), tuple(operators.split(", ")), max_ops)

    return call


@pytest.fixture
def covers(op) -> Callable[[Sequence[Rule], str], bool]:
    """Whether some candidate says what an equation given as text says, or more."""

    def call(candidates: Sequence[Rule], text: str) -> bool:
        wanted = parse_rule(text, op)
        return any(subsumes(candidate, wanted, op) for candidate in candidates)

    return call


@pytest.fixture
def proved(library) -> Callable[[Iterable[Rule]], bool]:
    """Whether all candidates are proved."""

    def call(candidates: Iterable[Rule]) -> bool:
        prover = Prover(library)
        return all(isinstance(examine(library, prover, rule), Proved) for rule in candidates)

    return call


@pytest.fixture
def refuted(library) -> Callable[[str], bool]:
    """Whether an equation given as text is refuted."""

    def call(text: str) -> bool:
        rule = parse_rule(text, library.builder())
        return isinstance(examine(library, Prover(library), rule), Refuted)

    return call
