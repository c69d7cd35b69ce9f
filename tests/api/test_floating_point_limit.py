"""The limit on floating-point differences decides which rules a search may use."""

import pytest

from taso_opt.api.session import usable_rules
from taso_opt.core.rule import FpClass
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules

CLASSES = tuple(FpClass)


@pytest.fixture(scope="module")
def shipped():
    return tuple(read_rules(None, load_specs().builder()))


@pytest.mark.parametrize("loosest", CLASSES)
def test_only_rules_up_to_the_limit_are_used(shipped, loosest):
    expected = {rule.name for rule in shipped if CLASSES.index(rule.fp_class) <= CLASSES.index(loosest)}
    used = {compiled.rule.name for compiled in usable_rules(None, loosest)}
    assert used and used <= expected


def test_each_step_of_the_limit_up_to_the_default_admits_more_rules():
    counts = [len(usable_rules(None, loosest)) for loosest in CLASSES[:4]]
    assert counts == sorted(set(counts)) and counts[0] > 0


def test_a_rule_that_reassociates_needs_a_limit_of_at_least_e2(shipped):
    associative = {rule.name for rule in shipped if rule.certificate.axioms == ("matmul_is_associative",)}
    assert associative
    assert not associative & {compiled.rule.name for compiled in usable_rules(None, FpClass.E1)}
    assert associative & {compiled.rule.name for compiled in usable_rules(None, FpClass.E2)}
