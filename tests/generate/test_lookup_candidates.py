"""Lookups: what rows go through behind one can be computed of all rows before it, and the other way round."""

import pytest

from taso_opt.core.types import PLACES
from taso_opt.errors import RuleError
from taso_opt.generate.schemes.lookups import discover_lookups
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.evaluation.refute import refute
from taso_opt.verify.verdict import Counterexample

ROWS = [
    "MatMul(Gather(x, y; axis=-2), z) = Gather(MatMul(x, z), y; axis=-2) where x[m, k], y[*b, p]: int64, z[k, n]",
    "MatMul(Gather(x, y; axis=-2), z) = Gather(MatMul(x, z), y; axis=-2) where x[*b, m, k], y[p]: int64, z[k, n]",
    "Add(Gather(x, y; axis=-2), z) = Gather(Add(x, z), y; axis=-2) where x[m, k], y[*b]: int64, z[k]",
    "Mul(Gather(x, y; axis=-2), Gather(z, y; axis=-2)) = Gather(Mul(x, z), y; axis=-2) "
    "where x[m, k], y[*b]: int64, z[m, k]",
    "Relu(Gather(x, y; axis=-2)) = Gather(Relu(x), y; axis=-2) where x[m, k], y[*b]: int64",
    "Softmax(Gather(x, y; axis=-2); axis=-1) = Gather(Softmax(x; axis=-1), y; axis=-2) where x[m, k], y[*b]: int64",
    "ReduceL2(Gather(x, y; axis=-2); axes=(-1)) = Gather(ReduceL2(x; axes=(-1)), y; axis=-2) "
    "where x[m, k], y[*b]: int64",
    "Concat(Gather(x, y; axis=-2), Gather(z, y; axis=-2); axis=-1) = Gather(Concat(x, z; axis=-1), y; axis=-2) "
    "where x[m, k], y[*b]: int64, z[m, n]",
    "Reshape(Gather(x, y; axis=-2); shape=(1, n, k)) = Gather(Reshape(x; shape=(1, m, k)), y; axis=-2) "
    "where x[m, k], y[n]: int64",
    "Reshape(Gather(x, y; axis=-2); shape=(*s, k)) = Gather(x, Reshape(y; shape=(*s)); axis=-2) "
    "where x[m, k], y[*b]: int64",
]
FALSE = [
    "Softmax(Gather(x, y; axis=-2); axis=-2) = Gather(Softmax(x; axis=-2), y; axis=-2) where x[m, k], y[p]: int64",
    "Add(Gather(x, y; axis=-2), Gather(x, z; axis=-2)) = Gather(Add(x, x), y; axis=-2) "
    "where x[m, k], y[p]: int64, z[p]: int64",
    "ReduceSum(Gather(x, y; axis=-2); axes=(-2)) = ReduceSum(x; axes=(-2)) where x[m, k], y[m]: int64",
    "Gather(Gather(x, y; axis=-2), z; axis=-2) = Gather(Gather(x, z; axis=-2), y; axis=-2) "
    "where x[m, k], y[m]: int64, z[m]: int64",
]


@pytest.fixture(scope="module")
def found(library):
    return {format_rule(rule) for rule in discover_lookups(library, 0, frozenset(library.operators))}


def canonical(text, op):
    from taso_opt.generate.equations.canonical import canonical

    return format_rule(canonical(parse_rule(text, op), op))


@pytest.mark.parametrize("text", ROWS)
def test_rows_are_looked_up_before_or_behind(text, found, op):
    general = canonical(text, op)
    assert general in found or canonical(text.replace("[*b, p]", "[*b]"), op) in found
    assert prove_definition(op, parse_rule(text, op)) is None


@pytest.mark.parametrize("text", FALSE)
def test_what_depends_on_which_rows_there_are_is_not_proved(text, op):
    rule = parse_rule(text, op)
    assert prove_definition(op, rule) is not None
    assert isinstance(refute(op, rule), Counterexample)


def test_places_are_told_from_numbers_in_the_text(op):
    rule = parse_rule(ROWS[0], op)
    assert {variable.name for variable in rule.variables if variable.type.dtype == PLACES} == {"y"}
    assert parse_rule(format_rule(rule), op) == rule


@pytest.mark.parametrize(
    "text",
    [
        "Gather(x, Div(y, z); axis=-2) = Gather(x, y; axis=-2) where x[m, k], y[p]: int64, z[p]: int64",
        "Gather(x, Neg(y); axis=-2) = Gather(x, y; axis=-2) where x[m, k], y[p]: int64",
        "Relu(y) = y where y[p]: int64",
        "Add(x, y) = Add(y, x) where x[p], y[p]: int64",
    ],
)
def test_nothing_is_computed_of_places(text, op):
    with pytest.raises(RuleError):
        parse_rule(text, op)


def test_no_other_type_is_known(op):
    with pytest.raises(RuleError, match="expected types"):
        parse_rule(ROWS[0].replace("int64", "int8"), op)
