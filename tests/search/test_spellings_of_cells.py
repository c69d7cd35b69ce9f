"""Cells are one operator over a sequence in whichever of many ways models spell them."""

import pytest

from cells import INPUTS, SIZE, affine, chains, count, elements, weights
from fake_cost import FakeCost
from taso_opt.core.literal import literal
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.plan import SearchLimits
from taso_opt.spec.rule_file import read_rules
from terms import assert_same_values, tensor

ONE = literal(1, "float32")


@pytest.fixture(scope="module")
def rewriter(op):
    moving = {"Slice", "Reshape", "Split"}
    alone = {"Add", "Div", "Exp", "MatMul", "Neg", "Reciprocal", "Reshape", "Sigmoid", "Slice"}
    rules = read_rules(None, op)
    return Rewriter(op, RuleSet(tuple(rule for rule in rules if _is_of_use(rule.operators, moving, alone))))


def _is_of_use(operators, *sets):
    return not operators.isdisjoint(("LSTM", "GRU")) or any(operators <= one for one in sets)


def joined(op, x, h, gates=4, name=""):
    """What goes into some gates at once."""
    w, r = tensor(Const, f"w{name}", INPUTS, gates * SIZE), tensor(Const, f"r{name}", SIZE, gates * SIZE)
    return op.Add(op.Add(op.MatMul(x, w), op.MatMul(h, r)), tensor(Const, f"p{name}", gates * SIZE))


def parts(op, whole, count):
    split = op.Split(whole, axis=-1, sizes=(SIZE,) * count)
    return [op.item(split, at) for at in range(count)]


def lstm(op, gates_of, xs, activate=None, batch=2):
    """The last state of cells whose gates, input, output, forget and candidate, some function gives."""
    h, c = (tensor(Var, name, batch, SIZE) for name in "hc")
    for x in xs:
        i, o, f, g = gates_of(x, h)
        i, o, f = (op.Sigmoid(one) if activate is None else activate(one) for one in (i, o, f))
        c = op.Add(op.Mul(f, c), op.Mul(i, op.Tanh(g)))
        h = op.Mul(o, op.Tanh(c))
    return h


def of_projected(op):
    """Gates of which the share of the element is given, in the order of PyTorch."""
    r = tensor(Const, "r", SIZE, 4 * SIZE)

    def gates_of(x, h):
        i, f, g, o = parts(op, op.Add(x, op.MatMul(h, r)), 4)
        return i, o, f, g

    return gates_of


def assert_one(op, rewriter, operator, state):
    (new,) = chains(op, rewriter, state)
    assert (count(new, operator), count(new, "Sigmoid", "Tanh")) == (1, 0)


@pytest.mark.parametrize("order", ["ifgo", "igfo", "iofg", "ifog", "figo", "ogfi"])
def test_gates_stand_in_any_order(op, rewriter, order):
    def gates_of(x, h):
        gates = parts(op, joined(op, x, h), 4)
        return [gates[order.index(letter)] for letter in "iofg"]

    assert_one(op, rewriter, "LSTM", lstm(op, gates_of, elements(4)))


@pytest.mark.parametrize("order", ["ifgo", "igfo"])
def test_a_number_may_be_added_to_the_forget_gate(op, rewriter, order):
    def gates_of(x, h):
        gates = parts(op, joined(op, x, h), 4)
        i, o, f, g = (gates[order.index(letter)] for letter in "iofg")
        return i, o, op.Add(f, ONE), g

    assert_one(op, rewriter, "LSTM", lstm(op, gates_of, elements(4)))


def test_a_number_may_be_added_to_the_forget_gate_alone(op, rewriter):
    own = weights()

    def gates_of(x, h):
        i, o, f, g = (affine(op, x, h, one) for one in own)
        return i, o, op.Add(f, ONE), g

    assert_one(op, rewriter, "LSTM", lstm(op, gates_of, elements(4)))


@pytest.mark.parametrize("order", ["iofg", "ifog", "ofig"])
def test_gates_may_be_activated_together(op, rewriter, order):
    def gates_of(x, h):
        split = op.Split(joined(op, x, h), axis=-1, sizes=(3 * SIZE, SIZE))
        gates = parts(op, op.Sigmoid(op.item(split, 0)), 3)
        return *(gates[order.index(letter)] for letter in "iof"), op.item(split, 1)

    assert_one(op, rewriter, "LSTM", lstm(op, gates_of, elements(4), activate=lambda gate: gate))


def test_gates_of_a_unit_may_be_activated_together(op, rewriter):
    h = tensor(Var, "h", 2, SIZE)
    both, new = (tensor(Const, name, INPUTS + SIZE, width) for name, width in (("u", 2 * SIZE), ("v", SIZE)))
    p, q = tensor(Const, "p", 2 * SIZE), tensor(Const, "q", SIZE)
    for x in elements(4):
        reset, update = parts(op, op.Sigmoid(op.Add(op.MatMul(op.Concat(x, h, axis=-1), both), p)), 2)
        candidate = op.Tanh(op.Add(op.MatMul(op.Concat(x, op.Mul(reset, h), axis=-1), new), q))
        h = op.Add(op.Mul(update, h), op.Mul(op.Sub(ONE, update), candidate))
    assert_one(op, rewriter, "GRU", h)


def test_gates_of_a_unit_may_stand_in_the_other_order(op, rewriter):
    """What its reset state goes into looks like a cell of its own, which is none of a chain."""
    h = tensor(Var, "h", 2, SIZE)
    for x in elements(4):
        update, reset = parts(op, op.Sigmoid(joined(op, x, h, 2, "g")), 2)
        candidate = op.Tanh(joined(op, x, op.Mul(reset, h), 1, "n"))
        h = op.Add(op.Mul(op.Sub(ONE, update), h), op.Mul(update, candidate))
    assert_one(op, rewriter, "GRU", h)


@pytest.mark.parametrize("batch", [1, 2])
def test_states_may_keep_the_axis_of_directions(op, rewriter, batch):
    own = weights()
    h, c = (tensor(Var, name, 1, batch, SIZE) for name in "hc")
    for at in range(4):
        x = tensor(Var, f"x{at}", 1, batch, INPUTS)
        i, o, f, g = (affine(op, x, h, one) for one in own)
        c = op.Add(op.Mul(op.Sigmoid(f), c), op.Mul(op.Sigmoid(i), op.Tanh(g)))
        h = op.Mul(op.Sigmoid(o), op.Tanh(c))
    assert_one(op, rewriter, "LSTM", h)


@pytest.mark.parametrize("where", ["with x", "behind"])
def test_the_candidate_of_a_unit_may_have_a_bias_inside_the_reset_and_one_outside(op, rewriter, where):
    """As in Flax: a gate has one bias, the candidate two, of which the reset gate leaves one alone."""
    (*gates, (w, r, p)), q = weights(gates=3), tensor(Const, "q", SIZE)
    h = tensor(Var, "h", 2, SIZE)

    def gate(x, h, w, r, p):
        if where == "behind":
            return op.Sigmoid(affine(op, x, h, (w, r, p)))
        return op.Sigmoid(op.Add(op.Add(op.MatMul(x, w), p), op.MatMul(h, r)))

    for x in elements(4):
        update, reset = (gate(x, h, *own) for own in gates)
        of_h = op.Mul(reset, op.Add(op.MatMul(h, r), q))
        new = op.Tanh(op.Add(op.Add(op.MatMul(x, w), p), of_h))
        h = op.Add(op.Mul(op.Sub(ONE, update), new), op.Mul(update, h))
    assert_one(op, rewriter, "GRU", h)


def test_a_state_may_be_moved_away_from_what_it_was(op, rewriter):
    h = tensor(Var, "h", 2, SIZE)
    for x in elements(4):
        z, r, _ = ((joined(op, x, h, 1, name)) for name in "zrn")
        z, r = op.Sigmoid(z), op.Sigmoid(r)
        new = op.Tanh(joined(op, x, op.Mul(r, h), 1, "n"))
        h = op.Sub(h, op.Mul(z, op.Sub(h, new)))
    assert_one(op, rewriter, "GRU", h)


@pytest.mark.parametrize(("shape", "axis", "batch"), [((8,), -2, 2), ((4, 2), -3, 2), ((1, 4), -2, 1)])
def test_the_inputs_of_all_elements_may_be_projected_at_once(op, rewriter, shape, axis, batch):
    width = 4 * SIZE
    projected = op.Add(
        op.MatMul(tensor(Var, "x", *shape, INPUTS), tensor(Const, "w", INPUTS, width)), tensor(Const, "p", width)
    )
    step = (*shape, width)[axis] // 4
    slices = [op.Slice(projected, axis=axis, sizes=(step * at, step, step * (3 - at))) for at in range(4)]
    split = op.Split(projected, axis=axis, sizes=(step,) * 4)
    for cut in (slices, [op.item(split, at) for at in range(4)]):
        rows = [one if len(shape) == 1 else op.Reshape(one, shape=(batch, width)) for one in cut]
        assert_one(op, rewriter, "LSTM", lstm(op, of_projected(op), rows, batch=batch))


def test_all_states_may_be_joined_in_another_shape(op, rewriter):
    """Only what elements are cut from is taken apart, not the states."""
    projected = op.MatMul(tensor(Var, "x", 4, 2, INPUTS), tensor(Const, "w", INPUTS, 4 * SIZE))
    split = op.Split(projected, axis=-3, sizes=(1,) * 4)
    h, c = (tensor(Var, name, 2, SIZE) for name in "hc")
    gates_of, states = of_projected(op), []
    for at in range(4):
        i, o, f, g = gates_of(op.Reshape(op.item(split, at), shape=(2, 4 * SIZE)), h)
        c = op.Add(op.Mul(op.Sigmoid(f), c), op.Mul(op.Sigmoid(i), op.Tanh(g)))
        h = op.Mul(op.Sigmoid(o), op.Tanh(c))
        states.append(op.Reshape(h, shape=(2, 1, SIZE)))
    assert_one(op, rewriter, "LSTM", op.Concat(*states, axis=-2))


class Sequences(FakeCost):
    """An operator over a sequence costs less than two cells."""

    def known(self, unit):
        return 4.0 if unit.operator in ("LSTM", "GRU") else 0.5


def test_a_sigmoid_that_is_spelled_out_hides_no_cells_from_a_search(op, rewriter):
    def spelled(gate):
        return op.Div(ONE, op.Add(ONE, op.Exp(op.Neg(gate))))

    own = weights()
    h = lstm(
        op,
        lambda x, h: [affine(op, x, h, one) for one in own],
        elements(6),
        spelled,
    )
    assert not chains(op, rewriter, h)
    search = BacktrackingSearch(op, rewriter, Sequences(op), lambda term: True, 1.05, SearchLimits())
    best = min(search.run((h,)).plans, key=lambda plan: plan.cost)
    assert (count(best.outputs, "LSTM"), count(best.outputs, "Exp")) == (1, 0)
    assert_same_values(op, [h], best.outputs)
