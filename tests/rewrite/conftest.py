import pytest

from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.spec.rule_file import read_rules


@pytest.fixture(scope="module")
def compiled(op):
    """The shipped library, prepared for matching."""
    return CompiledRules(read_rules(None, op), op)
