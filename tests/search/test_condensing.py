"""What is linear along one axis of a tensor becomes one product with constants, as one move."""

import random

import pytest

from fake_cost import FakeCost
from taso_opt.core.dims import symbol
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Var, postorder
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.plan import SearchLimits
from taso_opt.search.sequences.condensing import LONGEST, LONGEST_ROW
from taso_opt.spec.rule_file import read_rules
from terms import assert_same_values, tensor

SUMS = {"Add", "Concat", "IdentityMatrix", "MatMul", "Mul", "Slice", "Sub", "Transpose"}
LINEAR = SUMS | {"AveragePool", "AveragingMatrix", "Expand", "Reshape", "Squeeze", "Unsqueeze"}
TIME, SERIES = 12, 5
SWAP = (-1, -2)


def rules_over(op, operators):
    return Rewriter(op, RuleSet(tuple(rule for rule in read_rules(None, op) if rule.operators <= operators)))


@pytest.fixture(scope="module")
def rewriter(op):
    return rules_over(op, LINEAR)


def series(time=TIME, batch=4):
    return tensor(Var, "x", batch, time, SERIES)


def weights(name, rows=TIME, columns=TIME):
    return tensor(Const, name, rows, columns)


def sequences(rewriter, *outputs):
    found = Neighbourhood(outputs, is_constant=rewriter.is_constant).condensed(rewriter, lambda: False)
    return [dict(replacements) for _, replacements in found]


def condensed(op, rewriter, output):
    """The output with the only region of the graph as one product; it computes the same."""
    (replacements,) = sequences(rewriter, output)
    new = rewriter.replaced(output, replacements)
    assert_same_values(op, [output], [new])
    return new


def live(rewriter, *roots):
    """The operators that are computed when the model runs."""
    terms = [term for term in postorder(roots) if isinstance(term, Apply) and not rewriter.is_constant(term)]
    return sorted(term.operator for term in terms)


def turned(op, x):
    return op.Transpose(x, perm=SWAP)


def last_of(op, x, time=TIME):
    return op.Slice(x, axis=-2, sizes=(time - 1, 1, 0))


def by_last_values(op, x):
    """A product of what differs from the last value, which is added again."""
    last = last_of(op, x)
    product = op.Add(op.MatMul(turned(op, op.Sub(x, last)), weights("w")), tensor(Const, "b", TIME))
    return op.Add(turned(op, product), last)


def by_trend(op, x, average=None, width=5):
    """A moving average, its ends repeated, and what remains, with a product of each."""
    first, last = op.Slice(x, axis=-2, sizes=(0, 1, TIME - 1)), last_of(op, x)
    before, behind = (op.Expand(end, shape=(4, width // 2, SERIES)) for end in (first, last))
    lines = turned(op, op.Concat(before, x, behind, axis=-2))
    trend = (average or over_lines)(op, lines, width)
    rest = turned(op, op.Sub(x, turned(op, trend)))
    return op.Add(op.MatMul(trend, weights("w")), op.MatMul(rest, weights("v")))


def over_lines(op, lines, width):
    return op.AveragePool(lines, kernel=(width,), strides=(1,), pads=(0, 0), count_include_pad=0)


def over_images(op, lines, width):
    """The same of lines as images of one row."""
    *leading, columns = op.type(lines).shape
    images = op.Reshape(lines, shape=(*leading, 1, columns))
    found = op.AveragePool(images, kernel=(1, width), strides=(1, 1), pads=(0,) * 4, count_include_pad=0)
    return op.Reshape(found, shape=(*leading, columns - width + 1))


def by_trend_of_images(op, x):
    return by_trend(op, x, over_images)


def by_differences(op, x):
    """Each value less the one before, behind the first one, and matrices on the left."""
    first, without_last = (op.Slice(x, axis=-2, sizes=sizes) for sizes in ((0, 1, TIME - 1), (0, TIME - 1, 1)))
    differences = op.Sub(x, op.Concat(first, without_last, axis=-2))
    return op.Add(op.MatMul(weights("w"), differences), op.MatMul(weights("v"), x))


def by_multiples(op, x):
    """Multiples of columns, and of all of a product, less the last column."""
    lines = turned(op, x)
    product = op.MatMul(op.Mul(lines, tensor(Const, "k", TIME)), weights("w"))
    return op.Sub(op.Mul(product, tensor(Const, "s")), op.Slice(lines, axis=-1, sizes=(TIME - 1, 1, 0)))


def by_propagation(op, x):
    """A share of the neighbours' values and one of one's own, again and again, of what has a bias (APPNP)."""
    values = found = op.Add(op.MatMul(x, tensor(Const, "v", SERIES, 3)), tensor(Const, "b", 3))
    share, rest = tensor(Const, "a"), tensor(Const, "s")
    for _ in range(4):
        found = op.Add(op.Mul(op.MatMul(weights("w"), found), share), op.Mul(values, rest))
    return found


def by_states(op, x):
    """The last state of a linear recurrence over the steps of a series (LMU; Voelker et al., NeurIPS 2019)."""
    state = None
    for step in range(TIME):
        row = op.Reshape(op.Slice(x, axis=-2, sizes=(step, 1, TIME - step - 1)), shape=(4, SERIES))
        new = op.MatMul(row, weights("B", SERIES, 3))
        state = new if state is None else op.Add(op.MatMul(state, weights("A", 3, 3)), new)
    return state


@pytest.mark.parametrize(
    ("network", "left"),
    [
        (by_last_values, ["Add", "MatMul", "Transpose", "Transpose"]),
        (by_trend, ["MatMul", "Transpose"]),
        (by_trend_of_images, ["MatMul", "Transpose"]),
        (by_differences, ["MatMul", "Transpose", "Transpose"]),
        (by_multiples, ["MatMul", "Transpose"]),
        (by_states, ["MatMul", "Reshape"]),
        (by_propagation, ["Add", "MatMul", "MatMul", "Transpose", "Transpose"]),
    ],
)
def test_a_region_is_one_product(op, rewriter, network, left):
    assert live(rewriter, condensed(op, rewriter, network(op, series()))) == left


def test_a_pool_may_have_strides_and_padding(op, rewriter):
    lines = turned(op, series())
    for counted in (0, 1):
        pool = op.AveragePool(lines, kernel=(4,), strides=(2,), pads=(1, 2), count_include_pad=counted)
        output = op.Concat(op.MatMul(pool, weights("w", rows=6)), lines, axis=-1)
        assert live(rewriter, condensed(op, rewriter, output)) == ["MatMul", "Transpose"]


def test_a_batch_may_be_open(op, rewriter):
    batch = symbol("N")
    x = series(batch=batch)
    (replacements,) = sequences(rewriter, by_last_values(op, x))
    (new,) = replacements.values()
    assert live(rewriter, new) == ["Add", "MatMul", "Transpose", "Transpose"]
    assert op.type(new).shape == (batch, TIME, SERIES)


def test_regions_lie_between_what_is_not_linear(op, rewriter):
    x = op.Relu(series())
    between = op.Tanh(by_last_values(op, x))
    new = by_last_values(op, between)
    found = sequences(rewriter, new)
    assert [list(one) for one in found] == [[between.args[0]], [new]]


def test_what_else_is_used_of_a_region_stays(op, rewriter):
    x = series()
    output, difference = by_last_values(op, x), op.Sub(x, last_of(op, x))
    (replacements,) = sequences(rewriter, output, op.Relu(difference))
    assert list(replacements) == [output]


def product(op, x):
    return op.MatMul(turned(op, x), weights("w"))


def over_a_long_axis(op):
    x = series(time=LONGEST + 1)
    return op.Add(op.MatMul(weights("w", 3, LONGEST + 1), x), last_of(op, x, LONGEST + 1))


def over_long_rows(op):
    x = series(time=LONGEST_ROW // SERIES + 1)
    rows = x.type.shape[-2]
    parts = [op.Reshape(op.Slice(x, axis=-2, sizes=(at, 1, rows - at - 1)), shape=(4, SERIES)) for at in range(2)]
    first, second = (op.MatMul(part, weights("w", SERIES, 3)) for part in parts)
    for _ in range(2):
        first = op.Add(op.MatMul(first, weights("v", 3, 3)), second)
    return first


def over_an_open_axis(op):
    x = tensor(Var, "x", 2, symbol("N"))
    return op.Sub(op.MatMul(x, tensor(Const, "w", symbol("N"), 1)), x)


LEFT_ALONE = {
    "a single path": lambda op, x: op.Add(op.MatMul(product(op, x), weights("v")), tensor(Const, "b", TIME)),
    "a sum of products": lambda op, x: op.Sub(op.MatMul(product(op, x), weights("v")), product(op, x)),
    "sums without a product": lambda op, x: op.Sub(x, last_of(op, x)),
    "a product along the other axis": lambda op, x: op.Add(op.MatMul(x, weights("w", SERIES, SERIES)), last_of(op, x)),
    "what is linear in two tensors": lambda op, x: op.Add(product(op, x), tensor(Var, "y", 4, SERIES, TIME)),
    "a product of two tensors": lambda op, x: op.Mul(product(op, x), turned(op, x)),
    "a divided constant": lambda op, x: op.Add(op.Div(tensor(Const, "c", TIME), turned(op, x)), product(op, x)),
    "a long axis": lambda op, x: over_a_long_axis(op),
    "rows that are long in one": lambda op, x: over_long_rows(op),
    "an open axis": lambda op, x: over_an_open_axis(op),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_anything_else_is_left_alone(op, rewriter, name):
    assert not sequences(rewriter, LEFT_ALONE[name](op, series()))


@pytest.mark.parametrize("missing", ["IdentityMatrix", "Slice", "Sub", "Transpose"])
def test_without_the_rules_there_is_no_sequence(op, missing):
    assert not sequences(rules_over(op, LINEAR - {missing}), by_last_values(op, series()))


def test_a_search_takes_all_of_it_at_once(op, rewriter):
    output = by_trend(op, series())
    search = BacktrackingSearch(op, rewriter, FakeCost(op), lambda term: True, 1.05, SearchLimits())
    best = min(search.run((output,)).plans, key=lambda plan: plan.cost)
    assert live(rewriter, *best.outputs) == ["MatMul", "Transpose"]
    assert_same_values(op, [output], best.outputs)


LINES = (
    lambda op, rng, x, y: op.Sub(x, y),
    lambda op, rng, x, y: op.Add(y, x),
    lambda op, rng, x, y: op.Mul(x, tensor(Const, f"k{rng.random()}", TIME)),
    lambda op, rng, x, y: op.Div(x, tensor(Const, f"s{rng.random()}")),
    lambda op, rng, x, y: op.Neg(x),
    lambda op, rng, x, y: op.MatMul(x, weights(f"w{rng.random()}")),
    lambda op, rng, x, y: turned(op, op.MatMul(weights(f"v{rng.random()}"), turned(op, x))),
    lambda op, rng, x, y: op.AveragePool(x, kernel=(3,), strides=(1,), pads=(1, 1), count_include_pad=rng.randrange(2)),
    lambda op, rng, x, y: op.Sub(x, op.Slice(y, axis=-1, sizes=(TIME - 1, 1, 0))),
    lambda op, rng, x, y: op.Expand(op.Slice(x, axis=-1, sizes=(3, 1, TIME - 4)), shape=(4, SERIES, TIME)),
    lambda op, rng, x, y: op.Concat(
        op.Slice(x, axis=-1, sizes=(2, TIME - 2, 0)), op.Slice(y, axis=-1, sizes=(0, 2, TIME - 2)), axis=-1
    ),
)
"""Lines that are linear in two others."""


@pytest.fixture(scope="module")
def whole_library(op):
    return Rewriter(op, read_rules(None, op))


@pytest.mark.parametrize("seed", range(12))
def test_random_regions_compute_the_same(op, whole_library, seed):
    """Each of a few lines is made of two before it; a product of the last one stands beside a difference."""
    rng, x = random.Random(seed), series()
    lines = [turned(op, x)]
    for _ in range(6):
        lines.append(rng.choice(LINES)(op, rng, rng.choice(lines), rng.choice(lines)))
    without_first = op.Sub(lines[0], op.Slice(lines[0], axis=-1, sizes=(0, 1, TIME - 1)))
    output = op.Add(op.Add(op.MatMul(lines[-1], weights("w")), tensor(Const, "b", TIME)), without_first)
    (new,) = (found[output] for found in sequences(whole_library, output) if output in found)
    assert live(whole_library, new) == ["Add", "MatMul", "Transpose"]
    assert_same_values(op, [output], [new])
