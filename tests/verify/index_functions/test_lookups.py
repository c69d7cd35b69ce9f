"""Places that a tensor names: their bounds, what they depend on, and that nothing else is known of them."""

from taso_opt.core.dims import symbol
from taso_opt.core.term import Var
from taso_opt.core.types import PLACES, TensorType
from taso_opt.spec.text import parse_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.indices import names_in, replaced
from taso_opt.verify.lookups import Lookup, lookup, place_of

N, FIRST, SECOND = symbol("n"), symbol("i~0"), symbol("i~1")


def place(*indices, tensor="places", size=N):
    return place_of(Lookup(tensor, indices, size))


def test_a_place_lies_on_its_axis():
    facts = Facts({})
    assert facts.proves(place(FIRST)) and facts.proves(N - 1 - place(FIRST))
    assert not facts.proves(place(FIRST) - 1) and not facts.proves(N - 2 - place(FIRST))
    # What only Z3 tells has the same bounds.
    assert facts.proves(N * N - 1 - place(FIRST) * place(SECOND)) and not facts.proves(N - place(FIRST) * place(SECOND))


def test_a_place_depends_on_the_indices_of_its_element():
    assert names_in(2 * place(FIRST + SECOND) + symbol("k")) == {"i~0", "i~1", "k"}
    moved = replaced(place(FIRST), {"i~0": SECOND + 1})
    assert moved == place(SECOND + 1) != place(FIRST)
    assert lookup(str(moved)) == Lookup("places", (SECOND + 1,), N)
    assert replaced(place(FIRST), {"k": SECOND}) == place(FIRST)


def test_places_of_other_tensors_and_on_other_axes_are_others():
    assert len({place(FIRST), place(SECOND), place(FIRST, tensor="others"), place(FIRST, size=symbol("m"))}) == 4


def test_a_symbol_that_looks_like_a_place_is_none():
    assert lookup("n") is None and lookup("place[never made]") is None


SUMMED = "ReduceSum(Gather({}, y; axis=-2); axes=(-2)) = {} where x[m, k], y[p]: int64"


def test_sums_over_places_are_told_apart_by_what_is_looked_up(op):
    """The bound index of the sum is inside of the place."""
    same = SUMMED.format(
        "Add(x, x)", "Add(ReduceSum(Gather(x, y; axis=-2); axes=(-2)), ReduceSum(Gather(x, y; axis=-2); axes=(-2)))"
    )
    assert prove_definition(op, parse_rule(same, op)) is None
    other = (
        "ReduceSum(Gather(x, y; axis=-2); axes=(-2)) = ReduceSum(Gather(x, z; axis=-2); axes=(-2)) "
        "where x[m, k], y[p]: int64, z[p]: int64"
    )
    assert prove_definition(op, parse_rule(other, op)) is not None


def test_places_on_axes_of_other_sizes_are_not_taken_for_the_same(op):
    """Negative numbers count from the end, which more rows push away."""
    rule = "Gather(Pad(x; pads=(0, 0, p, 0)), y; axis=-2) = Gather(x, y; axis=-2) where x[m, k], y[*b]: int64"
    assert prove_definition(op, parse_rule(rule, op)) is not None


def test_a_lookup_has_the_shape_of_its_places(op):
    x, ids = Var("x", TensorType("real", (symbol("*b"), N, symbol("k")))), Var("y", TensorType(PLACES, (symbol("l"),)))
    assert op.type(op.Gather(x, ids, axis=-2)).shape == (symbol("*b"), symbol("l"), symbol("k"))
