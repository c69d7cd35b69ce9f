"""Functions on rules: discover candidates, prove or refute equations, re-check a library."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from taso_opt.api.session import Progress
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_equations
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.library.check import CheckResult, check_library
from taso_opt.verify.library.pipeline import examine_all
from taso_opt.verify.processes.crew import Crew
from taso_opt.verify.processes.worker import Examine
from taso_opt.verify.verdict import Verdict

if TYPE_CHECKING:
    from taso_opt.core.rule import Rule

log = logging.getLogger("taso_opt")


def generate(
    *,
    operators: Sequence[str] | None = None,
    max_ops: int = 3,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[str]:
    """Candidate equations between terms over the operators (all by default), sorted by size and text.

    Each side has at most `max_ops` of the `operators`. Both have the same values on random inputs of the `seed`;
    nothing is proved yet, `verify` takes them as they are. More than one of `jobs` (processes) needs the `if __name__
    == "__main__"` guard in the calling script. `progress` takes each line that says what is being done. Raises
    UsageError for wrong options.
    """
    from taso_opt.generate import GenerateSettings
    from taso_opt.generate import generate as discover

    tell = progress or _log
    settings = GenerateSettings(None if operators is None else tuple(operators), max_ops, jobs, seed)
    found = discover(load_specs(), settings, lambda stage, done, count: tell(f"{stage}: {done} of {count}"))
    return [format_rule(rule) for rule in found.candidates]


def verify(
    equations: str | Path | Iterable[str], *, jobs: int = 1, progress: Progress | None = None
) -> list[tuple[str, Verdict]]:
    """Each equation with its verdict: Proved, Refuted with a counterexample, or Unknown with a reason.

    `equations` is one equation in text form (`Relu(Relu(x)) = Relu(x) where x[*b]`), several of them, or the Path of a
    file with one a line. One that is true for some values of constants only is Proved with `conditions` on them. `jobs`
    is the number of processes; `progress` takes each line that says what is being done. Raises RuleError for an
    equation that cannot be read.
    """
    rules = _rules(equations)
    with Crew(jobs) as crew:
        verdicts = examine_all(crew, [Examine(rule, infer=True) for rule in rules], progress or _log)
    return [(format_rule(rule), verdict) for rule, verdict in zip(rules, verdicts, strict=True)]


def verify_library(path: str | Path | None = None, *, jobs: int = 1, progress: Progress | None = None) -> CheckResult:
    """Check every proof of a rule library again, of the one that ships with the tool when `path` is None.

    `jobs` is the number of processes; `progress` takes each line that says what is being done. Raises RuleError when a
    line is no rule with a certificate; what fails a check is in the result.
    """
    return check_library(None if path is None else Path(path), load_specs(), jobs, progress or _log)


def _rules(equations: str | Path | Iterable[str]) -> list[Rule]:
    builder = load_specs().builder()
    if isinstance(equations, Path):
        return [rule for _, rule in read_equations(equations, builder)]
    texts = [equations] if isinstance(equations, str) else equations
    return [parse_rule(text.strip(), builder) for text in texts]


def _log(message: str) -> None:
    log.info("%s", message)
