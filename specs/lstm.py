"""Long short-term memory: ONNX's LSTM over a sequence, forward, with biases and both states before the first element.

The results are all hidden states [t, 1, b, n] and the last of both states. Gates stand in the order input, output,
forget, cell.
"""

from functools import partial

from taso_opt.spec import Axiom, OnnxCall, Operator, Spelling, definition
from taso_opt.spec.shared.recurrent import (
    AT_ONCE,
    BIASES,
    TIME,
    N,
    affine,
    all_and_last,
    apart,
    as_in_cell,
    by_gate,
    cell_schemes,
    gate,
    in_row,
    infer_recurrent,
    joined_schemes,
    joined_sum,
    of_joined,
    of_sequences,
    one_row,
    own_of_joined,
    packed,
    parts,
    products,
    reads_forward,
    sum_of,
    weight_schemes,
    without_row,
)
from taso_opt.spec.shared.transcendental import SIGMOID, TANH

GATES = 4
ACTIVATIONS = ("Sigmoid", "Tanh", "Tanh")
ALL, HIDDEN, CELL = range(3)
FORGET = 2


def evaluate(xp, x, w, r, b, h, c):
    return all_and_last(xp, step, x, (w, r, b), (h, c))


def step(xp, x, state, weights):
    """Both states after one more element."""
    (h, c), (w, r, b) = state, weights
    joined = xp.add(affine(xp, x, w, b, 0), affine(xp, h, r, b, 1))
    i, o, f, g = (gate(xp, joined, h, number) for number in range(GATES))
    i, o, f = (xp.apply(SIGMOID, one) for one in (i, o, f))
    cell = xp.add(xp.multiply(f, c), xp.multiply(i, xp.apply(TANH, g)))
    return xp.multiply(o, xp.apply(TANH, cell)), cell


def read(op, node):
    x, w, r, b, lengths, h, c, peepholes = (*node.inputs, *(None,) * 8)[:8]
    covered = reads_forward(node, ACTIVATIONS) and not node.attribute("input_forget", 0)
    if not covered or lengths is not None or peepholes is not None or None in (b, h, c):
        return None
    whole = op.LSTM(x, w, r, b, h, c)
    return tuple(op.item(whole, index) for index in range(node.output_count))


def write(term, context):
    x, w, r, b, h, c = term.args
    size = context.type_of(h).shape[-1]
    if not isinstance(size, int):
        return None
    return OnnxCall("LSTM", (x, w, r, b, None, h, c), {"hidden_size": size}, OPERATOR.outputs)


OPERATOR = Operator(
    "LSTM",
    infer=partial(infer_recurrent, GATES),
    evaluate=evaluate,
    spelling=Spelling(("LSTM",), read, write),
    arity=6,
    outputs=3,
    defined=True,
)


def _states(op, c, i, o, f, g):
    return _new_states(op, c, *map(op.Sigmoid, (i, o, f)), g)


def _new_states(op, c, i, o, f, g):
    """Both states by gates that are between 0 and 1."""
    cell = op.Add(op.Mul(f, c), op.Mul(i, op.Tanh(g)))
    return op.Mul(o, op.Tanh(cell)), cell


@definition(respelled=False)
def lstm_step(op, x: "1 b i", w: "1 4*n i", r: "1 4*n n", b: "1 8*n", h: "1 b n", c: "1 b n"):
    whole = op.LSTM(x, w, r, b, h, c)
    joined = op.Add(*products(op, GATES, *map(partial(without_row, op), (x, w, r, b, h))))
    hidden, cell = (one_row(op, state) for state in _states(op, without_row(op, c), *parts(op, joined, GATES)))
    return tuple(op.item(whole, output) for output in (ALL, HIDDEN, CELL)), (one_row(op, hidden), hidden, cell)


@definition(respelled=False)
def lstm_goes_on(op, x: "t b i", y: "s b i", w: "1 4*n i", r: "1 4*n n", b: "1 8*n", h: "1 b n", c: "1 b n"):
    first = op.LSTM(x, w, r, b, h, c)
    second = op.LSTM(y, w, r, b, op.item(first, HIDDEN), op.item(first, CELL))
    whole = op.LSTM(op.Concat(x, y, axis=TIME), w, r, b, h, c)
    before, behind, hidden = of_sequences(op, op.item(whole, ALL), x, y)
    parts_of_whole = op.item(whole, HIDDEN), op.item(whole, CELL), behind, before, hidden
    known = (second, HIDDEN), (second, CELL), (second, ALL), (first, ALL), (first, HIDDEN)
    return parts_of_whole, tuple(op.item(*one) for one in known)


def _step_of_gates(where):
    """One element, where each gate has weights of its own."""

    def law(op, x, h, c, **weights):
        own = by_gate(weights, GATES)
        gates = (sum_of(op, where, x, h, *one) for one in own)
        return _last(op, x, h, c, [apart(op, where, one) for one in own]), _states(op, c, *gates)

    schemes = cell_schemes("hc", weight_schemes(where, GATES))
    return Axiom(f"lstm_step_of_gates_with_biases_{where}", law, schemes, {}, respelled=False)


def _step_of_joined_gates(where, order):
    """The same where all gates are computed together."""

    def law(op, x, h, c, **weights):
        gates, own = of_joined(op, where, order, x, h, weights)
        return _last(op, x, h, c, own), _states(op, c, *gates)

    return _of_joined(f"lstm_step_of_gates_{_letters(order)}_with_biases_{where}", law, where)


def _step_of_joined_activations(where, order):
    """The same where the gates of one activation are activated together, the candidate behind them."""

    def law(op, x, h, c, **weights):
        joined = op.Split(joined_sum(op, where, x, h, weights), axis=-1, sizes=(N * (GATES - 1), N))
        gates = parts(op, op.Sigmoid(op.item(joined, 0)), GATES - 1)
        states = _new_states(op, c, *(gates[order.index(number)] for number in range(GATES - 1)), op.item(joined, 1))
        return _last(op, x, h, c, own_of_joined(op, where, order, weights)), states

    return _of_joined(f"lstm_step_of_activated_gates_{_letters(order)}_with_biases_{where}", law, where)


def _step_with_forget_bias(where, order):
    """The same where a number is added to what goes into the forget gate, as TensorFlow 1 does it."""

    def law(op, x, h, c, s, **weights):
        (i, o, f, g), own = of_joined(op, where, order, x, h, weights)
        return _last(op, x, h, c, _with_forget_bias(op, own, s)), _states(op, c, i, o, op.Add(f, s), g)

    return _of_joined(f"lstm_step_of_gates_{_letters(order)}_with_forget_bias_and_biases_{where}", law, where, s="")


def _step_of_gates_with_forget_bias(where):
    """The same where each gate has weights of its own."""

    def law(op, x, h, c, s, **weights):
        gates = by_gate(weights, GATES)
        i, o, f, g = (sum_of(op, where, x, h, *one) for one in gates)
        own = _with_forget_bias(op, [apart(op, where, one) for one in gates], s)
        return _last(op, x, h, c, own), _states(op, c, i, o, op.Add(f, s), g)

    schemes = cell_schemes("hc", {"s": "", **weight_schemes(where, GATES)})
    return Axiom(f"lstm_step_of_gates_with_forget_bias_and_biases_{where}", law, schemes, {}, respelled=False)


def _with_forget_bias(op, own, s):
    """What each gate has of its own where a number is added to what goes into the forget gate."""
    *others, bias = own[FORGET]
    return [*own[:FORGET], [*others, op.Add(bias, s)], *own[FORGET + 1 :]]


def _of_joined(name, law, where, **more):
    schemes = cell_schemes("hc", {**more, **joined_schemes(where, GATES)})
    return Axiom(name, law, schemes, {}, respelled=False)


def _letters(order):
    return "".join("iofg"[number] for number in order)


def _last(op, x, h, c, own):
    whole = op.LSTM(in_row(op, x), *packed(op, own), in_row(op, h), in_row(op, c))
    return tuple(as_in_cell(op, op.item(whole, output), h) for output in (HIDDEN, CELL))


OF_PYTORCH, OF_TENSORFLOW, OF_ONNX, SIDE_BY_SIDE = (0, 2, 3, 1), (0, 3, 2, 1), (0, 1, 2, 3), (0, 2, 1, 3)
"""Orders of gates: PyTorch's is that of Keras too; in the last the gates of one activation are side by side."""

ORDERS = (OF_PYTORCH, OF_TENSORFLOW, OF_ONNX, SIDE_BY_SIDE)

ONE_BIAS = ("behind", "with_x", "with_h", *AT_ONCE)

DEFINITIONS = (
    *map(_step_of_gates, (*BIASES, *AT_ONCE)),
    *(_step_of_joined_gates(where, order) for where in (*BIASES, *AT_ONCE) for order in ORDERS),
    *(_step_of_joined_activations(where, order) for where in (*BIASES, *AT_ONCE) for order in (OF_ONNX, SIDE_BY_SIDE)),
    *(_step_with_forget_bias(where, order) for where in ONE_BIAS for order in (OF_PYTORCH, OF_TENSORFLOW)),
    *map(_step_of_gates_with_forget_bias, ONE_BIAS),
)
