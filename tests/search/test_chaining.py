"""The cells of a recurrence become one operator over a sequence, as one move."""

import pytest

from cells import INPUTS, SIZE, affine, chains, count, elements, weights
from fake_cost import FakeCost
from taso_opt.core.dims import symbol
from taso_opt.core.literal import literal
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Var, postorder
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.plan import SearchLimits
from taso_opt.search.sequences.chaining import chained
from taso_opt.spec.rule_file import read_rules
from terms import assert_same_values, tensor


@pytest.fixture(scope="module")
def rewriter(op):
    mentioned = ("LSTM", "GRU", "RNN", "Reshape(Reshape")
    rules = [rule for rule in read_rules(None, op) if any(name in repr(rule) for name in mentioned)]
    return Rewriter(op, RuleSet(tuple(rules)))


@pytest.fixture(scope="module")
def cutting(op):
    """One that knows slices, too."""
    moving = {"Slice", "Reshape", "Split"}

    def is_of_use(rule):
        return "LSTM" in rule.operators or rule.operators <= moving

    return Rewriter(op, RuleSet(tuple(filter(is_of_use, read_rules(None, op)))))


def lstm_cells(op, xs, own, batch=2):
    """The states after each element, from gates; the weights are those of one step, or of each."""
    h, c = (tensor(Var, name, batch, SIZE) for name in "hc")
    states = []
    for at, x in enumerate(xs):
        i, o, f, g = (affine(op, x, h, one) for one in (own[at] if isinstance(own[0][0], list) else own))
        c = op.Add(op.Mul(op.Sigmoid(f), c), op.Mul(op.Sigmoid(i), op.Tanh(g)))
        h = op.Mul(op.Sigmoid(o), op.Tanh(c))
        states.append((h, c))
    return states


def early(op, x, h, reset, own):
    return affine(op, x, op.Mul(reset, h), own)


def late(op, x, h, reset, own):
    w, r, p = own
    return op.Add(op.Add(op.MatMul(x, w), p), op.Mul(reset, op.MatMul(h, r)))


def late_before_the_bias(op, x, h, reset, own):
    w, r, p = own
    return op.Add(op.Add(op.MatMul(x, w), op.Mul(reset, op.MatMul(h, r))), p)


def mixed(op, gate, first, second):
    return op.Add(op.Mul(op.Sub(literal(1, "float32"), gate), first), op.Mul(gate, second))


def moved(op, gate, first, second):
    return op.Add(first, op.Mul(gate, op.Sub(second, first)))


def gru_cells(op, xs, own, candidate=early, mixture=moved, turned=False):
    """The states, which are kept as far as the update gate says, or taken on if that is `turned`."""
    h, states = tensor(Var, "h", 2, SIZE), []
    for x in xs:
        z, r = (op.Sigmoid(affine(op, x, h, one)) for one in own[:2])
        new = op.Tanh(candidate(op, x, h, r, own[2]))
        h = mixture(op, z, h, new) if turned else mixture(op, z, new, h)
        states.append(h)
    return states


@pytest.mark.parametrize("length", [2, 3, 8])
def test_the_last_state_of_many_cells_is_that_of_one_operator(op, rewriter, length):
    h, _ = lstm_cells(op, elements(length), weights())[-1]
    (new,) = chains(op, rewriter, h)
    assert (count(new, "LSTM"), count(new, "Sigmoid", "Tanh")) == (1, 0)


def test_all_states_may_be_used(op, rewriter):
    states = lstm_cells(op, elements(5), weights())
    (new,) = chains(op, rewriter, *(h for h, _ in states), states[-1][1])
    assert (count(new, "LSTM"), count(new, "Sigmoid", "Tanh")) == (1, 0)


@pytest.mark.parametrize("state_first", [False, True])
def test_elements_and_states_may_be_joined(op, rewriter, state_first):
    """As where the gates of a cell are said to look at both at once."""

    def at_once(x, h, own):
        joined, bias = own
        return op.Add(op.MatMul(op.Concat(*((h, x) if state_first else (x, h)), axis=-1), joined), bias)

    own = [(tensor(Const, f"u{at}", INPUTS + SIZE, SIZE), tensor(Const, f"p{at}", SIZE)) for at in range(4)]
    h = g = tensor(Var, "h", 2, SIZE)
    k, c = h, tensor(Var, "c", 2, SIZE)
    for x in elements(4):
        h = op.Tanh(at_once(x, h, own[0]))
        z, r = (op.Sigmoid(at_once(x, g, one)) for one in own[:2])
        g = mixed(op, z, op.Tanh(at_once(x, op.Mul(r, g), own[2])), g)
        i, o, f, new = (at_once(x, k, one) for one in own)
        c = op.Add(op.Mul(op.Sigmoid(f), c), op.Mul(op.Sigmoid(i), op.Tanh(new)))
        k = op.Mul(op.Sigmoid(o), op.Tanh(c))
    for operator, state in (("RNN", h), ("GRU", g), ("LSTM", k)):
        (new,) = chains(op, rewriter, state)
        assert (count(new, operator), count(new, "Sigmoid", "Tanh")) == (1, 0)


def test_states_of_a_batch_of_any_size_are_parts_of_one_split(op, cutting):
    """Slices of a size that only a run knows could not be written into a model."""
    batch = symbol("b")
    outputs = [hidden for hidden, _ in lstm_cells(op, elements(4, batch=batch), weights(), batch)]
    ((steps, pairs),) = chained(outputs, cutting, lambda: False)
    images = dict(pairs)
    new = [images[output] for output in outputs]
    assert steps and count(new, "LSTM") == 1 and count(new, "Slice") == 0
    assert (batch,) * 4 in splits(new)


def splits(roots):
    """The sizes of the parts of each split."""
    split = (term for term in postorder(roots) if isinstance(term, Apply) and term.operator == "Split")
    return [term.attribute("sizes") for term in split]


@pytest.mark.parametrize("candidate", [early, late, late_before_the_bias])
@pytest.mark.parametrize("mixture", [mixed, moved])
@pytest.mark.parametrize("turned", [False, True])
def test_cells_of_a_gated_recurrent_unit_are_one_operator(op, rewriter, candidate, mixture, turned):
    (new,) = chains(op, rewriter, gru_cells(op, elements(6), weights(gates=3), candidate, mixture, turned)[-1])
    assert (count(new, "GRU"), count(new, "Sigmoid", "Tanh")) == (1, 0)


def test_gates_may_be_slices_of_what_they_are_computed_in(op, cutting):
    shapes = {"w": (INPUTS, 4 * SIZE), "r": (SIZE, 4 * SIZE), "p": (4 * SIZE,)}
    own = [tensor(Const, name, *shape) for name, shape in shapes.items()]
    h, c = (tensor(Var, name, 2, SIZE) for name in "hc")
    states = []
    for x in elements(6):
        joined = affine(op, x, h, own)
        sizes = [(at * SIZE, SIZE, (3 - at) * SIZE) for at in range(4)]
        i, f, g, o = (op.Slice(joined, axis=-1, sizes=one) for one in sizes)
        c = op.Add(op.Mul(op.Sigmoid(f), c), op.Mul(op.Sigmoid(i), op.Tanh(g)))
        h = op.Mul(op.Sigmoid(o), op.Tanh(c))
        states.append(h)
    (new,) = chains(op, cutting, *states)
    assert (count(new, "LSTM"), count(new, "Sigmoid", "Tanh")) == (1, 0)
    assert count(new, "Slice") == 0 and (2,) * 6 in splits(new), "each state is a part of all of them"


@pytest.mark.parametrize("activation", ["Tanh", "Relu"])
@pytest.mark.parametrize("biased", [True, False])
def test_cells_of_an_elman_network_are_one_operator(op, rewriter, activation, biased):
    (own,), h = weights(gates=1), tensor(Var, "h", 2, SIZE)
    for x in elements(5):
        products = op.Add(op.MatMul(x, own[0]), op.MatMul(h, own[1]))
        h = op.apply(activation, (op.Add(products, own[2]) if biased else products,), {})
    (new,) = chains(op, rewriter, h)
    assert (count(new, "RNN"), count(new, activation)) == (1, 0)


def test_cells_without_biases_are_one_operator(op, rewriter):
    h, c = (tensor(Var, name, 2, SIZE) for name in "hc")
    own = [kinds[:2] for kinds in weights()]
    for x in elements(4):
        i, o, f, g = (op.Add(op.MatMul(x, w), op.MatMul(h, r)) for w, r in own)
        c = op.Add(op.Mul(op.Sigmoid(f), c), op.Mul(op.Sigmoid(i), op.Tanh(g)))
        h = op.Mul(op.Sigmoid(o), op.Tanh(c))
    (new,) = chains(op, rewriter, h)
    assert (count(new, "LSTM"), count(new, "Sigmoid", "Tanh")) == (1, 0)


@pytest.mark.parametrize("operator", ["GRU", "LSTM"])
def test_one_cell_alone_is_no_step_of_a_search(op, rewriter, operator):
    if operator == "GRU":
        states = gru_cells(op, elements(1), weights(gates=3))
    else:
        (states,) = lstm_cells(op, elements(1), weights())
    made = [new for step in rewriter.cells(postorder(states)) for _, new in step.replacements]
    assert count(made, operator) > 0
    images = [new for step in rewriter.steps(postorder(states)) for _, new in step.replacements]
    assert count(images, "GRU", "LSTM", "RNN") == 0


def test_operators_of_single_elements_are_joined(op, rewriter):
    shapes = {"w": (1, 4 * SIZE, INPUTS), "r": (1, 4 * SIZE, SIZE), "b": (1, 8 * SIZE)}
    own = [tensor(Const, name, *shape) for name, shape in shapes.items()]
    h, c = (tensor(Var, name, 1, 2, SIZE) for name in "hc")
    for at in range(7):
        whole = op.LSTM(tensor(Var, f"x{at}", 1, 2, INPUTS), *own, h, c)
        h, c = (op.item(whole, output) for output in (1, 2))
    (new,) = chains(op, rewriter, h, c)
    assert count(new, "LSTM") == 1


def test_layers_are_told_apart_by_their_weights(op, rewriter):
    first = lstm_cells(op, elements(4), weights())
    second = lstm_cells(op, [h for h, _ in first], [[tensor(Const, "v", SIZE, SIZE), *one[1:]] for one in weights("b")])
    found = chains(op, rewriter, second[-1][0])
    assert sorted(count(new, "LSTM") for new in found) == [1, 1]
    assert all(count(new, "Tanh") == 8 for new in found)


def test_the_next_layer_is_found_when_the_first_is_one_operator(op, cutting):
    states = lstm_cells(op, elements(4), weights())
    own = [[tensor(Const, f"v{gate}", SIZE, SIZE), *rest] for gate, (_, *rest) in enumerate(weights("b"))]
    outputs = [h for h, _ in lstm_cells(op, [h for h, _ in states], own)]
    for left in (1, 0):
        outputs = min(chains(op, cutting, *outputs), key=lambda new: count(new, "Tanh"))
        assert count(outputs, "Tanh") == 8 * left
    assert count(outputs, "LSTM") == 2


def test_cells_with_weights_of_their_own_at_each_element_are_left_alone(op, rewriter):
    own = [weights(name) for name in "abc"]
    assert not chains(op, rewriter, lstm_cells(op, elements(3), own)[-1][0])


def test_elements_as_wide_as_the_state_are_not_taken_for_it(op, rewriter):
    own = [[tensor(Const, f"w{gate}", SIZE, SIZE), *rest] for gate, (_, *rest) in enumerate(weights())]
    (new,) = chains(op, rewriter, lstm_cells(op, elements(4, SIZE), own)[-1][0])
    assert (count(new, "LSTM"), count(new, "Sigmoid", "Tanh")) == (1, 0)


def test_it_ends_when_there_is_no_time_left(op, rewriter):
    h, _ = lstm_cells(op, elements(3), weights())[-1]
    assert not list(chained([h], rewriter, lambda: True))


class Weighed(FakeCost):
    """An operator over a sequence costs much at once and little for each element, a cell in between."""

    def known(self, unit):
        return 20.0 + len(repr(unit.args[0])) * 1e-6 if unit.operator == "LSTM" else 0.5


def test_a_search_takes_all_cells_at_once_where_one_alone_loses(op, rewriter):
    h, _ = lstm_cells(op, elements(6), weights())[-1]
    cost = Weighed(op)
    one, _ = lstm_cells(op, elements(1), weights())[-1]
    assert cost.cost((one,)) < 20
    search = BacktrackingSearch(op, rewriter, cost, lambda term: True, 1.05, SearchLimits())
    best = min(search.run((h,)).plans, key=lambda plan: plan.cost)
    assert count(best.outputs, "LSTM") == 1
    assert_same_values(op, [h], best.outputs)
