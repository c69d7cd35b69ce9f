"""Digests of what is asked: the cost table remembers answers under them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import taso_opt
from taso_opt import __version__
from taso_opt.api.job import Job
from taso_opt.core.rule import RuleSet
from taso_opt.runtime.inputs import add_array
from taso_opt.search.judging.finals import Standard
from taso_opt.search.plan import Plan
from taso_opt.spec import load_specs


def search_question(job: Job, rules: RuleSet) -> str:
    """A digest of all that a search depends on beside costs: model, sizes, rules, goal, budget, this tool itself."""
    sizes, without = sorted(job.source.bindings.items()), sorted(job.without)
    found = sha256(repr((_own_code(), sizes, job.goal, job.budget, job.settings.alpha, without)).encode())
    found.update(" ".join(rule.name for rule in rules).encode())
    _add_model(found, job)
    return found.hexdigest()


def contest_question(job: Job, plans: Sequence[Plan], standard: Standard) -> str:
    """A digest of all that the finals depend on: model, plans, seed, inputs, what decides, version of this tool."""
    settings = job.settings
    asked = __version__, settings.seed, sorted(settings.dims.items()), standard, bool(job.obstacle)
    found = sha256(repr(asked).encode())
    _add_model(found, job)
    for plan in plans:
        found.update(b"plan" + b"".join(output.digest for output in plan.outputs))
    for sample in job.samples:
        for name, array in sorted(sample.items()):
            found.update(name.encode())
            add_array(found, array)
    return found.hexdigest()


@cache
def _own_code() -> str:
    """A digest of the modules of this tool: another search may find something else."""
    found = sha256(load_specs().digest.encode())
    package = Path(taso_opt.__file__).parent
    for path in sorted(package.rglob("*.py")):
        found.update(f"{path.relative_to(package).as_posix()} ".encode() + path.read_bytes())
    return found.hexdigest()


def _add_model(found: Any, job: Job) -> None:
    found.update(job.source.digest.encode())
    if job.has_another_base:  # digests of plans say nothing of what is in bodies
        found.update(b"tidied" + job.model.proto.SerializeToString(deterministic=True))
