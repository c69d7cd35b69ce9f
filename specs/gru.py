"""Gated recurrent unit: ONNX's GRU over a sequence, forward, with biases and the state before the first element.

The results are all states [t, 1, b, n] and the last one. Gates stand in the order update, reset, candidate; with
`linear_before_reset` the reset gate is applied to the product of the state, else to the state.
"""

from functools import partial

from taso_opt.core.literal import literal
from taso_opt.spec import Axiom, Operator, Spelling, definition
from taso_opt.spec.shared.recurrent import (
    AT_ONCE,
    BIASES,
    NOWHERE,
    ONE_STATE,
    SWAP,
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
    one_after_the_other,
    one_row,
    packed,
    parts,
    products,
    read_one_state,
    reads_forward,
    sum_of,
    weight_schemes,
    without_row,
    write_one_state,
)
from taso_opt.spec.shared.shapes import check_flag
from taso_opt.spec.shared.transcendental import SIGMOID, TANH

GATES = 3
ACTIVATIONS = ("Sigmoid", "Tanh")
ALL, LAST = range(ONE_STATE)


def infer(x, w, r, b, h, linear_before_reset):
    check_flag("linear_before_reset", linear_before_reset)
    return infer_recurrent(GATES, x, w, r, b, h)


def evaluate(xp, x, w, r, b, h, linear_before_reset):
    return all_and_last(xp, late_reset if linear_before_reset else early_reset, x, (w, r, b), (h,))


def late_reset(xp, x, state, weights):
    """The state after one more element, where its product is reset."""
    (h,), (w, r, b) = state, weights
    of_x, of_h = affine(xp, x, w, b, 0), affine(xp, h, r, b, 1)
    update, reset = (xp.apply(SIGMOID, xp.add(gate(xp, of_x, h, at), gate(xp, of_h, h, at))) for at in range(2))
    return _state(xp, h, update, xp.add(gate(xp, of_x, h, 2), xp.multiply(reset, gate(xp, of_h, h, 2))))


def early_reset(xp, x, state, weights):
    """The same where the state is reset."""
    (h,), (w, r, b) = state, weights
    of_x, of_h = affine(xp, x, w, b, 0), affine(xp, h, r, b, 1)
    update, reset = (xp.apply(SIGMOID, xp.add(gate(xp, of_x, h, at), gate(xp, of_h, h, at))) for at in range(2))
    of_reset = affine(xp, xp.multiply(reset, h), r, b, 1)
    return _state(xp, h, update, xp.add(gate(xp, of_x, h, 2), gate(xp, of_reset, h, 2)))


def _state(xp, h, update, candidate):
    new = xp.apply(TANH, candidate)
    return (xp.add(new, xp.multiply(update, xp.subtract(h, new))),)


def read(op, node):
    late = int(bool(node.attribute("linear_before_reset", 0)))
    return read_one_state(op, node, linear_before_reset=late) if reads_forward(node, ACTIVATIONS) else None


def write(term, context):
    return write_one_state(term, context, linear_before_reset=term.attribute("linear_before_reset"))


OPERATOR = Operator(
    "GRU",
    infer=infer,
    evaluate=evaluate,
    spelling=Spelling(("GRU",), read, write),
    arity=5,
    outputs=ONE_STATE,
    defined=True,
)


def _mixed(op, update, new, h):
    return op.Add(op.Mul(op.Sub(literal(1), update), new), op.Mul(update, h))


def _moved(op, update, new, h):
    return op.Add(new, op.Mul(update, op.Sub(h, new)))


MIXTURES = {"mixed": _mixed, "moved": _moved}
"""How models say that the state is kept as far as the update gate says, and else the candidate is taken."""

TURNED = {
    "mixed_the_other_way": lambda op, update, new, h: _mixed(op, update, h, new),
    "moved_the_other_way": lambda op, update, new, h: _moved(op, update, h, new),
    "moved_away": lambda op, update, new, h: op.Sub(h, op.Mul(update, op.Sub(h, new))),
}
"""The same where the candidate is taken as far as the update gate says, as in the first papers on such units."""


@definition(respelled=False)
def gru_step_with_late_reset(op, x: "1 b i", w: "1 3*n i", r: "1 3*n n", b: "1 6*n", h: "1 b n"):
    of_x, of_h = products(op, GATES, *map(partial(without_row, op), (x, w, r, b, h)))
    (kept, late), (kept_of_h, late_of_h) = (_candidate_apart(op, one) for one in (of_x, of_h))
    update, reset = parts(op, op.Sigmoid(op.Add(kept, kept_of_h)), 2)
    new = op.Tanh(op.Add(late, op.Mul(reset, late_of_h)))
    return _results(op, op.GRU(x, w, r, b, h, linear_before_reset=1), _moved(op, update, new, without_row(op, h)))


@definition(respelled=False)
def gru_step_with_early_reset(op, x: "1 b i", w: "1 3*n i", r: "1 3*n n", b: "1 6*n", h: "1 b n"):
    element, of_element, of_state, biases, state = map(partial(without_row, op), (x, w, r, b, h))
    halves = op.Split(biases, axis=-1, sizes=(N * GATES, N * GATES))
    of_x = op.Add(op.MatMul(element, op.Transpose(of_element, perm=SWAP)), op.item(halves, 0))
    weights = op.Transpose(of_state, perm=SWAP)
    kept, own, bias = (_candidate_apart(op, one) for one in (of_x, weights, op.item(halves, 1)))
    update, reset = parts(op, op.Sigmoid(op.Add(kept[0], op.Add(op.MatMul(state, own[0]), bias[0]))), 2)
    new = op.Tanh(op.Add(kept[1], op.Add(op.MatMul(op.Mul(reset, state), own[1]), bias[1])))
    return _results(op, op.GRU(x, w, r, b, h, linear_before_reset=0), _moved(op, update, new, state))


def _candidate_apart(op, joined):
    """What belongs to the update and reset gates, and what to the candidate."""
    split = op.Split(joined, axis=-1, sizes=(2 * N, N))
    return op.item(split, 0), op.item(split, 1)


def _results(op, whole, state):
    last = one_row(op, state)
    return tuple(op.item(whole, output) for output in (ALL, LAST)), (one_row(op, last), last)


@definition(linear_before_reset=(0, 1), respelled=False)
def gru_goes_on(op, x: "t b i", y: "s b i", w: "1 3*n i", r: "1 3*n n", b: "1 6*n", h: "1 b n", linear_before_reset):
    return one_after_the_other(op, partial(op.GRU, linear_before_reset=linear_before_reset), x, y, w, r, b, h)


def _step_of_gates(where, mixture, late, of_candidate=None):
    """One element, where each gate has weights of its own; the candidate's biases may be elsewhere."""
    there = of_candidate or where

    def law(op, x, h, **weights):
        own = by_gate(weights, GATES)
        update, reset = (op.Sigmoid(sum_of(op, where, x, h, *one)) for one in own[:2])
        late_or_early = partial(_late_sum, op, there, reset) if late else partial(_early_sum, op, there, reset)
        new = op.Tanh(late_or_early(x, h, *own[2]))
        own = [apart(op, where, one) for one in own]
        if len(own[2]) > len(own[0]):  # the gates have no bias beside the state
            own = [*([*one, op.Expand(literal(0), shape=(N,))] for one in own[:2]), own[2]]
        if mixture in TURNED:  # what is 1 less a gate is the gate of the negated sum
            own = [[op.Neg(one) for one in own[0]], *own[1:]]
            return _last(op, x, h, own, late), TURNED[mixture](op, update, new, h)
        return _last(op, x, h, own, late), MIXTURES[mixture](op, update, new, h)

    more = {"q2": "n"} if there == "with_both" != where else {}
    schemes = cell_schemes("h", {**weight_schemes(where, GATES), **more})
    name = f"gru_step_of_gates_{mixture}_with_{'late' if late else 'early'}_reset_and_biases_{where}"
    return Axiom(name if of_candidate is None else f"{name}_or_{there}", law, schemes, {}, respelled=False)


def _early_sum(op, where, reset, x, h, *weights):
    return sum_of(op, where, x, op.Mul(reset, h), *weights)


def _late_sum(op, where, reset, x, h, w, r, *biases):
    """What goes into the candidate where the product of the state is reset."""
    if where == "behind":
        return op.Add(op.Add(op.MatMul(x, w), op.Mul(reset, op.MatMul(h, r))), *biases)
    of_x, of_h = _affine(op, x, h, w, r, *biases)
    return op.Add(of_x, op.Mul(reset, of_h))


def _step_of_joined_gates(where, mixture, order):
    """The same where all gates are computed together, so that the product of the state is reset."""

    def law(op, x, h, **weights):
        w, r, *biases = weights.values()
        of_x, of_h = ([parts(op, one, GATES)[at] for at in order] for one in _affine(op, x, h, w, r, *biases))
        own = [[parts(op, one, GATES)[at] for one in weights.values()] for at in order]
        update, reset = (op.Sigmoid(op.Add(of_x[at], of_h[at])) for at in range(2))
        candidate = op.Add(of_x[2], op.Mul(reset, of_h[2]))
        return _last(op, x, h, own, 1), MIXTURES[mixture](op, update, op.Tanh(candidate), h)

    schemes = cell_schemes("h", joined_schemes(where, GATES))
    name = f"gru_step_of_gates_{''.join('zrh'[number] for number in order)}_{mixture}_with_biases_{where}"
    return Axiom(name, law, schemes, {}, respelled=False)


def _step_of_joined_pair(where, mixture):
    """The same where the reset and the update gate are computed and activated together, as in TensorFlow 1."""

    def law(op, x, h, u, p, u2, p2):
        gates = parts(op, op.Sigmoid(sum_of(op, where, x, h, u, p)), 2)
        reset, update = gates
        new = op.Tanh(_early_sum(op, where, reset, x, h, u2, p2))
        w, r, b = ([parts(op, one, 2)[at] for at in (1, 0)] for one in apart(op, where, (u, p)))
        own = [*zip(w, r, b, strict=True), apart(op, where, (u2, p2))]
        return _last(op, x, h, own, 0), MIXTURES[mixture](op, update, new, h)

    schemes = cell_schemes("h", {"u": "i+n 2*n", "p": "2*n", "u2": "i+n n", "p2": "n"})
    name = f"gru_step_of_activated_gates_rz_{mixture}_with_biases_{where}"
    return Axiom(name, law, schemes, {}, respelled=False)


def _affine(op, x, h, w, r, p=None, q=None):
    of_x, of_h = op.MatMul(x, w), op.MatMul(h, r)
    return of_x if p is None else op.Add(of_x, p), of_h if q is None else op.Add(of_h, q)


def _last(op, x, h, own, late):
    whole = op.GRU(in_row(op, x), *packed(op, own), in_row(op, h), linear_before_reset=late)
    return as_in_cell(op, op.item(whole, LAST), h)


LATE = ("with_x", "with_both", NOWHERE)
"""Where biases are of which the reset gate may leave the one of the elements alone."""

ORDERS = ((0, 1, 2), (1, 0, 2))
"""Those of ONNX and Keras, and of PyTorch."""

DEFINITIONS = (
    *(_step_of_gates(where, mixture, 0) for where in (*BIASES, *AT_ONCE) for mixture in (*MIXTURES, *TURNED)),
    *(_step_of_gates(where, mixture, 1) for where in (*LATE, "behind") for mixture in (*MIXTURES, *TURNED)),
    *(
        _step_of_gates(where, mixture, 1, of_candidate=there)
        for where, there in (("behind", "with_x"), ("behind", "with_both"), ("with_x", "with_both"))
        for mixture in (*MIXTURES, *TURNED)
    ),
    *(_step_of_joined_gates(where, mixture, order) for where in LATE for mixture in MIXTURES for order in ORDERS),
    *(_step_of_joined_pair(where, mixture) for where in AT_ONCE for mixture in MIXTURES),
)
