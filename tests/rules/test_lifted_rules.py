"""Rules of the library that were lifted to any number of operands hold for some numbers of them, at random sizes."""

import numpy as np
import pytest

from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules
from taso_opt.verify.lifted import COUNTS, instance_of, lifted_forms


@pytest.mark.parametrize("count", COUNTS)
def test_they_hold_for_some_number_of_operands(count):
    op = load_specs().builder()
    forms, generator = lifted_forms(op, read_rules(None, op)), np.random.default_rng(0)
    tried = [(form, instance_of(op, form, count, generator)) for form in forms]
    found = [(form, instance) for form, instance in tried if instance is not None]
    assert [form.rule.name for form, instance in found if not instance.holds(op, generator)] == []
    assert len(found) > 0.9 * len(forms) > 100
