"""Small generations, each made once, and what the tests ask of them."""

from collections.abc import Callable, Sequence
from functools import cache

import pytest

from taso_opt.core.rule import Rule
from taso_opt.generate import GenerateSettings, generate
from taso_opt.generate.enumeration.families import POOLS
from taso_opt.generate.equations.subsume import subsumes
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule


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
