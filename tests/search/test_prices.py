"""Local changes are priced by measuring what says most about them."""

import math

import pytest

from fake_cost import FakeCost
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.cost import Unit
from taso_opt.cost.kernels.work import multiplications
from taso_opt.generate.schemes.tiles import discover_tiles
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.prices import TRIALS, Prices
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule

SPELL = "Relu(x) = Max(0, x) where x[*any_x]"
PLACES = 3 * TRIALS


class SpellingCost(FakeCost):
    """Only maxima cost anything, by their number of elements; remembers what was to be measured."""

    def __init__(self, builder, of_maximum):
        super().__init__(builder)
        self.of_maximum, self.asked = of_maximum, []

    def prepare(self, units):
        self.asked += [unit for unit in units if unit.operator == "Max" and unit not in self.asked]

    def known(self, unit):
        return self.of_maximum(self._builder.type(unit).elements) if unit.operator == "Max" else 10.0

    def work(self, unit):
        return 1


def spellings(op, sizes):
    """The changes of one activation each, on tensors of these sizes."""
    outputs = tuple(op.Relu(Var(f"x{at}", TensorType("float32", (size,)))) for at, size in enumerate(sizes))
    rewriter, here = Rewriter(op, RuleSet((parse_rule(SPELL, op),))), Neighbourhood(outputs)
    return [here.local_change((step,), step.replacements) for step in rewriter.steps(here.terms)]


def test_a_rule_that_loses_wherever_it_is_tried_is_measured_at_a_few_places_only(op):
    cost, changes = SpellingCost(op, lambda size: 11.0), spellings(op, range(1, PLACES + 1))
    prices = Prices(cost).of(changes)
    assert [price for price in prices if price is not None] == [1.0] * TRIALS
    assert prices[0] == prices[-1] == 1.0
    assert len(cost.asked) == TRIALS


class Guessing(SpellingCost):
    """Guesses what a maximum costs once one is measured."""

    def guess(self, unit):
        return self.known(unit) if unit.operator != "Max" or self.asked else None


def test_what_is_guessed_to_lose_by_far_is_not_measured_and_has_the_guess_for_a_price(op):
    cost, changes = Guessing(op, lambda size: 21.0 + size), spellings(op, range(1, PLACES + 1))
    assert Prices(cost).of(changes, bearable=1e6) == [11.0 + size for size in range(1, PLACES + 1)]
    assert len(cost.asked) == 1


def test_what_is_guessed_to_lose_a_little_is_measured(op):
    cost, changes = Guessing(op, lambda size: 19.0), spellings(op, range(1, PLACES + 1))
    assert Prices(cost).of(changes, bearable=1e6) == [9.0] * PLACES
    assert len(cost.asked) == PLACES


def test_what_cannot_run_is_a_loss(op):
    assert Prices(SpellingCost(op, lambda size: math.inf)).of(spellings(op, (1,))) == [math.inf]


def test_a_rule_that_gains_somewhere_is_priced_everywhere(op):
    cost = SpellingCost(op, lambda size: 11.0 if size < PLACES else 9.0)
    changes = spellings(op, range(1, PLACES + 1))
    assert Prices(cost).of(changes) == [1.0] * (PLACES - 1) + [-1.0]


def test_a_rule_whose_loss_everywhere_is_bearable_is_priced_everywhere(op):
    cost, changes = SpellingCost(op, lambda size: 11.0), spellings(op, range(1, PLACES + 1))
    assert Prices(cost).of(changes, bearable=PLACES - 1.0).count(None) == PLACES - TRIALS
    assert Prices(cost).of(changes, bearable=PLACES + 0.0) == [1.0] * PLACES


def test_what_multiplies_many_times_as_much_is_not_measured(op):
    class Heavy(SpellingCost):
        def work(self, unit):
            return 10**9 if unit.operator == "Max" else 1

    cost = Heavy(op, lambda size: 1.0)
    assert Prices(cost).of(spellings(op, (1, 2))) == [None, None]
    assert cost.asked == []


def test_what_takes_the_time_of_many_multiplications_may_be_replaced_by_as_many(op):
    class Slow(SpellingCost):
        def work(self, unit):
            return 10**9 if unit.operator == "Max" else 1

        def worth(self, unit):
            return 0.0 if unit.operator == "Max" else self._builder.type(unit).elements * 6e8

    cost = Slow(op, lambda size: 1.0)
    assert Prices(cost).of(spellings(op, (1, 2))) == [None, -9.0]
    assert [op.type(unit).elements for unit in cost.asked] == [2]


@pytest.mark.parametrize(("channels", "measured"), [(4, False), (64, True)])
def test_many_more_operators_that_multiply_more_are_not_measured(op, channels, measured):
    """A convolution in tiles multiplies less than the plain one where there are channels enough."""
    library = load_specs()
    rules = RuleSet(discover_tiles(library, 0, frozenset(library.operators)))
    image, kernel = (TensorType("float32", shape) for shape in ((1, channels, 12, 20), (channels, channels, 3, 3)))
    windows = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "group": 1}
    plain = op.Conv(Var("x", image), Const("f", kernel), **windows)
    here = Neighbourhood((plain,))
    changes = [here.local_change((step,), step.replacements) for step in Rewriter(op, rules).steps(here.terms)]
    assert len(changes) == 2 and all(change.saved < 0 for change in changes)
    prices = Prices(MultiplyingCost(op)).of(changes)
    assert [price is not None for price in prices] == [measured] * 2


class MultiplyingCost(FakeCost):
    """Everything costs what it multiplies."""

    def known(self, unit):
        return float(self.work(unit))

    def work(self, unit):
        return multiplications(Unit("", (unit,), frozenset({unit})), self._builder)


def test_differences_within_the_noise_are_none(op):
    changes = spellings(op, (1,))
    assert Prices(SpellingCost(op, lambda size: 10.1)).of(changes) == [0.0]
    assert Prices(SpellingCost(op, lambda size: 10.5)).of(changes) == [0.5]


def test_a_change_keeps_the_work_where_products_of_the_same_sizes_run_after_it(op):
    class ByProducts(FakeCost):
        def work(self, unit):
            return self._builder.type(unit.args[1]).elements if unit.operator == "MatMul" else 0

    rules = (
        "MatMul(x, Mul(y, z)) = Mul(MatMul(x, y), z) where x[*b, m, k], y[k, n], z[n]",
        "Add(MatMul(x, y), MatMul(z, w)) = MatMul(Concat(x, z; axis=-1), Concat(y, w; axis=-2)) "
        "where x[*b, m, k], y[k, n], z[*b, m, p], w[p, n]",
    )
    row, weights = Var("x", TensorType("float32", (1, 4))), Var("y", TensorType("float32", (4, 4)))
    scaled = op.MatMul(row, op.Mul(weights, Var("s", TensorType("float32", (4,)))))
    here = Neighbourhood([op.Add(scaled, op.MatMul(op.Neg(row), weights))])
    rewriter, prices = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in rules))), Prices(ByProducts(op))
    changes = [here.local_change((step,), step.replacements) for step in rewriter.steps(here.terms)]
    kept = {change.added[0].operator: prices.keeps_work(change) for change in changes}
    assert kept == {"Mul": True, "MatMul": False}


class Alike(SpellingCost):
    """Takes changes of the same operators for alike, and kernels only for units of the same place."""

    def likeness(self, outputs, boundary, around):
        return outputs[0].operator

    def kernels(self, outputs, boundary=(), around=None, units=None):
        assert units == self.units(outputs, boundary)
        return units


def test_what_is_alike_is_looked_into_at_one_place_and_priced_everywhere(op):
    cost, changes = Alike(op, lambda size: 9.0), spellings(op, (1, 2, 3))
    assert Prices(cost).of(changes) == [-1.0] * 3
    assert len(set(cost.asked)) == 1


def test_kernels_are_found_where_units_were_found_before(op):
    """The units of the first place are known although it was not worth measuring."""
    cost, changes = Alike(op, lambda size: 9.0), spellings(op, (1, 2))
    prices = Prices(cost)
    cost.work = lambda unit: 10**9 if unit.operator == "Max" else 1
    assert prices.of(changes[:1]) == [None]
    cost.work = lambda unit: 1
    assert prices.of(changes[1:]) == [-1.0]
