"""Objectives and limits: what they count, how they are written, and what a graph outside the limits costs."""

from fractions import Fraction

import pytest

from taso_opt.core.literal import literal
from taso_opt.core.term import Const, Var
from taso_opt.cost import CostEntry, CostModel, CostTable, Goal, TradeCost, parse_bytes, parse_objective, parse_percent
from taso_opt.cost.kernels.work import constant_bytes, result_bytes
from taso_opt.cost.quantities import peak_bytes, unit_flops, weight_bytes
from taso_opt.errors import UsageError
from terms import tensor


class SecondMeasurer:
    """Says that every unit costs one second."""

    place, machine, reference_s = "nowhere", "here", 1.0

    def measure(self, units, builder, finder, opset):
        return [CostEntry(self.place, unit.key, 1.0, 0.0, 1) for unit in units]

    def measure_cores(self, units, builder, finder, opset):
        return []


@pytest.fixture
def latency(op, tmp_path):
    with CostTable(tmp_path / "costs.sqlite") as table:
        yield CostModel(op, table, SecondMeasurer(), opset=17)


def chain(op):
    """(x A) B for x of 4 rows: [4, 8] by [8, 16] by [16, 2]."""
    first = op.MatMul(tensor(Var, "x", 4, 8), tensor(Const, "a", 8, 16))
    return op.MatMul(first, tensor(Const, "b", 16, 2))


def folded(op):
    """x (A B), the product of the weights folded: [4, 8] by [8, 2]."""
    weight = op.MatMul(tensor(Const, "a", 8, 16), tensor(Const, "b", 16, 2))
    return op.MatMul(tensor(Var, "x", 4, 8), weight)


def test_operations_of_a_product_are_two_for_each_multiplication(op, latency):
    flops = [unit_flops(unit, op) for unit in latency.units([chain(op)])]
    assert sorted(flops) == [2 * 4 * 16 * 2, 2 * 4 * 8 * 16]


def test_operations_of_convolutions_windows_and_elements(op, latency):
    image = tensor(Var, "x", 1, 4, 8, 8)
    attributes = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": (1, 1), "group": 2}
    convolution = op.Conv(image, tensor(Const, "w", 6, 2, 3, 3), **attributes)
    pool = op.MaxPool(image, kernel=(2, 2), strides=(2, 2), pads=(0, 0, 0, 0), dilations=(1, 1))
    moved = op.Transpose(tensor(Var, "z", 4, 8), perm=(-1, -2))
    units = latency.units([convolution, pool, op.Tanh(image), moved])
    flops = {unit.roots[-1].operator: unit_flops(unit, op) for unit in units}
    elements = 6 * 8 * 8
    assert flops == {"Conv": 2 * elements * 2 * 9, "MaxPool": 4 * 4 * 4 * 4, "Tanh": 4 * 64, "Transpose": 0}


def test_operations_inside_of_operators_that_make_products(op, latency):
    x, h, c = (tensor(Var, name, *shape) for name, shape in (("x", (7, 2, 5)), ("h", (1, 2, 3)), ("c", (1, 2, 3))))
    kinds = {"w": (1, 12, 5), "r": (1, 12, 3), "b": (1, 24)}
    lstm = op.LSTM(x, *(tensor(Const, name, *shape) for name, shape in kinds.items()), h, c)
    q, k, v = (tensor(Var, name, 1, 2, *shape) for name, shape in (("q", (5, 4)), ("k", (6, 4)), ("v", (6, 3))))
    attention = op.Attention(q, k, v, literal(Fraction(1, 2), "float32"))
    narrow = {"w": (1, 3, 5), "r": (1, 3, 3), "b": (1, 6)}
    rnn = op.RNN(x, *(tensor(Const, name, *shape) for name, shape in narrow.items()), h, activation="Tanh")
    units = latency.units([op.item(lstm, 1), op.item(rnn, 1), attention])
    flops = {unit.roots[-1].operator: unit_flops(unit, op) for unit in units}
    recurrent = {"LSTM": 2 * 7 * 2 * 12 * (5 + 3), "RNN": 2 * 7 * 2 * 3 * (5 + 3)}
    assert flops == {**recurrent, "Attention": 2 * 2 * 5 * 6 * (4 + 3)}


def test_weights_are_counted_once_and_after_folding(op, latency):
    assert weight_bytes([chain(op)], op, latency.finder.is_constant) == 4 * (8 * 16 + 16 * 2)
    assert weight_bytes([folded(op)], op, latency.finder.is_constant) == 4 * 8 * 2
    shared = tensor(Const, "a", 8, 8)
    twice = [op.MatMul(tensor(Var, name, 1, 8), shared) for name in "xy"]
    assert weight_bytes(twice, op, latency.finder.is_constant) == 4 * 64
    assert [constant_bytes(unit, op, latency.finder) for unit in latency.units(twice)] == [256, 256]


def test_the_peak_is_what_is_needed_at_once(op, latency):
    x = tensor(Var, "x", 100)
    chained = op.Tanh(op.Sigmoid(op.Exp(x)))
    assert peak_bytes([chained], op, latency.finder) == 400 * 3, "the input, one result and the next"
    exp = op.Exp(x)
    kept = op.Add(op.Tanh(op.Sigmoid(exp)), exp)
    assert peak_bytes([kept], op, latency.finder) == 400 * 4, "the branch is still needed"


def test_all_that_a_kernel_gives_is_stored(op, latency):
    x, y = tensor(Var, "x", 100), tensor(Var, "y", 100)
    function = op.Erf(x)
    outputs = [function, op.Mul(function, y)]
    (unit,) = latency.units(outputs)
    assert len(unit.roots) == 2
    assert peak_bytes(outputs, op, latency.finder) == 400 * 4


def test_parts_and_reshapes_have_no_memory_of_their_own(op, latency):
    split = op.Split(tensor(Var, "x", 4, 10), axis=-2, sizes=(2, 2))
    outputs = [op.item(split, 0), op.item(split, 1)]
    assert peak_bytes(outputs, op, latency.finder) == 160 + 160
    row = op.Squeeze(op.Unsqueeze(op.Tanh(tensor(Var, "y", 4, 10)), axis=-2), axis=-2)
    assert peak_bytes([op.Exp(op.Reshape(row, shape=(40,)))], op, latency.finder) == 160 * 3


def test_what_stays_inside_a_kernel_is_never_stored(op, latency):
    attributes = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "group": 1}
    image = tensor(Var, "x", 1, 4, 8, 8)
    fused = op.Relu(op.Conv(image, tensor(Const, "w", 4, 4, 1, 1), **attributes))
    (unit,) = latency.units([fused])
    assert result_bytes(unit, op) == 4 * 4 * 64
    assert peak_bytes([fused], op, latency.finder) == 4 * (4 * 64 + 4 * 64 + 16)


@pytest.mark.parametrize(
    ("objective", "share"),
    [
        ("flops", (4 * 8 * 2) / (4 * 8 * 16 + 4 * 16 * 2)),
        ("launches", 1 / 2),
        ("weights", 16 / 160),
        ("latency", 1 / 2),
    ],
)
def test_an_objective_is_a_share_of_the_original(objective, share, op, latency):
    trade = TradeCost(Goal(parse_objective(objective)), latency, op, [chain(op)])
    assert trade.cost([chain(op)]) == pytest.approx(1)
    assert trade.cost([folded(op)]) == pytest.approx(share)


def test_another_shape_is_no_launch_even_where_it_takes_time(op, tmp_path):
    moved = op.Reshape(folded(op), shape=(8,))
    with CostTable(tmp_path / "launched.sqlite") as table:
        latency = CostModel(op, table, SecondMeasurer(), opset=17, launches=True)
        trade = TradeCost(Goal(parse_objective("launches=1,latency=1")), latency, op, [chain(op)])
        assert trade.quantities([moved]) == {"latency": 2.0, "launches": 1.0}


def test_a_mix_adds_weighted_shares(op, latency):
    trade = TradeCost(Goal(parse_objective("weights=3, latency=1")), latency, op, [chain(op)])
    assert trade.cost([folded(op)]) == pytest.approx(0.5 + 3 * 0.1)
    (unit,) = trade.units([folded(op)])
    trade.prepare([unit])
    assert trade.known(unit) == pytest.approx(0.5 + 3 * 0.1)


def test_without_latency_nothing_is_measured(op, latency, monkeypatch):
    monkeypatch.setattr(SecondMeasurer, "measure", lambda *arguments: pytest.fail("measured"))
    trade = TradeCost(Goal(parse_objective("flops=1,memory=1,weights=1,launches=1")), latency, op, [chain(op)])
    units = trade.units([folded(op)])
    trade.prepare(units)
    assert trade.known(units[0]) > 0
    assert 0 < trade.cost([folded(op)]) < 4


def test_a_graph_outside_the_limits_costs_more_than_any_within_them(op, latency):
    before = [folded(op)]
    grown = [chain(op)]
    trade = TradeCost(Goal(size_growth=0.5), latency, op, before)
    assert trade.is_allowed(trade.quantities(before)) and not trade.is_allowed(trade.quantities(grown))
    assert trade.cost(grown) > 10 * trade.cost(before)
    assert TradeCost(Goal(size_growth=9.0), latency, op, before).cost(grown) == pytest.approx(2)


def test_an_original_outside_the_limits_is_worse_the_farther_it_is_outside(op, latency):
    trade = TradeCost(Goal(memory_limit=400), latency, op, [chain(op)])
    small = TradeCost(Goal(memory_limit=200), latency, op, [chain(op)])
    assert trade.cost([folded(op)]) < 1 < 10 < trade.cost([chain(op)]) < small.cost([chain(op)])


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("latency", (("latency", 1.0),)),
        ("flops", (("flops", 1.0),)),
        ("memory=0.1, latency=1", (("latency", 1.0), ("memory", 0.1))),
        ("launches,weights=2", (("launches", 1.0), ("weights", 2.0))),
    ],
)
def test_objectives_are_read(text, weights):
    assert parse_objective(text) == weights
    assert parse_objective(str(Goal(weights))) == weights


@pytest.mark.parametrize("text", ["", "speed", "latency=0", "latency=-1", "latency=nan", "latency,latency", "flops="])
def test_what_is_no_objective_is_refused(text):
    with pytest.raises(UsageError, match="expected an objective among latency, flops, memory, launches, weights"):
        parse_objective(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("300", 300),
        ("7 b", 7),
        ("2kb", 2000),
        ("64MB", 64_000_000),
        ("3GB", 3_000_000_000),
        ("2KiB", 2048),
        ("3MiB", 3 << 20),
        ("1.5 GiB", 3 << 29),
    ],
)
def test_sizes_are_read(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "-1", "0", "MB", "1e3", "12 parsec", "9" * 40])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(UsageError, match="expected a size in bytes"):
        parse_bytes(text)


def test_limits_hold_to_the_byte(op, latency):
    """The chain has 640 bytes of weights, the one that is folded 64."""
    for growth, allowed in ((9.0, True), (8.99, False)):
        trade = TradeCost(Goal(parse_objective("launches"), size_growth=growth), latency, op, [folded(op)])
        assert trade.is_allowed(trade.quantities([chain(op)])) is allowed
    peak = peak_bytes([chain(op)], op, latency.finder)
    for limit, allowed in ((peak, True), (peak - 1, False)):
        trade = TradeCost(Goal(parse_objective("launches"), memory_limit=limit), latency, op, [folded(op)])
        assert trade.is_allowed(trade.quantities([chain(op)])) is allowed


def test_percentages_are_read():
    assert [parse_percent(text) for text in ("10%", "0", " 2.5 % ")] == [10, 0, 2.5]
    with pytest.raises(UsageError, match="expected a percentage such as 10%, found '-1%'"):
        parse_percent("-1%")
