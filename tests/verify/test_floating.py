import pytest

from taso_opt.core.rule import FpClass
from taso_opt.spec.text import parse_rule
from taso_opt.verify.evaluation.floating import definition_class, floating_point_class, scalar_class

WINDOW = "dilations=(1, 1), group=1, pads=(1, 1, 1, 1), strides=(1, 1)"
POOL = "count_include_pad=0, kernel=(2, 2), pads=(0, 0, 0, 0), strides=(2, 2)"

CLASSES = {
    "Transpose(Transpose(x; perm=(-1, -2)); perm=(-1, -2)) = x where x[*b, m, n]": "E0",
    "Concat(Concat(x, y; axis=-1), z; axis=-1) = Concat(x, Concat(y, z; axis=-1); axis=-1)"
    " where x[n], y[p], z[q]": "E0",
    "Relu(Relu(x)) = Relu(x) where x[*a]": "E1",
    "Relu(Transpose(x; perm=(-1, -2))) = Transpose(Relu(x); perm=(-1, -2)) where x[m, n]": "E1",
    "Concat(MatMul(x, y), MatMul(x, z); axis=-1) = MatMul(x, Concat(y, z; axis=-1))"
    " where x[m, k], y[k, n], z[k, p]": "E1",
    "Transpose(MatMul(x, y); perm=(-1, -2)) = MatMul(Transpose(y; perm=(-1, -2)), Transpose(x; perm=(-1, -2)))"
    " where x[m, k], y[k, n]": "E1",
    f"Concat(Conv(x, f; {WINDOW}), Conv(x, g; {WINDOW}); axis=-3) = Conv(x, Concat(f, g; axis=-4); {WINDOW})"
    " where x[n, c, h, w], f[m, c, 3, 3], g[p, c, 3, 3]": "E1",
    f"Concat(AveragePool(x; {POOL}), AveragePool(y; {POOL}); axis=-3) = AveragePool(Concat(x, y; axis=-3); {POOL})"
    " where x[n, c, h, w], y[n, d, h, w]": "E1",
    "MatMul(x, MatMul(y, z)) = MatMul(MatMul(x, y), z) where x[m, k], y[k, n], z[n, p]": "E2",
    "Add(x, Add(y, z)) = Add(Add(x, y), z) where x[*a], y[*a], z[*a]": "E2",
    "Mul(Add(x, y), z) = Add(Mul(x, z), Mul(y, z)) where x[*a], y[*a], z[*a]": "E2",
    "Add(MatMul(x, y), MatMul(z, w)) = MatMul(Concat(x, z; axis=-1), Concat(y, w; axis=-2))"
    " where x[m, k], y[k, n], z[m, l], w[l, n]": "E2",
}


@pytest.mark.parametrize("text", CLASSES)
def test_the_class_follows_from_the_operations_for_each_element(library, text):
    builder = library.builder()
    assert floating_point_class(builder, parse_rule(text, builder)) == CLASSES[text]


def test_what_is_true_on_one_side_alone_is_of_the_last_class(library):
    builder = library.builder()
    for text, expected in (
        ("IsNaN(Sub(Exp(x), Exp(x))) = IsNaN(Mul(0, x)) where x[*any_x]", FpClass.E4),
        ("IsNaN(Neg(x)) = IsNaN(x) where x[*any_x]", FpClass.E3),
        ("IsNaN(Sub(x, x)) = IsNaN(Sub(y, y)) where x[*a], y[*a]", FpClass.E4),
    ):
        assert scalar_class(builder, parse_rule(text, builder)) == expected


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Where(IsNaN(Mul(0, Reciprocal(x))), y, x)", "Where(IsNaN(Mul(0, x)), y, x)", FpClass.E4),
        ("Where(Less(Div(0, x), y), x, y)", "Where(Less(Mul(0, x), y), x, y)", FpClass.E4),
        ("Where(Less(Neg(x), y), x, y)", "Where(Less(Neg(y), x), x, y)", FpClass.E3),
    ],
)
def test_numbers_of_both_sides_are_alike_where_truth_chooses_them(library, source, target, expected):
    builder = library.builder()
    rule = parse_rule(f"{source} = {target} where x[*a], y[*a]", builder)
    assert (scalar_class(builder, rule), definition_class(builder, rule)) == (expected, expected)


def test_the_greatest_of_several_elements_tells_where_a_function_has_no_value(library):
    builder = library.builder()
    for function in ("Log", "Sqrt"):
        text = f"ReduceMax({function}(x); axes=(-1,)) = {function}(ReduceMax(x; axes=(-1,))) where x[*b, n]"
        assert definition_class(builder, parse_rule(text, builder)) == FpClass.E4


def test_numbers_of_which_a_quotient_of_exponentials_overflows_are_tried(library):
    builder = library.builder()
    text = "Sub(Log(Exp(x)), Log(Exp(y))) = Log(Div(Exp(x), Exp(y))) where x[*a], y[*a]"
    assert scalar_class(builder, parse_rule(text, builder)) == FpClass.E4
    text = "ReduceSum(Exp(x); axes=(-1,)) = Log(Exp(ReduceSum(Exp(x); axes=(-1,)))) where x[m, n]"
    assert definition_class(builder, parse_rule(text, builder)) == FpClass.E4
