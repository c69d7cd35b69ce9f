"""Axioms changed in one place: whatever is still proved must survive evaluation."""

import pytest

from mutation.mutants import changed_laws
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply
from taso_opt.spec import load_specs
from taso_opt.spec.text import format_rule
from taso_opt.verify.evaluation.refute import refute
from taso_opt.verify.index_functions.prove import ProvedForAllSizes, prove_for_all_sizes
from taso_opt.verify.verdict import Counterexample

LIBRARY = load_specs()
SPOKEN_OF = sorted(name for name, one in LIBRARY.operators.items() if not (one.scalar or one.defined))
"""The operators that axioms are about."""
INSTANCES = 8
STEP, FEW = 3, 30
"""Every third mutant is looked at; all of them take three times as long and show the same."""


@pytest.mark.parametrize("operator", SPOKEN_OF)
def test_no_mutant_is_proved_that_evaluation_refutes(operator):
    builder = LIBRARY.builder()
    mutants: dict[str, Rule] = {}
    for axiom in LIBRARY.axioms.values():
        *_, last = axiom.instances(builder)
        rule = Rule(last.left, last.right)
        if axiom.law.__module__.endswith(f".{operator.lower()}") or first_operator(rule) == operator:
            mutants |= {format_rule(mutant): mutant for mutant in changed_laws(rule, builder)}
    looked_at = [mutants[text] for text in sorted(mutants)][:: STEP if len(mutants) > FEW else 1]
    proved = 0
    for mutant in looked_at:
        if isinstance(prove_for_all_sizes(builder, mutant.source, mutant.target), ProvedForAllSizes):
            found = refute(LIBRARY.builder(), mutant, INSTANCES)
            assert not isinstance(found, Counterexample), f"{format_rule(mutant)}: {found}"
            assert found > 0
            proved += 1
    assert len(looked_at) > (2 * proved if len(mutants) > FEW else proved)


def first_operator(rule):
    return next((term.operator for term in rule.source if isinstance(term, Apply)), None)
