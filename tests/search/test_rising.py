"""Lines are computed as images of one row, from the first window on as far as rules go, where that gains."""

import pytest

from fake_cost import FakeCost
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Item, Var, postorder
from taso_opt.generate.schemes.definitions import discover_definitions
from taso_opt.generate.schemes.lines import discover_lines
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.plan import Plan, SearchLimits
from taso_opt.search.sequences.rising import raised
from taso_opt.spec import load_specs
from terms import assert_same_values, tensor

SHAPES = ("Squeeze", "Unsqueeze")


@pytest.fixture(scope="module")
def rewriter(op):
    library = load_specs()
    shapes = discover_definitions(library, frozenset({"Reshape", "Squeeze", "Unsqueeze"}), ())
    return Rewriter(op, RuleSet((*shapes, *discover_lines(library, 0, frozenset(library.operators)))))


def conv(op, x, name, outputs, kernel=3, step=1):
    weights = tensor(Const, f"w_{name}", outputs, op.type(x).shape[1], kernel)
    bias = tensor(Const, f"b_{name}", outputs)
    return op.Conv(x, weights, bias, dilations=(1,), group=1, pads=(kernel // 2,) * 2, strides=(step,))


def rewritten(op, rewriter, *outputs):
    """The outputs with lines raised; they compute the same, with no step that is not one of a rule."""
    steps, replacements = raised(postorder(outputs), outputs, rewriter)
    for step in steps:
        for old, new in step.replacements:
            assert op.types(old) == op.types(new)
    new = [rewriter.replaced(output, dict(replacements)) for output in outputs]
    assert_same_values(op, outputs, new)
    return new


def ranks(op, roots, without=SHAPES):
    """The ranks of all that is computed of inputs, but for other shapes of the same."""
    live = [one for one in postorder(roots) if isinstance(one, Apply) and Var in map(type, postorder([one]))]
    return {kind.rank for one in live if one.operator not in without for kind in op.types(one)}


def shapes(roots):
    """How often shapes change on the way from the inputs to the outputs."""
    live = [one for one in postorder(roots) if isinstance(one, Apply) and Var in map(type, postorder([one]))]
    return sorted(one.operator for one in live if one.operator in SHAPES)


def test_all_between_the_first_and_the_last_convolution_becomes_images(op, rewriter):
    x = tensor(Var, "x", 1, 6, 20)
    one = op.Relu(conv(op, x, "one", 8))
    pooled = op.MaxPool(one, dilations=(1,), kernel=(2,), pads=(0, 0), strides=(2,))
    two = op.Mul(op.Add(conv(op, pooled, "two", 8, 1), pooled), tensor(Const, "scale", 8, 1))
    (new,) = rewritten(op, rewriter, conv(op, op.Concat(two, op.Tanh(pooled), axis=-2), "last", 4, 5, 2))
    assert ranks(op, [new]) == {4}
    assert shapes([new]) == ["Squeeze", "Unsqueeze"]


def test_what_no_rule_knows_with_a_row_reads_lines_as_before(op, rewriter):
    line = op.Relu(conv(op, tensor(Var, "x", 1, 6, 20), "one", 8))
    turned = op.Transpose(line, perm=(-1, -2))
    product = op.MatMul(turned, tensor(Const, "m", 8, 6))
    (new,) = rewritten(op, rewriter, op.Sigmoid(product))
    assert ranks(op, [new]) == {3, 4}
    assert shapes([new]) == ["Squeeze", "Unsqueeze"]


@pytest.mark.parametrize("shape", [(1, 8, 5, 4), (8, 20), (1, 2, 4, 20)])
def test_behind_a_line_in_another_shape_nothing_rises(op, rewriter, shape):
    line = op.Relu(conv(op, tensor(Var, "x", 1, 6, 20), "one", 8))
    root = op.Relu(op.Add(op.Reshape(line, shape=shape), tensor(Var, "y", *shape)))
    (new,) = rewritten(op, rewriter, root)
    assert ranks(op, [new]) == {4, len(shape)}
    assert shapes([new]) == ["Squeeze", "Unsqueeze"]
    assert [one.operator for one in new.args[0].args if isinstance(one, Apply)] == ["Reshape"]


@pytest.mark.parametrize("parts", [2, 3])
def test_all_parts_of_a_split_are_images_of_one_split(op, rewriter, parts):
    whole = conv(op, tensor(Var, "x", 1, 6, 20), "one", 4 * parts)
    split = op.Split(whole, axis=-2, sizes=(4,) * parts)
    gated = op.Mul(op.Tanh(op.item(split, 0)), op.Sigmoid(op.item(split, parts - 1)))
    (new,) = rewritten(op, rewriter, conv(op, gated, "two", 4))
    assert ranks(op, [new]) == {4}
    assert sum(isinstance(one, Apply) and one.operator == "Split" for one in postorder([new])) == 1


def test_parts_of_a_split_that_no_rule_knows_are_parts_of_lines(op, rewriter):
    whole = conv(op, tensor(Var, "x", 1, 6, 20), "one", 10)
    split = op.Split(whole, axis=-2, sizes=(2,) * 5)
    outputs = [op.Relu(op.item(split, at)) for at in range(5)]
    new = rewritten(op, rewriter, *outputs)
    assert all(isinstance(one.args[0], Item) for one in new)
    assert shapes(new) == ["Squeeze", "Unsqueeze"]


def test_a_line_that_is_an_output_and_goes_on_is_computed_once(op, rewriter):
    first = op.Relu(conv(op, tensor(Var, "x", 1, 6, 20), "one", 8))
    new = rewritten(op, rewriter, first, conv(op, first, "two", 4))
    assert ranks(op, new) == {4}
    assert sum(isinstance(one, Apply) and one.operator == "Conv" for one in postorder(new)) == 2


def test_windows_behind_what_stays_a_line_begin_anew(op, rewriter):
    one = conv(op, tensor(Var, "x", 1, 6, 20), "one", 8)
    shares = op.Softmax(one, axis=-2)
    (new,) = rewritten(op, rewriter, conv(op, shares, "two", 4))
    assert ranks(op, [new]) == {3, 4}
    assert shapes([new]) == ["Squeeze", "Squeeze", "Unsqueeze", "Unsqueeze"]


@pytest.mark.parametrize("rank", [2, 4])
def test_nothing_rises_without_lines(op, rewriter, rank):
    x = tensor(Var, "x", *(1, 6, 5, 5)[:rank])
    root = op.Relu(op.Add(x, x))
    assert raised(postorder([root]), [root], rewriter) == ((), ())


class ByRank(FakeCost):
    """Convolutions cost so much on lines and so much on images, everything else next to nothing."""

    def __init__(self, builder, line, image):
        super().__init__(builder)
        self.types, self.costs = builder.types, {3: line, 4: image}

    def known(self, unit):
        return self.costs[self.types(unit)[0].rank] if unit.operator == "Conv" else 1e-6


@pytest.mark.parametrize(("line", "image", "expected"), [(2.0, 1.0, {4}), (1.0, 2.0, {3})])
def test_a_search_raises_lines_where_that_gains(op, rewriter, line, image, expected):
    root = conv(op, op.Relu(conv(op, tensor(Var, "x", 1, 6, 20), "one", 8)), "two", 4)
    cost = ByRank(op, line, image)
    search = BacktrackingSearch(op, rewriter, cost, lambda term: True, 1.05, SearchLimits(budget=5.0))
    best = min(search.run((root,)).plans, key=lambda plan: plan.cost)
    assert ranks(op, best.outputs) == expected


class OfEqualWork(ByRank):
    """The same; both take as many multiplications."""

    def work(self, unit):
        return 1000 if unit.operator == "Conv" else 0


@pytest.mark.parametrize(("image", "expected"), [(0.9, {4}), (1.02, {4}), (1.2, {3})])
def test_a_search_begins_with_images_unless_these_lose_by_far(op, rewriter, image, expected):
    root = conv(op, op.Relu(conv(op, tensor(Var, "x", 1, 6, 20), "one", 8)), "two", 4)
    cost = OfEqualWork(op, 1.0, image)
    search = BacktrackingSearch(op, rewriter, cost, lambda term: True, 1.05, SearchLimits())
    start = search._raised(Plan((root,), cost.cost((root,))), lambda: False)
    assert ranks(op, start.outputs) == expected


@pytest.mark.parametrize(("image", "rank"), [(0.5, None), (1.02, 4), (1.2, 4)])
def test_images_that_gain_nothing_are_the_runner_up_whether_they_lose_by_far_or_not(op, rewriter, image, rank):
    root = conv(op, op.Relu(conv(op, tensor(Var, "x", 1, 6, 20), "one", 8)), "two", 4)
    search = BacktrackingSearch(op, rewriter, OfEqualWork(op, 1.0, image), lambda term: True, 1.05, SearchLimits())
    runner_up = search.run((root,)).runner_up
    assert (None if runner_up is None else ranks(op, runner_up.outputs)) == (None if rank is None else {rank})


def test_no_line_rises_when_the_time_is_over(op, rewriter):
    root = conv(op, op.Relu(conv(op, tensor(Var, "x", 1, 6, 20), "one", 8)), "two", 4)
    search = BacktrackingSearch(op, rewriter, ByRank(op, 2.0, 1.0), lambda term: True, 1.05, SearchLimits(budget=0.0))
    assert {frozenset(ranks(op, plan.outputs)) for plan in search.run((root,)).plans} == {frozenset({3})}
