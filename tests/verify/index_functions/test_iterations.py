"""Recurrences over sequences of symbolic length: what goes on is proved, and nothing that goes on otherwise."""

import re
from fractions import Fraction

import numpy as np
import pytest

from taso_opt.core.dims import symbol
from taso_opt.core.rule import Rule
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.evaluation.refute import refute
from taso_opt.verify.index_functions.arrays import IndexArrays
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.prove import prove_for_all_sizes
from taso_opt.verify.verdict import Counterexample

LIBRARY = load_specs()
RECURRENT = [name for name in LIBRARY.definitions if name.startswith(("lstm", "gru", "rnn"))]
TYPES = {
    "x": "t, b, i",
    "y": "s, b, i",
    "w": "1, 4*n, i",
    "r": "1, 4*n, n",
    "v": "1, 4*n, n",
    "b": "1, 8*n",
    "h": "1, b, n",
    "c": "1, b, n",
}
FIRST = "LSTM(x, w, r, b, h, c)"


def equation(text):
    used = sorted(TYPES.keys() & set(re.findall(r"\b[a-z]\b", text)))
    return parse_rule(f"{text} where {', '.join(f'{name}[{TYPES[name]}]' for name in used)}", LIBRARY.builder())


@pytest.mark.parametrize("name", RECURRENT)
def test_what_the_standard_says_of_recurrent_operators_is_proved(name):
    builder = LIBRARY.builder()
    for instance in LIBRARY.definitions[name].instances(builder):
        rule = Rule(instance.left, instance.right)
        assert prove_definition(builder, rule) is None
        assert not isinstance(refute(builder, rule), Counterexample)


@pytest.mark.parametrize(
    ("second", "whole"),
    [
        (f"LSTM(y, w, r, b, {FIRST}[1], {FIRST}[2])[1]", "LSTM(Concat(x, y; axis=-3), w, r, b, h, c)[2]"),
        (f"LSTM(y, w, r, b, {FIRST}[1], {FIRST}[2])[1]", "LSTM(Concat(y, x; axis=-3), w, r, b, h, c)[1]"),
        (f"LSTM(y, w, r, b, {FIRST}[2], {FIRST}[1])[1]", "LSTM(Concat(x, y; axis=-3), w, r, b, h, c)[1]"),
        (f"LSTM(y, w, r, b, {FIRST}[1], c)[1]", "LSTM(Concat(x, y; axis=-3), w, r, b, h, c)[1]"),
        (f"LSTM(y, w, v, b, {FIRST}[1], {FIRST}[2])[1]", "LSTM(Concat(x, y; axis=-3), w, r, b, h, c)[1]"),
        ("LSTM(y, w, r, b, h, c)[1]", "LSTM(Concat(x, y; axis=-3), w, r, b, h, c)[1]"),
    ],
    ids=["other state", "other order", "states swapped", "one state anew", "other weights", "both states anew"],
)
def test_what_does_not_go_on_where_the_first_sequence_ended_is_not_proved(second, whole):
    rule = equation(f"{second} = {whole}")
    builder = LIBRARY.builder()
    assert prove_definition(builder, rule) is not None
    assert isinstance(refute(builder, rule), Counterexample)


def test_gates_in_another_order_are_not_proved():
    builder = LIBRARY.builder()
    for instance in LIBRARY.definitions["lstm_step_of_gates_with_biases_behind"].instances(builder):
        for left, right in ((0, 1), (1, 0)):
            assert prove_for_all_sizes(builder, (instance.left[left],), (instance.right[right],)).reason
    named = [f"lstm_step_of_gates_{order}_with_biases_behind" for order in ("igfo", "iofg")]
    for one, other in zip(*(LIBRARY.definitions[name].instances(builder) for name in named), strict=True):
        assert prove_for_all_sizes(builder, one.left[:1], other.right[:1]).reason


def total(xp, row, state, operands):
    """A sum of all rows so far."""
    return (xp.add(state[0], row),)


def doubled(xp, row, state, operands):
    """Another recurrence of the same kind."""
    return (xp.add(xp.add(state[0], state[0]), row),)


@pytest.fixture
def xp():
    return IndexArrays(Facts({}))


def sums(xp, step, name, state, sizes=("t", "n")):
    rows = xp.variable(name, tuple(map(symbol, sizes)))
    (found,) = xp.iterate(step, rows, [xp.variable(state, rows.shape[1:])], [])
    return repr(found.at((symbol("k"), symbol("j"))))


def test_states_of_an_unknown_number_of_rows_are_told_apart_by_all_that_they_depend_on(xp):
    one = sums(xp, total, "x", "s")
    assert one == sums(xp, total, "x", "s")
    others = [
        sums(xp, doubled, "x", "s"),
        sums(xp, total, "y", "s"),
        sums(xp, total, "x", "z"),
        sums(xp, total, "x", "s", ("u", "n")),
        sums(xp, total, "x", "s", ("t", "m")),
    ]
    assert len({one, *others}) == 1 + len(others)


def test_rows_times_large_tables_of_numbers_that_differ_in_one_are_told_apart(xp):
    rows, state = xp.variable("x", (symbol("t"), 50, 50)), xp.variable("s", (50, 50))
    tables = [np.full((50, 50), Fraction(1, 3), object) for _ in range(2)]
    tables[1][25, 25] = Fraction(2, 3)
    one, other = (xp.iterate(total, xp.scale(rows, table), [state], [])[0] for table in tables)
    place = (symbol("k"), 0, 0)
    assert one.at(place) != other.at(place)


def test_a_known_number_of_rows_is_written_out(xp):
    rows, state = xp.variable("x", (2, symbol("n"))), xp.variable("s", (symbol("n"),))
    (found,) = xp.iterate(total, rows, [state], [])
    assert found.shape == (2, symbol("n"))
    assert "state" not in repr(found.at((1, symbol("j"))))
    last = xp.slice(found, -2, 1, 2)
    summed = xp.add(xp.add(state, xp.slice(rows, -2, 0, 1)), xp.slice(rows, -2, 1, 2))
    places = (0, symbol("j"))
    assert sorted(map(repr, last.at(places).products)) == sorted(map(repr, summed.at(places).products))


def test_numbers_are_iterated_row_by_row_for_all_samples_at_once():
    rows = np.array([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]])
    (found,) = FloatArrays().iterate(total, rows, [np.array([[1.0, 0.0], [2.0, 2.0]])], [])
    assert found.tolist() == [[[2.0, 2.0], [5.0, 6.0], [10.0, 12.0]], [[2.0, 3.0], [2.0, 4.0], [2.0, 5.0]]]
