"""Verifies many equations and makes a library of those that are proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from taso_opt.core.condition import Condition
from taso_opt.core.rule import Certificate, Rule
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.text import read_conditions
from taso_opt.verify.definitions import ENGINE as BY_MEANINGS
from taso_opt.verify.library.prune import prune
from taso_opt.verify.processes.child import Stopped
from taso_opt.verify.processes.crew import Crew
from taso_opt.verify.processes.worker import Examine, Explain, Widen
from taso_opt.verify.scalar_rules import is_enumerated, rests_on_meanings
from taso_opt.verify.verdict import Proved, Unknown, Verdict

Progress = Callable[[str], None]


def silent(message: str) -> None:
    """Progress that nobody wants to see."""


def examine_all(crew: Crew, questions: Sequence[Examine], progress: Progress = silent) -> list[Verdict]:
    """A verdict for each equation, in order."""
    verdicts: list[Verdict] = []
    for answer in crew.ask_all(questions, lambda done: progress(f"verified {done} of {len(questions)} equations")):
        verdict = Unknown(str(answer)) if isinstance(answer, Stopped) else answer
        assert isinstance(verdict, Verdict)
        verdicts.append(verdict)
    return verdicts


def build_library(
    crew: Crew,
    library: SpecLibrary,
    rules: Sequence[Rule],
    verdicts: Sequence[Verdict],
    progress: Progress = silent,
    given: Sequence[Rule] = (),
) -> list[Rule]:
    """The library that proved equations give: stated as generally as they hold, without the derivable ones.

    What follows from given rules, which are not part of the result, is left out too.
    """
    builder = library.builder()
    every = [
        (rule.under(_conditions(rule, verdict)), verdict)
        for rule, verdict in zip(rules, verdicts, strict=True)
        if isinstance(verdict, Proved)
    ]
    # 1. Scalar equations and definitions are as general as they can be and rest on no axiom: they are kept as they
    #    are, under the weakest conditions.
    weakened = _weakened(crew, every)
    general = (
        _without_axioms(library, rule, verdict) for rule, verdict in weakened if rests_on_meanings(builder, rule)
    )
    meant = list(dict.fromkeys(general))
    # 2. Weaken the preconditions of what follows from axioms; where only the meanings give a rule it stays as it is.
    others = [(rule, verdict) for rule, verdict in every if not rests_on_meanings(builder, rule)]
    proved = [rule for rule, verdict in others if verdict.engine != BY_MEANINGS]
    by_meanings = {rule: verdict for rule, verdict in others if verdict.engine == BY_MEANINGS}
    widened = _widened(crew, proved, progress)
    # 3. Drop what smaller rules already give. What rests on meanings may follow from what axioms prove, not the other
    #    way round: a detour through padding is no way that a search takes.
    kept = prune(crew, [*widened, *by_meanings], progress, given)
    found = {rule for rule in meant if is_enumerated(builder, rule)}
    left = set(prune(crew, found, progress, [*given, *kept]))
    # 4. Certify what is left.
    certified = _certified(crew, library, [rule for rule in kept if rule not in by_meanings], progress)
    only = [_without_axioms(library, rule, by_meanings[rule]) for rule in kept if rule in by_meanings]
    return [*certified, *(rule for rule in meant if rule in left or rule not in found), *only]


def _widened(crew: Crew, proved: Sequence[Rule], progress: Progress) -> list[Rule]:
    """The rules under types no narrower than they have to be."""
    questions = [Widen(rule) for rule in proved]
    answers = crew.ask_all(questions, lambda done: progress(f"widened {done} of {len(questions)} rules"))
    return [
        form
        for rule, answer in zip(proved, answers, strict=True)
        for form in (answer if isinstance(answer, tuple) else (rule,))
        if isinstance(form, Rule)
    ]


def _conditions(rule: Rule, verdict: Proved) -> tuple[Condition, ...]:
    """What an equation asks of constants: what is stated with it, and else what its proof found out."""
    return read_conditions(verdict.conditions, {one.name for one in rule.variables}) or rule.conditions


def _weakened(crew: Crew, proved: Sequence[tuple[Rule, Proved]]) -> Iterator[tuple[Rule, Proved]]:
    """The rules with conditions no stronger than they have to be; those without as they are."""
    questions = [Widen(rule) for rule, _ in proved if rule.conditions]
    answers = iter(crew.ask_all(questions, lambda done: None))
    for rule, verdict in proved:
        answer = next(answers) if rule.conditions else (rule,)
        form = answer[0] if isinstance(answer, tuple) else rule
        yield (form if isinstance(form, Rule) else rule), verdict


def renewed(crew: Crew, library: SpecLibrary, rules: Sequence[Rule]) -> tuple[list[Rule], list[str]]:
    """The rules of a library with certificates for the specs as they are now, and what is wrong with those that fail.

    The axioms that a certificate names stay when they still prove the rule, and are found anew otherwise.
    """
    named = [rule.certificate.axioms if rule.certificate is not None else None for rule in rules]
    questions = [Examine(rule, axioms) for rule, axioms in zip(rules, named, strict=True)]
    kept, lost = [], []
    for rule, axioms, verdict in zip(rules, named, examine_all(crew, questions), strict=True):
        if not isinstance(verdict, Proved):
            lost.append(f"{rule.name} is not proved any more: {verdict}")
        elif verdict.from_recorded and axioms is not None:
            certificate = Certificate(axioms, verdict.engine, library.digest)
            kept.append(replace(rule, fp_class=verdict.fp_class, certificate=certificate))
        elif verdict.engine == BY_MEANINGS:
            kept.append(_without_axioms(library, rule, verdict))
        else:
            kept += _certified(crew, library, [rule], silent)
    return kept, lost


def _without_axioms(library: SpecLibrary, rule: Rule, verdict: Proved) -> Rule:
    """A rule that the meanings of its operators give, with its certificate."""
    return replace(rule, fp_class=verdict.fp_class, certificate=Certificate((), verdict.engine, library.digest))


def _certified(crew: Crew, library: SpecLibrary, rules: Sequence[Rule], progress: Progress) -> list[Rule]:
    """The rules with the axioms that prove them; where tracking finds none, or none did, with none if meanings do."""
    verdicts = dict(zip(rules, examine_all(crew, [Examine(rule) for rule in rules], progress), strict=True))
    proved = {rule: verdict for rule, verdict in verdicts.items() if isinstance(verdict, Proved)}
    tracked = [rule for rule, verdict in proved.items() if verdict.engine != BY_MEANINGS]
    answers = crew.ask_all(
        [Explain(rule) for rule in tracked], lambda done: progress(f"explained {done} of {len(tracked)} rules")
    )
    axioms = {rule: answer for rule, answer in zip(tracked, answers, strict=True) if isinstance(answer, tuple)}
    rest = [rule for rule in tracked if rule not in axioms]
    others = zip(rest, examine_all(crew, [Examine(rule, ()) for rule in rest], progress), strict=True)
    proved |= {
        rule: verdict for rule, verdict in others if isinstance(verdict, Proved) and verdict.engine == BY_MEANINGS
    }
    certified = []
    for rule, verdict in proved.items():
        if rule in axioms or verdict.engine == BY_MEANINGS:
            certificate = Certificate(tuple(map(str, axioms.get(rule, ()))), verdict.engine, library.digest)
            certified.append(replace(rule, fp_class=verdict.fp_class, certificate=certificate))
    return certified
