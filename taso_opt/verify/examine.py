"""Judges one equation by both witnesses, proof and evaluation, and asserts that they do not contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from taso_opt.core.rule import FpClass, Rule
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.text import format_rule
from taso_opt.verify.conditions.infer import inferred
from taso_opt.verify.definitions import ENGINE as DEFINITION_ENGINE
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import ENGINE, Prover
from taso_opt.verify.evaluation.floating import definition_class, floating_point_class, scalar_class
from taso_opt.verify.evaluation.refute import refute, refute_in_numbers
from taso_opt.verify.evaluation.witness import Witness, replay
from taso_opt.verify.lifted import misleads
from taso_opt.verify.scalar_rules import is_definitional, is_scalar
from taso_opt.verify.scalars import ENGINE as SCALAR_ENGINE
from taso_opt.verify.scalars import prove_scalars
from taso_opt.verify.verdict import Contradiction, Counterexample, Proved, Refuted, Unknown, Verdict

FAILURES = (ValueError, TypeError, ArithmeticError, LookupError)
"""What meanings raise on attributes that no ONNX model has, such as a negative pad, and that nobody has refused."""

OF_TWO_ALONE = "it is true of two operands, but not known to be of more, for which it would be taken too"


def examine_under_conditions(library: SpecLibrary, prover: Prover, rule: Rule) -> Verdict:
    """As `examine`; an equation that is not true in general may be proved under conditions, which the verdict names.

    One that is both proved and refuted is unknown here, with both as the reason: others keep their verdicts.
    """
    try:
        verdict = examine(library, prover, rule)
    except Contradiction as error:
        return Unknown(str(error))
    try:
        under = None if isinstance(verdict, Proved) else inferred(library.builder(), rule)
    except FAILURES:
        return verdict  # which says that it cannot be evaluated
    if under is None:
        return verdict
    found = examine(library, prover, under)
    return replace(found, conditions=tuple(map(str, under.conditions))) if isinstance(found, Proved) else verdict


def examine(
    library: SpecLibrary,
    prover: Prover,
    rule: Rule,
    axioms: Collection[str] | None = None,
    proved: bool = False,
    witness: Witness | None = None,
) -> Verdict:
    """Prove and evaluate an equation; with `axioms` a proof from those is looked for before one from all.

    With `proved` the proof was checked elsewhere and only evaluation is left. A witness must give its values again.
    An equation that is both proved and refuted means a false axiom or a wrong meaning: Contradiction names both.
    """
    builder = library.builder()
    try:
        evaluated = refute(builder, rule)
        changed = None if witness is None else replay(builder, rule, witness)
    except FAILURES as error:
        return Unknown(f"it cannot be evaluated: {error}")
    if changed is not None and not isinstance(evaluated, Counterexample):
        return Unknown(changed)
    try:
        found = _proved(builder, prover, rule, axioms, proved, evaluated)
        return Unknown(OF_TWO_ALONE) if isinstance(found, Proved) and misleads(builder, rule) else found
    except FAILURES as error:
        return Unknown(f"it cannot be put into numbers: {error}")


def _proved(
    builder: Builder,
    prover: Prover,
    rule: Rule,
    axioms: Collection[str] | None,
    proved: bool,
    evaluated: Counterexample | int,
) -> Verdict:
    """The verdict on an equation, `evaluated` at so many instances or refuted by one."""
    if is_scalar(builder, rule):
        return _judged(builder, rule, prove_scalars(builder, rule), evaluated, SCALAR_ENGINE, scalar_class)
    if is_definitional(builder, rule):
        return _judged(builder, rule, prove_definition(builder, rule), evaluated, DEFINITION_ENGINE, definition_class)
    found = _proof(builder, prover, rule, axioms, proved)
    if isinstance(evaluated, Counterexample):
        if isinstance(found, _Proof):
            raise _contradiction(prover, rule, evaluated, found.engine)
        return _refuted(builder, rule, evaluated)
    if not isinstance(found, _Proof):
        if prove_definition(builder, rule) is not None:
            return Unknown(found)
        # Meanings say more than axioms do, of broadcasting above all; a certificate of theirs names no axiom.
        found = _Proof(not axioms, DEFINITION_ENGINE)
    if evaluated == 0:
        return Unknown("a proof exists, but no small sizes were found at which the operands fit")
    return Proved(found.from_recorded, found.engine, evaluated, floating_point_class(builder, rule))


@dataclass(frozen=True)
class _Proof:
    """By what an equation was proved, and whether the axioms that its certificate names were enough."""

    from_recorded: bool
    engine: str


def _proof(builder: Builder, prover: Prover, rule: Rule, axioms: Collection[str] | None, proved: bool) -> _Proof | str:
    """A proof from the recorded axioms, or from all; else why there is none. Without axioms the meanings come first."""
    if proved:
        return _Proof(True, ENGINE)
    if axioms is not None and not axioms and prove_definition(builder, rule) is None:
        return _Proof(True, DEFINITION_ENGINE)
    if axioms and prover.prove(rule, axioms) is None:
        return _Proof(True, ENGINE)
    reason = prover.prove(rule)
    return _Proof(False, ENGINE) if reason is None else reason


def _refuted(builder: Builder, rule: Rule, found: Counterexample) -> Verdict:
    """Refuted where real numbers differ as well; what only the order of numbers makes true is unknown."""
    if isinstance(refute_in_numbers(builder, rule), Counterexample):
        return Refuted(found)
    return Unknown(f"it holds for the numbers tried, but not with functions such as Relu left open: {found}")


def _judged(
    builder: Builder,
    rule: Rule,
    reason: str | None,
    evaluated: Counterexample | int,
    engine: str,
    class_of: Callable[[Builder, Rule], FpClass],
) -> Verdict:
    """The verdict on an equation that is proved from the meanings of its operators, not from axioms, if at all."""
    if isinstance(evaluated, Counterexample):
        if reason is None:
            raise Contradiction(f"expected proof and evaluation to agree on {format_rule(rule)}, found {evaluated}")
        return Refuted(evaluated)
    if reason is not None or evaluated == 0:
        return Unknown(reason or "no small sizes were found at which the operands fit")
    return Proved(True, engine, evaluated, class_of(builder, rule))


def holds(library: SpecLibrary, prover: Prover, rule: Rule) -> bool:
    """Whether an equation is proved and was evaluated, also as it is lifted; the cheaper witness comes first."""
    if prover.prove(rule) is not None:
        return False
    evaluated = refute(library.builder(), rule)
    if isinstance(evaluated, Counterexample):
        raise _contradiction(prover, rule, evaluated)
    return evaluated > 0 and not misleads(library.builder(), rule)


def _contradiction(prover: Prover, rule: Rule, found: Counterexample, engine: str = ENGINE) -> Contradiction:
    axioms = ", ".join(prover.axioms_used(rule) or (engine,)) if engine == ENGINE else engine
    return Contradiction(
        f"expected proof and evaluation to agree, found a proof from {axioms} of {format_rule(rule)} although {found}"
    )
