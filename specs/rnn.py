"""Elman's network: ONNX's RNN over a sequence, forward, with biases and the state before the first element.

The results are all states [t, 1, b, n] and the last one.
"""

from functools import partial

from taso_opt.errors import TypeMismatch
from taso_opt.spec import Axiom, Operator, Spelling, definition
from taso_opt.spec.shared.piecewise import RELU
from taso_opt.spec.shared.recurrent import (
    AT_ONCE,
    BIASES,
    ONE_STATE,
    affine,
    all_and_last,
    apart,
    as_in_cell,
    by_gate,
    cell_schemes,
    in_row,
    infer_recurrent,
    one_after_the_other,
    one_row,
    packed,
    products,
    read_one_state,
    reads_forward,
    sum_of,
    weight_schemes,
    without_row,
    write_one_state,
)
from taso_opt.spec.shared.transcendental import TANH

GATES = 1
ACTIVATIONS = ("Tanh", "Relu")
ALL, LAST = range(ONE_STATE)


def infer(x, w, r, b, h, activation):
    if activation not in ACTIVATIONS:
        raise TypeMismatch(f"expected an activation of RNN among {', '.join(ACTIVATIONS)}, found {activation!r}")
    return infer_recurrent(GATES, x, w, r, b, h)


def evaluate(xp, x, w, r, b, h, activation):
    return all_and_last(xp, tanh_step if activation == "Tanh" else relu_step, x, (w, r, b), (h,))


def tanh_step(xp, x, state, weights):
    """The state after one more element."""
    return (xp.apply(TANH, _joined(xp, x, *state, *weights)),)


def relu_step(xp, x, state, weights):
    """The same with the other activation."""
    return (xp.apply(RELU, _joined(xp, x, *state, *weights)),)


def _joined(xp, x, h, w, r, b):
    return xp.add(affine(xp, x, w, b, 0), affine(xp, h, r, b, 1))


def read(op, node):
    activation = next((name for name in ACTIVATIONS if reads_forward(node, (name,), ACTIVATIONS[:1])), None)
    return None if activation is None else read_one_state(op, node, activation=activation)


def write(term, context):
    return write_one_state(term, context, activations=[term.attribute("activation")])


OPERATOR = Operator(
    "RNN",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("RNN",), read, write),
    arity=5,
    outputs=ONE_STATE,
    defined=True,
)


@definition(activation=ACTIVATIONS, respelled=False)
def rnn_step(op, x: "1 b i", w: "1 n i", r: "1 n n", b: "1 2*n", h: "1 b n", activation):
    whole = op.RNN(x, w, r, b, h, activation=activation)
    joined = op.Add(*products(op, GATES, *map(partial(without_row, op), (x, w, r, b, h))))
    last = one_row(op, op.apply(activation, (joined,), {}))
    return tuple(op.item(whole, output) for output in (ALL, LAST)), (one_row(op, last), last)


@definition(activation=ACTIVATIONS, respelled=False)
def rnn_goes_on(op, x: "t b i", y: "s b i", w: "1 n i", r: "1 n n", b: "1 2*n", h: "1 b n", activation):
    return one_after_the_other(op, partial(op.RNN, activation=activation), x, y, w, r, b, h)


def _step(where, activation):
    """One element in the words of models."""

    def law(op, x, h, **weights):
        (own,) = by_gate(weights, GATES)
        whole = op.RNN(in_row(op, x), *packed(op, [apart(op, where, own)]), in_row(op, h), activation=activation)
        state = op.apply(activation, (sum_of(op, where, x, h, *own),), {})
        return as_in_cell(op, op.item(whole, LAST), h), state

    schemes = cell_schemes("h", weight_schemes(where, GATES))
    return Axiom(f"rnn_step_of_{activation.lower()}_with_biases_{where}", law, schemes, {}, respelled=False)


DEFINITIONS = tuple(_step(where, activation) for where in (*BIASES, *AT_ONCE) for activation in ACTIVATIONS)
