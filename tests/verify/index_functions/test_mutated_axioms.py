"""Axioms changed in one place: whatever is still proved must survive evaluation."""

from collections.abc import Iterator

import pytest

from taso_opt.core.dims import Size
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Item, Var, children, postorder
from taso_opt.errors import TasoError
from taso_opt.spec import load_specs
from taso_opt.spec.text import MISFITS, format_rule
from taso_opt.verify.index_functions.prove import ProvedForAllSizes, prove_for_all_sizes
from taso_opt.verify.refute import refute
from taso_opt.verify.verdict import Counterexample

LIBRARY = load_specs()
SPOKEN_OF = sorted(name for name, one in LIBRARY.operators.items() if not (one.scalar or one.defined))
"""The operators that axioms are about."""
INTERCHANGED = (("Add", "Sub", "Mul"), ("Relu", "Tanh", "Sigmoid"))
INSTANCES = 8
STEP, FEW = 3, 30
"""Every third mutant is looked at; all of them take three times as long and show the same."""


def mutants_of(rule: Rule, builder) -> Iterator[Rule]:
    """The rule with one node of one side changed, where types still agree."""
    for one_way in (rule, rule.reversed()):
        for node in postorder(one_way.target):
            for change in changes(node, builder, rule.variables):
                try:
                    target = rebuilt(one_way.target, node, change(), builder)
                    types = [[builder.type(term) for term in side] for side in (one_way.source, target)]
                except (TasoError, ValueError, *MISFITS):
                    continue
                if types[0] == types[1] and target != one_way.target:
                    yield Rule(one_way.source, target)


def changes(node, builder, variables):
    """Functions that make another node."""
    match node:
        case Var():
            yield from (lambda other=other: other for other in variables if other is not node)
        case Item(inner, index):
            yield from (lambda place=place: builder.item(inner, place) for place in range(3) if place != index)
        case Apply(operator, args, attributes):
            for first in range(len(args) - 1):
                swapped = (*args[:first], args[first + 1], args[first], *args[first + 2 :])
                yield lambda swapped=swapped: builder.apply(operator, swapped, dict(attributes))
            for name, value in attributes:
                for other in other_values(value):
                    yield lambda new={**dict(attributes), name: other}: builder.apply(operator, args, new)
            for other in (name for names in INTERCHANGED if operator in names for name in names if name != operator):
                yield lambda other=other: builder.apply(other, args, {})
            yield from (lambda argument=argument: argument for argument in args)


def other_values(value):
    if isinstance(value, Size):
        yield from (1, 2)
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, tuple):
        for first in range(len(value) - 1):
            yield (*value[:first], value[first + 1], value[first], *value[first + 2 :])
        for place, part in enumerate(value):
            yield from ((*value[:place], other, *value[place + 1 :]) for other in other_values(part))


def rebuilt(roots, node, new, builder):
    mapping = {node: new}
    for term in postorder(roots):
        if term not in mapping:
            mapping[term] = builder.rebuild(term, tuple(mapping[child] for child in children(term)))
    return tuple(mapping[root] for root in roots)


@pytest.mark.parametrize("operator", SPOKEN_OF)
def test_no_mutant_is_proved_that_evaluation_refutes(operator):
    builder = LIBRARY.builder()
    mutants: dict[str, Rule] = {}
    for axiom in LIBRARY.axioms.values():
        *_, last = axiom.instances(builder)
        rule = Rule(last.left, last.right)
        if axiom.law.__module__.endswith(f".{operator.lower()}") or first_operator(rule) == operator:
            mutants |= {format_rule(mutant): mutant for mutant in mutants_of(rule, builder)}
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
