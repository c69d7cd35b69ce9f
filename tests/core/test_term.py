"""Terms: interning, traversal without recursion and replacement."""

import gc
import pickle

from taso_opt.core.term import Apply, Const, Item, Var, bottom_up, opened, operator_count, postorder
from taso_opt.core.types import TensorType

KIND = TensorType("float32", (2, 2))
X, Y, W = Var("x", KIND), Var("y", KIND), Const("w", KIND)


def test_equal_terms_are_one_object():
    assert Apply("Add", (X, Y)) is Apply("Add", (Var("x", KIND), Y))
    assert Apply("Add", (X, Y)) is not Apply("Add", (Y, X))
    assert Var("x", KIND) is not Const("x", KIND)


def test_attributes_and_types_tell_terms_apart():
    assert Apply("Concat", (X, Y), (("axis", -1),)) is not Apply("Concat", (X, Y), (("axis", -2),))
    assert Var("x", KIND) is not Var("x", TensorType("float64", (2, 2)))


def test_a_pickled_term_comes_back_as_the_same_object():
    term = Item(Apply("Split", (X,), (("axis", -1), ("sizes", (1, 1)))), 1)
    assert pickle.loads(pickle.dumps(term)) is term  # noqa: S301 - our own bytes


def test_terms_that_nobody_holds_are_forgotten():
    from taso_opt.core.term import _interned

    gc.collect()
    before = len(_interned)
    chain = [Apply("Relu", (X,), (("step", step),)) for step in range(100)]
    assert len(_interned) == before + 100
    del chain
    gc.collect()
    assert len(_interned) == before


def test_a_chain_of_ten_thousand_operators_is_traversed():
    term = X
    for _ in range(10_000):
        term = Apply("Relu", (term,))
    order = postorder([term])
    assert len(order) == 10_001
    assert order[0] is X
    assert operator_count([term]) == 10_000


def test_children_come_before_parents_and_once():
    shared = Apply("MatMul", (X, W))
    root = Apply("Add", (shared, Apply("Relu", (shared,))))
    order = postorder([root, shared])
    assert len(order) == len(set(order)) == 5
    for term in order:
        assert all(order.index(child) < order.index(term) for child in term.children)


def test_what_contains_a_term_is_higher():
    split = Apply("Split", (Apply("Relu", (X,)),), (("axis", -1), ("sizes", (1, 1))))
    assert [term.height for term in (X, W, split, Item(split, 0), Apply("Add", (Item(split, 1), X)))] == [0, 0, 2, 3, 4]


DEEP = 5000
"""More than Python's own stack holds."""


def test_the_operands_of_a_sum_come_in_order_however_long_it_is():
    terms = [Var(f"x{number}", KIND) for number in range(DEEP)]
    whole = terms[0]
    for term in terms[1:]:
        whole = Apply("Add", (whole, term))

    def is_sum(term):
        return isinstance(term, Apply) and term.operator == "Add"

    assert opened(whole, is_sum) == terms
    assert opened(Apply("Add", (X, Apply("Add", (Y, W)))), is_sum) == [X, Y, W]
    assert opened(Apply("Relu", (whole,)), is_sum) == [Apply("Relu", (whole,))]


def test_what_is_told_from_below_is_told_once_for_each_term_however_deep():
    term, asked, heights = X, [], {}
    for _ in range(DEEP):
        term = Apply("Add", (term, term))

    def height(one):
        asked.append(one)
        return 1 + max((heights[child] for child in one.children), default=0)

    assert bottom_up(heights, term, height) == DEEP + 1
    assert bottom_up(heights, term, height) == DEEP + 1
    assert len(asked) == len(heights) == DEEP + 1
