"""Joins of many operands: neighbours that are parts of one tensor, and joins inside of joins."""

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Item, Var
from taso_opt.generate.schemes.slices import discover_slices
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import OPAQUE, load_specs
from taso_opt.spec.text import parse_rule
from terms import assert_same_values, tensor

THREE = "Concat(Concat(x, y; axis=-2), z; axis=-2) = Concat(x, y, z; axis=-2) where x[k, n], y[l, n], z[m, n]"


@pytest.fixture(scope="module")
def rewriter(op):
    return Rewriter(op, RuleSet(discover_slices(load_specs(), 0, frozenset({"Slice", "Concat"}))))


def rows(op, x, start, stop):
    (size, _) = op.type(x).shape
    return op.Slice(x, axis=-2, sizes=(start, stop - start, size - stop))


def joined(op, rewriter, *parts):
    """What the step that leaves the fewest operands makes of a join; None without one."""
    whole = op.Concat(*parts, axis=-2)
    found = [step.image for step in rewriter.rewrites(whole)]
    shorter = [new for new in found if new.operator != "Concat" or len(new.args) < len(parts)]
    for new in shorter:
        assert_same_values(op, [whole], [new])
    return min(shorter, key=lambda new: len(new.args) if new.operator == "Concat" else 1, default=None)


@pytest.mark.parametrize("count", [3, 5, 9])
def test_any_number_of_rows_in_their_order_is_one_part(op, rewriter, count):
    x = tensor(Var, "x", 12, 3)
    assert joined(op, rewriter, *(rows(op, x, at, at + 1) for at in range(1, count + 1))) is rows(op, x, 1, count + 1)


def test_parts_of_several_tensors_are_joined_each_for_itself(op, rewriter):
    x, y = tensor(Var, "x", 12, 3), tensor(Var, "y", 6, 3)
    parts = [*(rows(op, x, at, at + 2) for at in (0, 2, 4)), y, *(rows(op, y, at, at + 1) for at in (1, 2))]
    assert joined(op, rewriter, *parts) is op.Concat(rows(op, x, 0, 6), y, rows(op, y, 1, 3), axis=-2)


def test_rows_in_another_order_or_along_another_axis_are_left_alone(op, rewriter):
    x = tensor(Var, "x", 12, 3)
    assert joined(op, rewriter, *(rows(op, x, at, at + 1) for at in (4, 2, 0))) is None
    one = op.Concat(*(rows(op, x, at, at + 1) for at in range(4)), axis=-1)
    assert not [step for step in rewriter.rewrites(one) if step.image.operator == "Slice"]


WHOLE = (
    "Concat(Split(x; axis=-2, sizes=(k, n))[0], Split(x; axis=-2, sizes=(k, n))[1]; axis=-2) = x where x[*b, k+n, m]"
)


@pytest.fixture(scope="module")
def unsplitting(op):
    return Rewriter(op, RuleSet((parse_rule(WHOLE, op),)))


def test_all_parts_of_a_split_are_the_tensor_again_in_a_longer_join(op, unsplitting):
    x, y = tensor(Var, "x", 12, 3), tensor(Var, "y", 6, 3)
    parts = split(op, x, 2, 4, 6)
    assert joined(op, unsplitting, y, *parts) is op.Concat(y, x, axis=-2)
    assert joined(op, unsplitting, *parts, y, *parts) is op.Concat(x, y, *parts, axis=-2)


def test_some_parts_of_a_split_or_in_another_order_are_left_alone(op, unsplitting):
    x, y = tensor(Var, "x", 12, 3), tensor(Var, "y", 6, 3)
    first, second, third = split(op, x, 2, 4, 6)
    for parts in ((first, second, y), (y, first), (first, third, second, y), (second, third, y, first)):
        assert joined(op, unsplitting, *parts) is None
    across = op.Concat(*split(op, x, 6, 6), tensor(Var, "z", 6, 3), axis=-1)
    assert not unsplitting.rewrites(across)


def split(op, x, *sizes):
    whole = op.Split(x, axis=-2, sizes=sizes)
    return [Item(whole, at) for at in range(len(sizes))]


@pytest.fixture(scope="module")
def flattening(op):
    return Rewriter(op, RuleSet((parse_rule(THREE, op),)))


def tree(op, leaves):
    """The leaves joined in brackets, half of them in each."""
    if len(leaves) == 1:
        return leaves[0]
    half = len(leaves) // 2
    return op.Concat(tree(op, leaves[:half]), tree(op, leaves[half:]), axis=-2)


@pytest.mark.parametrize("count", [4, 5, 9])
def test_joins_inside_of_a_join_are_one_join_in_one_step(op, flattening, count):
    leaves = [tensor(Var, f"x{at}", at + 1, 3) for at in range(count)]
    whole = tree(op, leaves)
    found = [step.image for step in flattening.rewrites(whole)]
    assert op.Concat(*leaves, axis=-2) in found
    for new in found:
        assert_same_values(op, [whole], [new])


def test_joins_along_another_axis_stay_inside_and_without_the_rule_nothing_is_joined(op, rewriter, flattening):
    columns = op.Concat(*(tensor(Var, f"y{at}", 2, 1) for at in range(3)), axis=-1)
    leaves = [tensor(Var, f"x{at}", at + 1, 3) for at in range(4)]
    whole = op.Concat(tree(op, leaves), columns, axis=-2)
    found = [step.image for step in flattening.rewrites(whole)]
    assert op.Concat(*leaves, columns, axis=-2) in found
    assert not [step for step in rewriter.rewrites(whole) if len(step.image.children) > 3]


PRODUCTS = (
    "Concat(Mul(x, u), Mul(y, v); axis=-2) = Mul(Concat(x, y; axis=-2), Concat(u, v; axis=-2)) "
    "where x[*b, m, k], y[*b, n, k], u[*b, m, k], v[*b, n, k]"
)


def products(op, rewriter, *factors):
    """What a join of products is said as, where that is one product of two joins."""
    whole = op.Concat(*(op.Mul(*pair) for pair in factors), axis=-2)
    found = [step.image for step in rewriter.rewrites(whole)]
    for new in found:
        assert_same_values(op, [whole], [new])
    return {new for new in found if new.operator == "Mul"}


@pytest.mark.parametrize("count", [2, 3, 8])
def test_like_is_joined_with_like_however_many_products_there_are_and_whatever_their_names(op, count):
    """Each may be matched in two ways: eight of them in more than anybody tries."""
    rewriter = Rewriter(op, RuleSet((parse_rule(PRODUCTS, op),)))
    rows = [tensor(Var, f"x{at}", 1, 4) for at in range(count)]
    found = products(op, rewriter, *((row, op.Erf(row)) for row in rows))
    joined = op.Concat(*rows, axis=-2), op.Concat(*map(op.Erf, rows), axis=-2)
    assert op.Mul(*joined) in found


def test_products_that_share_a_factor_are_left_to_the_rules(op):
    rewriter = Rewriter(op, RuleSet((parse_rule(PRODUCTS, op),)))
    share = tensor(Var, "s", 4)
    assert products(op, rewriter, *((op.Erf(tensor(Var, f"x{at}", 1, 4)), share) for at in range(8))) == set()


def test_no_join_is_taken_apart_without_a_rule_that_says_so(op):
    rewriter = Rewriter(op, RuleSet((parse_rule(THREE, op),)))
    rows = [tensor(Var, f"x{at}", 1, 4) for at in range(4)]
    assert products(op, rewriter, *((row, op.Erf(row)) for row in rows)) == set()


def test_the_first_result_of_what_has_no_operands_is_no_part_of_anything(op, unsplitting):
    """As an operator of one's own may give: it is asked for a whole only where it splits one."""
    x = tensor(Var, "x", 4, 8)
    source = Apply(OPAQUE, (), (("node", 0), ("types", (x.type, x.type))))
    assert not unsplitting.rewrites(op.Concat(op.item(source, 0), op.item(source, 1), x, axis=-2))
