"""Mutates every axiom, each of its preconditions and the meaning of each operator, and prints the mutants that survive.

A mutant of an axiom is caught when type inference refuses it or it is not proved for all sizes; one that is proved and
that evaluation agrees with is true as well, and so no mutant that could be caught. A mutant of a meaning is caught by
the outputs of ONNX Runtime, by evaluation that fails, or by an axiom that is no longer proved. What prepares kernels
is no node of ONNX: convolutions with what it prepares are compared with those that axioms equate them with. Conditions
on constants are those of the shipped rules; a rule must not be proved without them or under weaker ones. Exit code 1
when a mutant survives.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from mutation.mutants import changed_laws, changed_meanings, in_force, weakened_conditions, weakened_laws
from mutation.runtime_cases import Case, runtime_cases
from taso_opt.core.rule import Rule
from taso_opt.errors import TasoError
from taso_opt.spec import SpecLibrary, load_specs
from taso_opt.spec.builder import Builder
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.shared import piecewise, reductions, transcendental, windows
from taso_opt.spec.text import MISFITS, format_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.evaluation.refute import refute
from taso_opt.verify.index_functions.prove import ProvedForAllSizes, prove_axiom, prove_for_all_sizes
from taso_opt.verify.scalar_rules import is_scalar, rests_on_meanings
from taso_opt.verify.scalars import prove_scalars
from taso_opt.verify.verdict import Counterexample

AGREEING = 8
"""Instances on which a true mutant has to agree."""

NEXT_AXIS = "joined along the next axis the two kernels of a pair stand in the same order once pairs are one axis again"
ONE_WINDOW = "there is one window only, so that no stride leads to a second one"
SQUARE_KERNEL = "the kernel has as many rows as columns of taps, which its types ask for"
SQUARE_MATRIX = "the matrix is square, which its types ask for"
EQUIVALENT: Mapping[tuple[str, str], str] = {
    ("PairGroups", "line 7: 4 becomes 3"): NEXT_AXIS,
    ("PairGroups", "line 7: 1 becomes 2"): NEXT_AXIS,
    ("IdentityKernel", "line 2: 0 becomes 1"): "the kernel has as many channels in as out, which its types ask for",
    ("PoolKernel", "line 3: 'g,cd->gcd' becomes 'g,cd->gdc'"): "an identity matrix is its own transposed one",
    ("PoolKernel", "line 6: 1 becomes 2"): ONE_WINDOW,
    ("Subsample", "line 2: 1 becomes 2"): "a window of one pixel has no second one that a dilation could move",
    (
        "AveragingMatrix",
        "line 5: xp.sum(xp.windows(rows, kernel, strides, (1,)), (-1,)) becomes "
        "xp.maximum(xp.windows(rows, kernel, strides, (1,)), (-1,))",
    ): "a window over a row of an identity matrix has one number that is not 0, and what is prepared are ones",
    ("IdentityMatrix", "line 2: 0 becomes 1"): SQUARE_MATRIX,
    ("IdentityMatrix", "line 2: 0 becomes -1"): SQUARE_MATRIX,
    ("WinogradBias", "line 3: 1 becomes 2"): SQUARE_KERNEL,
    ("WinogradBias", "line 4: 0 becomes -1"): "a bias has one axis",
    ("WinogradKernel", "line 2: 1 becomes 2"): SQUARE_KERNEL,
    ("WinogradOutput", "line 2: 1 becomes 2"): SQUARE_KERNEL,
    ("mean", "line 5: 1 becomes 2"): ONE_WINDOW,
    ("mean", "line 5: True becomes False"): "there is no padding that could count or not",
    (
        "shares",
        "line 7: xp.subtract(x, greatest(xp, x, (axis,))) becomes xp.add(x, greatest(xp, x, (axis,)))",
    ): "what all elements have in common changes no share",
    ("_counts", "line 6: axis - len(self.sizes) becomes axis + len(self.sizes)"): (
        "there are twice as many pads as axes, so that both count to the same place"
    ),
}
"""Mutants of meanings that mean the same, each with the reason; docs/mutation.md says more."""


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant: caught, ill-typed, true (a law that holds as well), equivalent, or survived."""

    kind: str
    where: str
    mutant: str
    fate: str


def main() -> int:
    """Judge all mutants, or every so many of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="judge one mutant in so many [1]")
    parser.add_argument("--list", action="store_true", help="print the mutants that are true or equivalent, too")
    options = parser.parse_args()
    library = load_specs()
    outcomes = [*law_outcomes(library, options.every), *condition_outcomes(library)]
    outcomes += meaning_outcomes(library, options.every)
    for outcome in outcomes:
        if outcome.fate == "survived" or (options.list and outcome.fate in ("true", "equivalent")):
            print(f"{outcome.fate}: {outcome.kind} of {outcome.where}: {outcome.mutant}")
    print(summary(outcomes))
    return int(any(outcome.fate == "survived" for outcome in outcomes))


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many mutants of each kind met which fate."""
    lines = []
    for kind in dict.fromkeys(outcome.kind for outcome in outcomes):
        counts = Counter(outcome.fate for outcome in outcomes if outcome.kind == kind)
        fates = ", ".join(f"{count} {fate}" for fate, count in sorted(counts.items()))
        lines.append(f"{kind}: {sum(counts.values())} mutants, {fates}")
    return "\n".join(lines)


def law_outcomes(library: SpecLibrary, every: int = 1) -> Iterator[Outcome]:
    """Every mutant of an axiom and of its preconditions, at its first and its last scheme."""
    number = 0
    for axiom in library.axioms.values():
        builder = library.builder()
        instances = list(axiom.instances(builder))
        for one in dict.fromkeys((instances[0], instances[-1])):
            rule = Rule(one.left, one.right)
            for kind, mutants in (("axiom", changed_laws), ("precondition", weakened_laws)):
                for mutant in mutants(rule, builder):
                    number += 1
                    if number % every == 0 and mutant is None:
                        yield Outcome(kind, axiom.name, "", "ill-typed")
                    elif number % every == 0 and mutant is not None and mutant != rule:
                        yield Outcome(kind, axiom.name, format_rule(mutant), law_fate(builder, mutant))


def condition_outcomes(library: SpecLibrary, rules: Iterable[Rule] | None = None) -> Iterator[Outcome]:
    """Every mutant of the conditions on values of the shipped rules."""
    builder, prover = library.builder(), Prover(library)
    for rule in read_rules(None, builder) if rules is None else rules:
        for mutant in weakened_conditions(rule):
            fate = "survived" if _is_proved(builder, prover, mutant) else "caught"
            if fate == "survived" and not isinstance(refute(builder, mutant), Counterexample):
                fate = "true"
            yield Outcome("condition", rule.name, format_rule(mutant), fate)


def _is_proved(builder: Builder, prover: Prover, rule: Rule) -> bool:
    if not rests_on_meanings(builder, rule):
        return prover.prove(rule) is None
    prove = prove_scalars if is_scalar(builder, rule) else prove_definition
    return prove(builder, rule) is None


def law_fate(builder: Builder, mutant: Rule) -> str:
    """A law that is not proved is caught; one that is proved must stand every evaluation."""
    if not isinstance(prove_for_all_sizes(builder, mutant.source, mutant.target), ProvedForAllSizes):
        return "caught"
    return "survived" if isinstance(refute(builder, mutant, AGREEING), Counterexample) else "true"


def meaning_outcomes(library: SpecLibrary, every: int = 1) -> Iterator[Outcome]:
    """Every mutant of the meaning of an operator, or of a function that meanings share."""
    expected = {name: list(runtime_cases(library, name)) for name in sorted(library.operators)}
    if _meaning_fate(library, expected) != "survived":
        raise TasoError("expected meanings that agree with the runtime as they are, found one that does not")
    number = 0
    for where, function in meanings(library).items():
        for mutant in changed_meanings(function):
            number += 1
            if number % every == 0:
                with in_force(function, mutant):
                    fate = _meaning_fate(library, expected)
                if fate == "survived" and (where, mutant.change) in EQUIVALENT:
                    fate = "equivalent"
                yield Outcome("meaning", where, mutant.change, fate)


def meanings(library: SpecLibrary) -> dict[str, FunctionType]:
    """The functions that say what operators compute, by the names that mutants are listed under."""
    found: dict[str, FunctionType] = {}
    for name, operator in library.operators.items():
        if isinstance(operator.evaluate, FunctionType):
            found[name] = operator.evaluate
    shared = (piecewise.positive, piecewise.negated, piecewise.maximum, piecewise.minimum, piecewise.clipped)
    counts: Any = windows.WindowShares.__dict__["_counts"]
    reduced = (reductions.mean, reductions.total, reductions.greatest, reductions.shares)
    for function in (*shared, *reduced, transcendental.softplus, windows.padded, counts):
        assert isinstance(function, FunctionType)
        found[function.__name__] = function
    distinct = {function.__code__: (name, function) for name, function in reversed(found.items())}
    return dict(reversed(distinct.values()))


def _meaning_fate(library: SpecLibrary, expected: Mapping[str, Sequence[Case]]) -> str:
    for cases in expected.values():
        for case in cases:
            try:
                if not case.agrees(library):
                    return "caught"
            except (TasoError, ValueError, *MISFITS):
                return "caught"
    for axiom in library.axioms.values():
        if not isinstance(prove_axiom(axiom, library), ProvedForAllSizes):
            return "caught"
    return "survived"


if __name__ == "__main__":
    sys.exit(main())
