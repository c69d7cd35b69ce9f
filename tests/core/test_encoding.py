"""Terms go through JSON and come back as the same objects."""

import json

import pytest

from taso_opt.core.dims import symbol
from taso_opt.core.encoding import decoded, encoded
from taso_opt.core.term import Apply, Const, Item, Var, attributes_of
from taso_opt.core.types import TensorType

N = symbol("n")
X = Var("x", TensorType("float32", (2 * N + 1, 4)))
W = Const("w", TensorType("float32", (4, 4)))
SPLIT = Apply("Split", (Apply("MatMul", (X, W)),), attributes_of({"axis": -1, "sizes": (1, (N * N, 3))}))


def through_json(roots):
    rows, places = encoded(roots)
    terms = decoded(json.loads(json.dumps(rows)))
    return [terms[places[root]] for root in roots]


@pytest.mark.parametrize(
    "root",
    [
        X,
        W,
        SPLIT,
        Item(SPLIT, 1),
        Apply("Clip", (X,), attributes_of({"high": float("inf"), "low": -0.1, "mode": "a", "open": True})),
        Apply("Expand", (X,), attributes_of({"to": TensorType("float32", (N, 4)), "zero": 0.0, "whole": 0})),
    ],
)
def test_terms_come_back_as_they_were(root):
    assert through_json([root])[0] is root


def test_what_terms_share_is_written_once():
    deep = X
    for _ in range(3000):
        deep = Apply("Add", (deep, deep))
    rows, places = encoded([deep, Apply("Relu", (deep,))])
    assert len(rows) == 3002 == len(places)
    assert decoded(rows)[places[deep]] is deep


@pytest.mark.parametrize(
    "rows",
    [
        [["var", [], "x", "float32"]],
        [["item", [0], 0]],
        [["var", [], "x", {"type": ["float32", 2]}], ["item", [0], 0]],
        [["call", [], "x", {"type": ["float32", 2]}]],
        [["apply", [1], "Relu", {}]],
        [["apply", []]],
    ],
)
def test_what_is_no_term_is_refused(rows):
    with pytest.raises((ValueError, TypeError, IndexError)):
        decoded(rows)
