"""What ONNX's recurrent operators have in common: how their operands lie, which forms are covered, what one step is.

Operands are as ONNX has them, for one direction: a sequence x[t, b, i], weights w[1, g*n, i] and r[1, g*n, n] of g
gates one after the other, biases b[1, 2*g*n] for both products, states [1, b, n].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from taso_opt.core.dims import Dim, symbol
from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, Attribute, Term
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.spec.operator import Array, ArrayModule, OnnxCall, OnnxNode, Recurrence, WriteContext
from taso_opt.spec.shared.shapes import same_dims, same_dtype

if TYPE_CHECKING:
    from taso_opt.spec.builder import Builder

TIME = -3
"""The axis of a sequence along which it goes on; of all states it is the fourth from the end."""

ONE_STATE = 2
"""How many outputs an operator with one state has: it after each element, and after the last."""

ROW_RANK = 3
"""The rank of elements and states as ONNX's operators have them."""

SWAP = (-1, -2)
BATCH, IN, N = symbol("b"), symbol("i"), symbol("n")

USUAL: Mapping[str, Any] = {"direction": "forward", "layout": 0, "clip": None}
"""What attributes say of the one form that is covered; others stay opaque."""

NOWHERE = "nowhere"
BIASES = ("behind", "with_x", "with_h", "with_both", NOWHERE)
"""Where models add biases: to the sum of both products, to one of them, one to each, or none at all."""

AT_ONCE = ("at_once", "at_once_state_first")
"""Where elements and states are joined, in either order, so that there is one product, with one bias."""


def infer_recurrent(
    gates: int, x: TensorType, w: TensorType, r: TensorType, b: TensorType, *states: TensorType
) -> tuple[TensorType, ...]:
    """The types of all states and of the last of each; TypeMismatch where the operands do not fit."""
    if [one.rank for one in (x, w, r, b, *states)] != [3, 3, 3, 2, *(3 for _ in states)]:
        raise TypeMismatch(f"expected a sequence, weights, biases and states, found {x}, {w}, {r}, {b} and {states}")
    batch, size = states[0].shape[1:]
    last = TensorType(same_dtype(x, w, r, b, *states), (1, batch, size))
    for state in states:
        same_dims("states", state.shape, last.shape)
    same_dims("weights of the sequence", w.shape, (1, gates * size, x.shape[2]))
    same_dims("weights of the state", r.shape, (1, gates * size, size))
    same_dims("biases", b.shape, (1, 2 * gates * size))
    same_dims("batches", x.shape[1:2], (batch,))
    return TensorType(last.dtype, (x.shape[0], 1, batch, size)), *(last for _ in states)


def all_and_last(
    xp: ArrayModule, step: Recurrence, x: Array, weights: Sequence[Array], states: Sequence[Array]
) -> tuple[Array, ...]:
    """The first state after each element, and each state after the last one."""
    count, batch, _ = xp.shape(x)
    size = xp.shape(states[0])[-1]
    weights, states = ([xp.reshape(one, xp.shape(one)[1:]) for one in group] for group in (weights, states))
    found = xp.iterate(step, x, states, weights)
    return xp.reshape(found[0], (count, 1, batch, size)), *(xp.slice(one, TIME, count - 1, count) for one in found)


def affine(xp: ArrayModule, x: Array, weights: Array, biases: Array, half: int) -> Array:
    """The share of an operand x[b, k] in all gates: x weights^T + b, where b is this half of the biases."""
    size, _ = xp.shape(weights)
    return xp.add(xp.contract("bk,mk->bm", x, weights), xp.slice(biases, -1, half * size, (half + 1) * size))


def gate(xp: ArrayModule, joined: Array, state: Array, number: int) -> Array:
    """One of several gates as large as a state that lie one after the other along the last axis."""
    size = xp.shape(state)[-1]
    return xp.slice(joined, -1, number * size, (number + 1) * size)


def reads_forward(node: OnnxNode, activations: Sequence[str], unnamed: Sequence[str] | None = None) -> bool:
    """Whether a node walks forward through a sequence whose first axis is time, with these functions, unbounded.

    A node that names none has those that ONNX says, `unnamed` where these are others.
    """
    usual = all(node.attribute(name, value) == value for name, value in USUAL.items())
    named = [name.lower() for name in node.attribute("activations", unnamed or activations)]
    return usual and named == [name.lower() for name in activations]


def read_one_state(op: Builder, node: OnnxNode, **attributes: Attribute) -> tuple[Term, ...] | None:
    """The outputs of a node with one state, as the operator of its name; None where a form is not covered."""
    x, w, r, b, lengths, h = (*node.inputs, *(None,) * 6)[:6]
    if lengths is not None or x is None or w is None or r is None or b is None or h is None:
        return None
    whole = op.apply(node.op_type, (x, w, r, b, h), attributes)
    return tuple(op.item(whole, index) for index in range(node.output_count))


def write_one_state(term: Apply, context: WriteContext, **attributes: Any) -> OnnxCall | None:
    """The node of an operator with one state, None where the size of that is not known."""
    x, w, r, b, h = term.args
    size = context.type_of(h).shape[-1]
    if not isinstance(size, int):
        return None
    return OnnxCall(term.operator, (x, w, r, b, None, h), {"hidden_size": size, **attributes}, ONE_STATE)


def one_after_the_other(
    op: Builder, run: Callable[..., Term], x: Term, y: Term, w: Term, r: Term, b: Term, h: Term
) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """Of an operator with one state, what it gives over two sequences at once and over one after the other."""
    every, last = range(ONE_STATE)
    first = run(x, w, r, b, h)
    second = run(y, w, r, b, op.item(first, last))
    whole = run(op.Concat(x, y, axis=TIME), w, r, b, h)
    before, behind, between = of_sequences(op, op.item(whole, every), x, y)
    known = (second, last), (second, every), (first, every), (first, last)
    return (op.item(whole, last), behind, before, between), tuple(op.item(*one) for one in known)


def parts(op: Builder, joined: Term, count: int) -> list[Term]:
    """As many parts of the last axis, each of the size n."""
    split = op.Split(joined, axis=-1, sizes=(N,) * count)
    return [op.item(split, number) for number in range(count)]


def one_row(op: Builder, state: Term) -> Term:
    """A state [b, n], or an element [b, i], as one of one direction, or as a sequence of one."""
    return op.Reshape(state, shape=(1, *op.type(state).shape))


def without_row(op: Builder, state: Term) -> Term:
    """The same the other way round."""
    return op.Reshape(state, shape=op.type(state).shape[1:])


def in_row(op: Builder, state: Term) -> Term:
    """A state or an element of a cell as ONNX's operators have it, which it may be as it is."""
    return state if op.type(state).rank == ROW_RANK else one_row(op, state)


def as_in_cell(op: Builder, state: Term, before: Term) -> Term:
    """A state of ONNX's operators as the cell has the one before it."""
    return state if op.type(before).rank == ROW_RANK else without_row(op, state)


def packed(op: Builder, own: Sequence[Sequence[Term]]) -> tuple[Term, Term, Term]:
    """What each gate has of its own, [i, n], [n, n] and up to two biases [n], as ONNX's operators have it of all."""
    w, r, *biases = zip(*own, strict=True)
    of_x, of_h = (one_row(op, op.Transpose(_side_by_side(op, one), perm=SWAP)) for one in (w, r))
    if not biases:
        return of_x, of_h, op.Expand(literal(0), shape=(1, 2 * N * len(own)))
    joined = _side_by_side(op, [one for half in biases for one in half])
    both = joined if len(biases) == 2 else op.Pad(joined, pads=(0, N * len(own)))
    return of_x, of_h, one_row(op, both)


def _side_by_side(op: Builder, terms: Sequence[Term]) -> Term:
    return op.Concat(*terms, axis=-1) if len(terms) > 1 else terms[0]


def sum_of(op: Builder, where: str, x: Term, h: Term, *weights: Term) -> Term:
    """What goes into a gate: both products and biases."""
    if where in AT_ONCE:
        joined, bias = weights
        return op.Add(op.MatMul(op.Concat(*_in_order(where, x, h), axis=-1), joined), bias)
    w, r, *biases = weights
    of_x, of_h = op.MatMul(x, w), op.MatMul(h, r)
    if where == NOWHERE:
        return op.Add(of_x, of_h)
    if where == "with_both":
        return op.Add(op.Add(of_x, biases[0]), op.Add(of_h, biases[1]))
    if where == "behind":
        return op.Add(op.Add(of_x, of_h), *biases)
    return op.Add(op.Add(of_x, *biases), of_h) if where == "with_x" else op.Add(of_x, op.Add(of_h, *biases))


def _in_order(where: str, of_element: Any, of_state: Any) -> tuple[Any, Any]:
    """What belongs to elements and to states, in the order in which models join these."""
    return (of_element, of_state) if where == AT_ONCE[0] else (of_state, of_element)


def apart(op: Builder, where: str, weights: Sequence[Term]) -> list[Term]:
    """Weights of the elements and of the state, and biases, from what models have of them."""
    if where not in AT_ONCE:
        return list(weights)
    joined, bias = weights
    split = op.Split(joined, axis=-2, sizes=_in_order(where, IN, N))
    return [*_in_order(where, op.item(split, 0), op.item(split, 1)), bias]


def products(op: Builder, gates: int, x: Term, w: Term, r: Term, b: Term, h: Term) -> tuple[Term, Term]:
    """What one element and the state add to all gates, from weights [g*n, k] and biases [2*g*n]."""
    halves = op.Split(b, axis=-1, sizes=(N * gates, N * gates))
    of_x, of_h = (
        op.Add(op.MatMul(one, op.Transpose(weights, perm=SWAP)), op.item(halves, half))
        for half, (one, weights) in enumerate(((x, w), (h, r)))
    )
    return of_x, of_h


def of_sequences(op: Builder, states: Term, x: Term, y: Term) -> tuple[Term, Term, Term]:
    """Of all states [t + s, 1, b, n] those of the first sequence, of the second, and the last of the first.

    They are cut from rows, as which models have the states of single elements.
    """
    first, second = (op.type(one).shape[0] for one in (x, y))
    rows = op.Reshape(states, shape=((first + second) * BATCH, N))

    def cut(before: Dim, kept: Dim, behind: Dim) -> Term:
        return op.Slice(rows, axis=-2, sizes=(before * BATCH, kept * BATCH, behind * BATCH))

    return (
        op.Reshape(cut(0, first, second), shape=(first, 1, BATCH, N)),
        op.Reshape(cut(first, second, 0), shape=(second, 1, BATCH, N)),
        op.Reshape(cut(first - 1, 1, second), shape=(1, BATCH, N)),
    )


KINDS = {"u": "i+n {}n", "w": "i {}n", "r": "n {}n", "p": "{}n", "q": "{}n"}
"""Weights of both, of the elements and of the state, and biases of both, of one gate or of several."""


def _kinds(where: str) -> str:
    """What there is of weights and biases where biases are in this place."""
    return "up" if where in AT_ONCE else {NOWHERE: "wr", "with_both": "wrpq"}.get(where, "wrp")


def cell_schemes(states: Sequence[str], weights: Mapping[str, str]) -> tuple[dict[str, str], ...]:
    """The schemes of a cell's element, states and weights: without ONNX's axis of directions, and with it."""
    rows = ({"x": f"{axis}b i", **dict.fromkeys(states, f"{axis}b n")} for axis in ("", "1 "))
    return tuple({**row, **weights} for row in rows)


def weight_schemes(where: str, gates: int) -> dict[str, str]:
    """The schemes of what each of several gates has of its own, with biases in this place."""
    return {f"{kind}{number}": KINDS[kind].format("") for kind in _kinds(where) for number in range(gates)}


def by_gate(weights: Mapping[str, Term], gates: int) -> list[list[Term]]:
    """What each gate has of its own, as models have it."""
    named = ([f"{kind}{number}" for kind in KINDS] for number in range(gates))
    return [[weights[name] for name in names if name in weights] for names in named]


def joined_schemes(where: str, gates: int) -> dict[str, str]:
    """The schemes of what several gates have together."""
    return {kind: KINDS[kind].format(f"{gates}*") for kind in _kinds(where)}


def of_joined(
    op: Builder, where: str, order: Sequence[int], x: Term, h: Term, weights: Mapping[str, Term]
) -> tuple[list[Term], list[list[Term]]]:
    """What goes into each gate, and what each has of its own, where all are computed together in this order."""
    gates = parts(op, joined_sum(op, where, x, h, weights), len(order))
    return [gates[order.index(number)] for number in range(len(order))], own_of_joined(op, where, order, weights)


def joined_sum(op: Builder, where: str, x: Term, h: Term, weights: Mapping[str, Term]) -> Term:
    """What goes into all gates that are computed together, one behind the other."""
    return sum_of(op, where, x, h, *_together(weights))


def own_of_joined(op: Builder, where: str, order: Sequence[int], weights: Mapping[str, Term]) -> list[list[Term]]:
    """What each gate has of its own of what they have together in this order."""
    places = [order.index(number) for number in range(len(order))]
    return [[parts(op, one, len(order))[place] for one in apart(op, where, _together(weights))] for place in places]


def _together(weights: Mapping[str, Term]) -> list[Term]:
    return [weights[kind] for kind in KINDS if kind in weights]
