"""Elman's network: ONNX's RNN over a sequence, forward, with biases and the state before the first element.

The results are all states [t, 1, b, n] and the last one.
"""

from functools import partial

from taso_opt.spec import Axiom, OnnxCall, Operator, Spelling, definition
from taso_opt.spec.piecewise import RELU
from taso_opt.spec.recurrent import (
    BIASES,
    TIME,
    affine,
    all_and_last,
    by_gate,
    infer_recurrent,
    of_sequences,
    one_row,
    packed,
    products,
    reads_forward,
    sum_of,
    weight_schemes,
    without_row,
)
from taso_opt.spec.transcendental import TANH

GATES = 1
ACTIVATIONS = ("Tanh", "Relu")
ALL, LAST = range(2)


def infer(x, w, r, b, h, activation):
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
    x, w, r, b, lengths, h = (*node.inputs, *(None,) * 6)[:6]
    activation = next((name for name in ACTIVATIONS if reads_forward(node, (name,), ACTIVATIONS[:1])), None)
    if activation is None or lengths is not None or None in (b, h):
        return None
    whole = op.RNN(x, w, r, b, h, activation=activation)
    return tuple(op.item(whole, index) for index in range(node.output_count))


def write(term, context):
    x, w, r, b, h = term.args
    size, activation = context.type_of(h).shape[-1], term.attribute("activation")
    if not isinstance(size, int):
        return None
    return OnnxCall("RNN", (x, w, r, b, None, h), {"hidden_size": size, "activations": [activation]}, OPERATOR.outputs)


OPERATOR = Operator(
    "RNN",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("RNN",), read, write),
    arity=5,
    outputs=2,
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
    run = partial(op.RNN, activation=activation)
    first = run(x, w, r, b, h)
    second = run(y, w, r, b, op.item(first, LAST))
    whole = run(op.Concat(x, y, axis=TIME), w, r, b, h)
    before, behind, last = of_sequences(op, op.item(whole, ALL), x, y)
    known = (second, LAST), (second, ALL), (first, ALL), (first, LAST)
    return (op.item(whole, LAST), behind, before, last), tuple(op.item(*one) for one in known)


def _step(where, activation):
    """One element in the words of models."""

    def law(op, x, h, **weights):
        (own,) = by_gate(weights, GATES)
        whole = op.RNN(one_row(op, x), *packed(op, [own]), one_row(op, h), activation=activation)
        state = op.apply(activation, (sum_of(op, where, x, h, *own),), {})
        return without_row(op, op.item(whole, LAST)), state

    schemes = {"x": "b i", "h": "b n", **weight_schemes(where, GATES)}
    return Axiom(f"rnn_step_of_{activation.lower()}_with_biases_{where}", law, (schemes,), {}, respelled=False)


DEFINITIONS = tuple(_step(where, activation) for where in BIASES for activation in ACTIVATIONS)
