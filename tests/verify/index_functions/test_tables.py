"""Tables of numbers are added up exactly, and what depends on them is written out; cut rows are walked through."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from taso_opt.core.dims import bind, symbol
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.index_functions.arrays import IndexArrays
from taso_opt.verify.index_functions.canonical import canonical
from taso_opt.verify.index_functions.elements import Access, Element, Entry, Product, Table
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.layout import between, joined, length, merged, plain, positions
from taso_opt.verify.index_functions.tables import table_of, without_tables, written_out
from taso_opt.verify.verdict import Refuted

LIBRARY = load_specs()
CUT = "Slice(Reshape(u; shape=(2*a,)); axis=-1, sizes=(0, 2*a-1, 1))"
LARGE = (
    "Slice(Slice(Slice(WinogradInput(f; points=((0, 1), (65536, 1))); axis=-4, sizes=(0, 1, 3)); "
    "axis=-2, sizes=(0, 1, 1)); axis=-1, sizes=(0, 1, 1))"
)
FALSE = [
    f"ReduceSum(Slice(Concat({CUT}, y; axis=-1); axis=-1, sizes=(2*a, b, 0)); axes=(-1,)) = "
    "ReduceSum(y; axes=(-1,)) where u[a, 2], y[b+1]",
    "ReduceSum(Add(Sub(Concat(Reshape(Sub(u, u); shape=(4*a,)), Sub(y, y); axis=-1), "
    "Concat(Slice(Reshape(Sub(v, v); shape=(4*a,)); axis=-1, sizes=(0, 4*a-3, 3)), Sub(w, w); axis=-1)), z); "
    "axes=(-1,)) = Add(Reshape(ReduceSum(Reshape(Slice(z; axis=-1, sizes=(0, 4*a-2, b+2)); shape=(2*a-1, 2)); "
    "axes=(-2, -1)); shape=(1,)), ReduceSum(Slice(z; axis=-1, sizes=(4*a-3, b+3, 0)); axes=(-1,))) "
    "where u[2*a, 2], v[a, 4], y[b], w[b+3], z[4*a+b]",
    f"Mul(Mul(x, {LARGE}), {LARGE}) = Sub(x, x) where x[n, c, h, w], f[m, c, 2, 2]",
]
"""What cut rows walked through wrongly, or numbers that overflow, would make true."""

GENERATOR = np.random.default_rng(3)


def table(*shape):
    values = [Fraction(int(top), int(bottom)) for top, bottom in GENERATOR.integers(1, 9, (np.prod(shape), 2))]
    return np.array(values, dtype=object).reshape(shape)


def tensor(xp, values):
    return xp.scale(xp.broadcast(xp.constant(Fraction(1)), values.shape), values)


def test_a_table_keeps_its_numbers_exactly():
    values = table(3, 4)
    found = table_of(values)
    assert [[Fraction(one, found.denominator) for one in row] for row in found.numbers] == values.tolist()


def test_products_of_tables_are_the_products_of_their_numbers():
    xp = IndexArrays(Facts({}))
    left, right = table(3, 7), table(7, 2)
    found = xp.contract("ij,jk->ik", tensor(xp, left), tensor(xp, right))
    for row, column in product(range(3), range(2)):
        expected = sum(one * other for one, other in zip(left[row], right[:, column], strict=True))
        assert canonical(found.at((row, column))).products == (Product(expected, (), ()),)


def test_what_is_multiplied_with_a_table_is_written_out():
    xp = IndexArrays(Facts({}))
    values, x = table(2, 3), xp.variable("x", (3, symbol("n")))
    found = canonical(xp.contract("ij,jk->ik", tensor(xp, values), x).at((1, symbol("k"))))
    assert {one.factors: one.coefficient for one in found.products} == {
        (Access("x", (column, symbol("k"))),): values[1, column] for column in range(3)
    }
    assert all(one.bound == () for one in found.products)


def test_numbers_that_cancel_leave_nothing():
    xp = IndexArrays(Facts({}))
    values = np.array([[Fraction(1, 3)], [Fraction(-1, 3)]], dtype=object)
    ones = xp.broadcast(xp.constant(Fraction(1)), (2,))
    assert canonical(xp.contract("ij,i->j", tensor(xp, values), ones).at((0,))).products == ()


@pytest.mark.parametrize(("index", "size"), [("i", 2), ("i", 4), ("m", None)])
def test_a_table_whose_index_runs_over_something_else_stays(index, size):
    entry = Entry(Table(np.array([1, 2, 3], dtype=object), 1), (symbol(index),))
    one = Product(Fraction(1), () if size is None else ((index, size),), (entry,))
    assert list(without_tables(one)) == [one]


def test_sums_over_literal_numbers_of_places_are_written_out_and_others_are_not():
    few, many = symbol("i"), symbol("j")
    one = Product(Fraction(2), (("i", 3), ("j", symbol("n"))), (Access("x", (few, many)),))
    found = written_out(Element((one,)), 16)
    assert [part.factors for part in found.products] == [(Access("x", (at, many)),) for at in range(3)]
    assert {part.bound for part in found.products} == {(("j", symbol("n")),)}
    assert written_out(Element((one,)), 2).products == (one,)


@pytest.mark.parametrize(("width", "taken"), [(4, 1), (4, 3), (2, 1)])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_rows_of_which_the_last_is_cut_have_each_position_once(width, taken, rows):
    a = symbol("a")
    cut = between(((a, width),), 0, a * width - taken)
    assert length(cut) == a * width - taken
    found = []
    for index, bound in positions(Facts({}), cut):
        ranges = [range(int(bind(size, {"a": rows}))) for _, size in bound]
        found += [bind(index, dict(zip([name for name, _ in bound], at, strict=True))) for at in product(*ranges)]
    assert sorted(found) == list(range(rows * width - taken))


def test_a_cut_that_takes_more_than_a_row_is_not_looked_into():
    a = symbol("a")
    assert between(((a, 4),), 0, a * 4 - 4) == plain(a * 4 - 4)
    assert between(((a, 4),), 1, a * 4) == plain(a * 4 - 1)


@pytest.mark.parametrize("text", FALSE)
def test_what_only_a_slip_in_tables_or_cut_rows_would_prove_is_refuted(text):
    rule = parse_rule(text, LIBRARY.builder())
    assert prove_definition(LIBRARY.builder(), rule) is not None
    assert isinstance(examine(LIBRARY, Prover(LIBRARY), rule), Refuted)


def test_a_cut_stays_with_its_row_where_axes_are_joined_taken_apart_or_compared():
    a, b = symbol("a"), symbol("b")
    cut = between(((a, 4),), 0, a * 4 - 3)
    both = joined([cut, plain(b)])
    assert length(both) == a * 4 + b - 3
    assert between(both, a * 4 - 3, a * 4 - 3 + b) == plain(b)
    assert between(both, 0, a * 4 - 3) == cut
    assert between(both, a * 4, a * 4 + b - 3) == plain(b - 3)
    for other in (((a, 4), (b - 3,)), ((2 * a, 2), (b - 3,)), plain(a * 4 + b - 3)):
        for found in (merged(both, other), merged(other, both)):
            assert length(found) == length(both)
            assert all(len(segment) == 3 or segment[-1] != -3 for segment in found)


def test_numbers_beyond_those_of_the_processor_are_added_up_exactly():
    xp = IndexArrays(Facts({}))
    values = np.array([[Fraction(2**40), Fraction(1)], [Fraction(2**40), Fraction(1)]], dtype=object)
    one = tensor(xp, values)
    product = xp.contract("ij,ik->jk", one, xp.contract("ij,jk->ik", one, one))
    exact = sum(values[i, 0] * sum(values[i, j] * values[j, 0] for j in range(2)) for i in range(2))
    assert canonical(product.at((0, 0))).products == (Product(exact, (), ()),)
    assert exact > 2**64


def test_sums_that_would_be_too_long_are_not_written_out():
    bound = tuple((name, 16) for name in "ijklm")
    one = Element((Product(Fraction(1), bound, (Access("x", tuple(map(symbol, "ijklm"))),)),))
    assert written_out(one, 16) is one
