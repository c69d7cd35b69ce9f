"""What repeated rows go through is computed once for each row, of a table or of a code, as one move."""

import pytest

from fake_cost import FakeCost
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Var, postorder
from taso_opt.generate.schemes.lookups import discover_lookups
from taso_opt.generate.schemes.repeats import discover_repeats
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.plan import SearchLimits
from terms import assert_same_values, tensor

ROWS, WIDTH = 7, 6
OPERATORS = {"Add", "Concat", "Expand", "Gather", "MatMul", "Mul", "ReduceMean", "Reshape", "Sigmoid"}


@pytest.fixture(scope="module")
def rewriter(op, library):
    names = frozenset(OPERATORS)
    return Rewriter(op, RuleSet((*discover_lookups(library, 0, names), *discover_repeats(library, 0, names))))


def table(kind=Const, name="table"):
    return tensor(kind, name, ROWS, WIDTH)


def places(name="ids", *shape):
    return tensor(Var, name, *(shape or (2, 3)), dtype="int64")


def looked_up(op, ids, rows=None):
    return op.Gather(table() if rows is None else rows, ids, axis=-2)


def layer(op, x, at):
    """A linear layer with a gated activation."""
    wide = op.Add(op.MatMul(x, tensor(Const, f"w{at}", WIDTH, WIDTH)), tensor(Const, f"b{at}", WIDTH))
    return op.Mul(wide, op.Sigmoid(wide))


def tabulated(rewriter, *outputs):
    found = Neighbourhood(outputs, is_constant=rewriter.is_constant).tabulated(rewriter)
    return [dict(replacements) for _, replacements in found]


def test_all_layers_behind_a_lookup_are_computed_of_the_table(op, rewriter):
    root = layer(op, layer(op, looked_up(op, places()), 0), 1)
    ((old, new),) = tabulated(rewriter, root)[0].items()
    assert old is root and new == looked_up(op, places(), layer(op, layer(op, table(), 0), 1))
    assert_same_values(op, [old], [new])


def test_the_table_need_not_be_constant(op, rewriter):
    nodes = table(Var, "nodes")
    root = layer(op, looked_up(op, places("ends", 20), nodes), 0)
    (replacements,) = tabulated(rewriter, root)
    assert replacements == {root: looked_up(op, places("ends", 20), layer(op, nodes, 0))}


def test_what_goes_on_elsewhere_ends_it(op, rewriter):
    """What is replaced is what others use: the layer that is averaged, and the one that is added to an input."""
    first = layer(op, looked_up(op, places()), 0)
    mean = op.ReduceMean(first, axes=(-2,))
    second = layer(op, first, 1)
    total = op.Add(second, tensor(Var, "x", 2, 3, WIDTH))
    (replacements,) = tabulated(rewriter, mean, total)
    assert set(replacements) == {first, second}


def test_rows_at_different_places_are_not_mixed(op, rewriter):
    mixed = op.Add(looked_up(op, places("a")), looked_up(op, places("b")))
    assert tabulated(rewriter, op.Sigmoid(mixed)) == []


def test_rows_keep_their_places_through_a_reshape(op, rewriter):
    flat = op.Reshape(looked_up(op, places()), shape=(6, WIDTH))
    (replacements,) = tabulated(rewriter, layer(op, flat, 0))
    ((_, new),) = replacements.items()
    assert new == looked_up(op, op.Reshape(places(), shape=(6,)), layer(op, table(), 0))


def test_what_a_code_goes_through_is_computed_before_it_is_repeated(op, rewriter):
    code = tensor(Var, "code", 1, 1, WIDTH)
    root = layer(op, op.Expand(code, shape=(1, 20, WIDTH)), 0)
    (replacements,) = tabulated(rewriter, root)
    ((old, new),) = replacements.items()
    assert old is root and new == op.Expand(layer(op, code, 0), shape=(1, 20, WIDTH))
    assert_same_values(op, [old], [new])


def test_the_search_takes_it_in_one_move(op, rewriter):
    """One operand of x sigmoid(x) that is looked up saves nothing yet, so that single steps lead nowhere here."""
    root = layer(op, looked_up(op, places()), 0)
    search = BacktrackingSearch(op, rewriter, FakeCost(op), lambda term: True, 1.0, SearchLimits())
    best = min(search.run((root,)).plans, key=lambda plan: plan.cost)
    left = [term for term in postorder(best.outputs) if isinstance(term, Apply) and not rewriter.is_constant(term)]
    assert [term.operator for term in left] == ["Gather"]


def test_what_several_codes_go_through_is_one_move_with_all_of_its_steps(op, rewriter):
    codes = [op.Expand(tensor(Var, name, 1, WIDTH), shape=(20, WIDTH)) for name in "xy"]
    root = op.Add(*(layer(op, code, at) for at, code in enumerate(codes)))
    (found,) = Neighbourhood((root,), is_constant=rewriter.is_constant).tabulated(rewriter)
    steps, replacements = found
    assert dict(replacements).keys() == {root}
    assert len(steps) == sum(isinstance(term, Apply) for term in postorder([root])) - len(codes)
    assert_same_values(op, [root], [dict(replacements)[root]])
