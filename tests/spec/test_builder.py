"""The builder: normalised, well-typed terms and one-sentence refusals."""

import pytest

from taso_opt.core.dims import symbol
from taso_opt.core.term import Apply, Var
from taso_opt.core.types import TensorType
from taso_opt.errors import SpecError, TypeMismatch
from taso_opt.spec import OPAQUE, load_specs

KIND = TensorType("float32", (4, 6))
X, Y = Var("x", KIND), Var("y", KIND)


def test_operands_of_commutative_operators_have_one_order():
    op = load_specs().builder()
    assert op.Add(X, Y) is op.Add(Y, X)
    assert op.Sub(X, Y) is not op.Sub(Y, X)


def test_operands_that_do_not_fit_are_refused_with_their_sizes():
    op = load_specs().builder()
    with pytest.raises(TypeMismatch, match=r"inner sizes of MatMul, found \[6\] and \[4\]"):
        op.MatMul(X, Y)
    with pytest.raises(TypeMismatch, match="expected 2 operands for MatMul, found 1"):
        op.MatMul(X)
    with pytest.raises(TypeMismatch, match="one element type"):
        op.Add(X, Var("z", TensorType("float64", (4, 6))))


def test_an_undeclared_operator_is_refused():
    with pytest.raises(SpecError, match="expected an operator that specs/ declares, found Frobnicate"):
        load_specs().builder().apply("Frobnicate", (X,), {})


def test_bindings_turn_symbolic_types_into_numbers():
    batch = Var("x", TensorType("float32", (symbol("batch"), 6)))
    assert load_specs().builder({"batch": 8}).type(batch).shape == (8, 6)
    assert load_specs().builder().type(batch).shape == (symbol("batch"), 6)


def test_a_term_over_other_operands_of_the_same_types_has_the_types_of_the_first():
    op = load_specs().builder()
    x, y = (Var(name, TensorType("float32", (2, 4))) for name in "xy")
    wide = Var("z", TensorType("float32", (2, 8)))
    term = op.Concat(x, y, axis=-1)
    assert op.types(op.rebuild(term, (y, x))) is op.types(term)
    assert op.type(op.rebuild(term, (x, wide))).shape == (2, 12)
    assert op.type(op.rebuild(term, (x, y, x))).shape == (2, 12)


def test_opaque_terms_have_the_types_they_carry():
    opaque = Apply(OPAQUE, (X,), (("node", 3), ("types", (KIND, TensorType("int64", (symbol("n"),))))))
    op = load_specs().builder({"n": 5})
    assert op.types(opaque) == (KIND, TensorType("int64", (5,)))
    assert op.type(op.item(opaque, 1)).shape == (5,)


def test_the_type_of_a_deep_chain_is_inferred_without_recursion():
    op = load_specs().builder()
    term = X
    for _ in range(5000):
        term = Apply("Relu", (term,))
    assert op.type(term) == KIND
