"""A rule that does not fit says at which place and with which values."""

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.core.types import TensorType
from taso_opt.rewrite.derived.wholes import with_wholes
from taso_opt.rewrite.patterns.lift import compile_rule
from taso_opt.rewrite.patterns.match import Matcher
from taso_opt.rewrite.patterns.refusal import refusal
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec.text import parse_rule

CHAIN = "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[*b, k, n], z[*b, n, p]"
DISTRIBUTE = "MatMul(x, Add(y, z)) = Add(MatMul(x, y), MatMul(x, z)) where x[*b, m, k], y[*b, k, n], z[*b, k, n]"
UNJOIN = (
    "Concat(Split(x; axis=-2, sizes=(n, p))[0], Split(x; axis=-2, sizes=(n, p))[1]; axis=-2) = x where x[*b, n+p, m]"
)
JOINED = "Tanh(Concat(x, y; axis=-1)) = Concat(Tanh(x), Tanh(y); axis=-1) where x[*b, 2], y[*b, 3]"
COLUMN = "MatMul(x, Transpose(y; perm=(-1, -2))) = ReduceSum(Mul(x, y); axes=(-1,)) where x[*b, m, k], y[*b, 1, k]"
TWICE = "Transpose(Transpose(x; perm=(-1, -2)); perm=(-1, -2)) = x where x[*b, m, n]"
ROOT = "Tanh(MatMul(x, x)) = Tanh(MatMul(x, x)) where x[k, k]"


LOOKUP = "Relu(Gather(x, y; axis=-2)) = Gather(Relu(x), y; axis=-2) where x[m, k], y[*b]: int64"


def tensor(name, *shape, kind=Var, dtype="float32"):
    return kind(name, TensorType(dtype, shape))


def why(op, text, term):
    rule = parse_rule(text, op)
    one_way = RuleSet((rule,))
    rewriter = Rewriter(op, one_way)
    compiled, matcher = next(
        (compiled, matcher) for compiled, matcher in rewriter.candidates(term) if compiled.rule.source == rule.source
    )
    return refusal(compiled, matcher, op, term)


def test_a_rule_that_fits_is_not_refused(op):
    x, y, z = tensor("x", 2, 4), tensor("y", 4, 4), tensor("z", 4, 1)
    assert why(op, CHAIN, op.MatMul(op.MatMul(x, y), z)) is None


def test_another_operator_is_named(op):
    found = why(op, CHAIN, op.MatMul(op.Relu(tensor("x", 2, 4)), tensor("z", 4, 1)))
    assert (found.kind, found.sentence) == ("structure", "expected MatMul, found Relu")


def test_an_input_in_the_place_of_an_operator_is_named(op):
    found = why(op, DISTRIBUTE, op.MatMul(tensor("x", 2, 4), tensor("w", 4, 1, kind=Const)))
    assert (found.kind, found.sentence) == ("structure", "expected Add, found w")


def test_a_size_that_does_not_fit_is_given_with_those_already_bound(op):
    x, bias, wide = tensor("x", 2, 4), tensor("b", 5), tensor("w", 4, 5)
    found = why(op, DISTRIBUTE, op.MatMul(x, op.Add(wide, bias)))
    assert found.kind == "precondition"
    assert found.sentence in (
        "expected y[*b, k, n] with *b = (), k = 4, found [5]",
        "expected z[*b, k, n] with *b = (), k = 4, n = 5, found [5]",
    )


def test_another_axis_is_given(op):
    parts = op.Split(tensor("x", 4, 6), axis=-1, sizes=(2, 4))
    found = why(op, UNJOIN, op.Concat(op.item(parts, 0), op.item(parts, 1), axis=-1))
    assert (found.kind, found.sentence) == ("precondition", "expected Concat along axis -2, found -1")


def test_the_deeper_reason_is_told(op):
    parts = op.Split(tensor("x", 6, 4), axis=-2, sizes=(2, 4))
    other = op.Relu(tensor("y", 2, 4))
    found = why(op, UNJOIN, op.Concat(op.item(parts, 0), other, axis=-2))
    assert (found.kind, found.depth, found.sentence) == ("structure", 1, "expected a part of Split, found Relu")


def test_an_element_type_without_rules_is_given(op):
    x, y, z = (tensor(name, 4, 4, dtype="float16") for name in "xyz")
    found = why(op, CHAIN, op.MatMul(op.MatMul(x, y), z))
    assert found.sentence == "expected float32 or float64 for x, found float16"


def test_a_join_of_many_is_taken_for_one_of_two_and_a_join_of_one_for_none(op):
    one, two, three = (tensor(f"x{size}", 1, size) for size in (1, 2, 3))
    assert why(op, JOINED, op.Tanh(op.Concat(two, two, one, axis=-1))) is None
    alone = why(op, JOINED, op.Tanh(op.Concat(tensor("x5", 1, 5), axis=-1)))
    assert (alone.kind, alone.sentence) == ("structure", "expected Concat of 2 operands, found Concat")
    found = why(op, JOINED, op.Tanh(op.Concat(three, one, one, axis=-1)))
    assert (found.kind, found.sentence) == ("precondition", "expected x[*b, 2], found [1, 3]")


def test_parts_of_a_split_in_another_order_are_told(op):
    halves = op.Split(tensor("x", 6, 4), axis=-2, sizes=(3, 3))
    found = why(op, UNJOIN, op.Concat(op.item(halves, 1), op.item(halves, 0), axis=-2))
    assert (found.kind, found.sentence) == ("precondition", "expected the parts of one split in order, found others")
    assert why(op, UNJOIN, op.Concat(op.item(halves, 0), op.item(halves, 1), axis=-2)) is None


def test_a_rule_for_weights_asks_for_a_constant(op):
    column = parse_rule(COLUMN, op)
    (of_whole,) = with_wholes([column, parse_rule(TWICE, op)], op)
    rule = compile_rule(of_whole, op)
    found = refusal(rule, Matcher(op, rule.private_sizes), op, op.MatMul(tensor("x", 4, 6), tensor("w", 6, 1)))
    assert (found.kind, found.sentence) == ("precondition", "expected a constant for weights, found w")


def test_places_are_whole_numbers_of_either_size(op):
    x = tensor("x", 5, 4)
    for dtype in ("int32", "int64"):
        places = tensor("places", 2, 3, dtype=dtype)
        assert why(op, LOOKUP, op.Relu(op.Gather(x, places, axis=-2))) is None
    odd = tensor("odd", 2, 3, dtype="uint8")
    found = why(op, LOOKUP, op.Relu(op.Gather(x, odd, axis=-2)))
    assert found.sentence == "expected int32 or int64 for y, found uint8"


def test_numbers_are_no_places(op):
    rule = "Relu(Relu(x)) = Relu(x) where x[*b]"
    found = why(op, rule, op.Relu(op.Relu(tensor("x", 2, dtype="int64"))))
    assert found.sentence == "expected float32 or float64 for x, found int64"


def test_one_place_without_axes_is_not_one_on_an_axis(op):
    x, lookup = tensor("x", 5, 4), "Relu(Gather(x, y; axis=-2)) = Gather(Relu(x), y; axis=-2) where x[m, k], y[]: int64"
    assert why(op, lookup, op.Relu(op.Gather(x, tensor("place", dtype="int64"), axis=-2))) is None
    assert why(op, lookup, op.Relu(op.Gather(x, tensor("places", 1, dtype="int64"), axis=-2))) is not None
