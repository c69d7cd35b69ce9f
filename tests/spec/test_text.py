import pytest

from taso_opt.core.rule import Rule
from taso_opt.errors import RuleError
from taso_opt.spec import load_specs
from taso_opt.spec.text import MAX_LENGTH, format_rule, parse_rule

LIBRARY = load_specs()


def parse(text):
    return parse_rule(text, LIBRARY.builder())


@pytest.mark.parametrize("name", sorted(LIBRARY.axioms))
def test_what_is_written_reads_back_to_the_same_rule_and_the_same_text(name):
    for instance in LIBRARY.axioms[name].instances(LIBRARY.builder()):
        rule = Rule(instance.left, instance.right)
        text = format_rule(rule)
        assert parse(text) == rule
        assert format_rule(parse(text)) == text


def test_blanks_do_not_matter():
    assert parse("Relu( Relu(x ) )=Relu(x) where x[ * a ]".replace("* a", "*a")) == parse(
        "Relu(Relu(x)) = Relu(x) where x[*a]"
    )


def test_products_and_sums_of_sizes_read_back_in_attributes():
    text = "Split(x; axis=-1, sizes=(2*m, n*p+q))[0] = Split(x; axis=-1, sizes=(2*m, n*p+q))[0] where x[2*m+n*p+q]"
    assert format_rule(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Relu(x) = Relu(x)", r"expected ' where ' and the types"),
        ("Relu(x) = y where x[n]", r"expected a type for every variable after 'where', found none for y"),
        ("Relu(x) = Relu(x) where x[n], y[n]", r"expected every typed variable in the equation, found no y"),
        ("Relu(x) = Relu(x) where x[n], x[m]", r"expected types such as .* found ' x\[m\]'"),
        ("Relu(x) = Relu(x) where x[n", r"expected types such as .* found 'x\[n'"),
        ("Relu(x) = Relu(x) where x[2**3]", r"expected the name of a size"),
        ("Swish(x) = x where x[n]", r"expected an operator that specs/ declares, found Swish"),
        ("Opaque(x) = x where x[n]", r"expected an operator that specs/ declares, found Opaque"),
        ("__import__(x) = x where x[n]", r"expected an operator that specs/ declares, found __import__"),
        ("Relu(x, y) = x where x[n], y[n]", r"expected 1 operands for Relu, found 2"),
        ("Relu(x; alpha=1) = x where x[n]", r"expected attributes that fit their operators"),
        ("Pow(x; exponents=(2, 1)) = x where x[n]", r"expected attributes that fit their operators"),
        ("Pow(x) = x where x[n]", r"expected attributes that fit their operators"),
        ("Concat(x, x) = x where x[n]", r"expected attributes that fit their operators"),
        ("Concat(x, x; axis=-1.0) = x where x[n]", r"expected a whole number, or a fraction as"),
        ("ReduceSum(x; axes=()) = x where x[n]", r"expected different axes from the end for ReduceSum"),
        ("ReduceSum(x; axes=(-2,)) = x where x[n, *k]", r"expected axes \[-2\] of a tensor for ReduceSum"),
        (
            'RNN(x, w, r, b, h; activation="Sigmoid")[1] = h'
            " where x[t, c, i], w[1, n, i], r[1, n, n], b[1, 2*n], h[1, c, n]",
            r"expected an activation of RNN among Tanh, Relu, found 'Sigmoid'",
        ),
        ('Concat(x, x; axis="last") = x where x[n]', r"expected attributes that fit their operators"),
        ("Split(x; axis=-1, sizes=())[0] = x where x[n]", r"expected attributes that fit their operators"),
        ("x[0] = x where x[n]", r"expected attributes that fit their operators"),
        ("Split(x; axis=-1, sizes=(n, p))[2] = x where x[n+p]", r"expected an output below 2, found 2"),
        ("Split(x; axis=-1, sizes=(n, p)) = x where x[n+p]", r"expected a term with one output, found 2"),
        ("Relu(x = x where x[n]", r"expected '\)' at character 6"),
        ("Relu(x)) = x where x[n]", r"expected '=' at character 7"),
        ("Relu(x) = x x where x[n]", r"expected the end of the equation"),
        ("(x, x) = x where x[n]", r"expected as many outputs on both sides, found 2 and 1"),
        ("Transpose(x; perm=(-1, -2)) = x where x[m, n]", r"expected both sides to have the same types"),
        ("MatMul(x, x) = x where x[m, n]", r"expected equal inner sizes of MatMul, found \[n\] and \[m\]"),
        ("x = x where x[" + "9" * 5000 + "]", r"expected|Exceeds the limit"),
    ],
)
def test_a_malformed_equation_is_refused_with_the_place(text, message):
    with pytest.raises(RuleError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Relu(" * 5000 + "x" + ")" * 5000, f"at most {MAX_LENGTH} characters"),
        ("Relu(" * 100 + "x" + ")" * 100 + " = x", "at most 64 nested operators"),
        ("Transpose(x; perm=" + "(" * 100 + " = x", "at most 64 nested tuples"),
    ],
)
def test_deep_nesting_is_refused_and_not_followed(text, message):
    with pytest.raises(RuleError, match=message):
        parse(f"{text} where x[n]")


def test_a_product_of_sums_that_would_explode_is_refused():
    sizes = ", ".join(f"a{at}+b{at}" for at in range(40))
    with pytest.raises(RuleError, match="at most 4096 terms"):
        parse(f"Reshape(x; shape=(n,)) = Reshape(x; shape=(n,)) where x[{sizes}]")


@pytest.mark.parametrize(
    "text",
    [
        "BatchNormalization(x, a, b, m, v, e) = x where a[8], b[8], e[], m[8], v[8], x[*n, 8]",
        "LayerNormalization(x, e) = x where e[], x[n, *a]",
        "RMSNormalization(x, e) = x where e[], x[n, *a]",
        "MatMul(x, y) = MatMul(x, y) where x[8, *a], y[*a, n]",
        "MatMul(x, y) = MatMul(x, y) where x[*b, k], y[k, *a]",
        "ReduceSum(x; axes=(-1,)) = x where x[n, *a]",
        "Gather(x, p; axis=-1) = x where p[]: int64, x[n, *a]",
    ],
)
def test_what_an_operator_works_along_is_one_axis_and_not_any_number(text):
    with pytest.raises(RuleError, match="found"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "Mul(Less(x, y), Less(x, y)) = Less(x, y) where x[*a], y[*a]",
        "Relu(Less(x, y)) = Less(x, y) where x[*a], y[*a]",
        "Where(Add(Less(x, y), Less(x, y)), x, y) = Where(Less(x, y), x, y) where x[*a], y[*a]",
        "Relu(p) = p where p[n]: int64",
        "Gather(x, y; axis=-1) = x where x[n], y[n]",
        "Gather(x, Less(y, z); axis=-1) = x where x[n], y[n], z[n]",
        "Conv(x, f, b; dilations=(1, 1), group=1, pads=(0, 0, 0, 0), strides=(1, 1)) = x"
        " where b[c]: int64, f[c, c, 1, 1], x[n, c, h, w]",
    ],
)
def test_places_and_truth_are_moved_and_not_computed_with(text):
    with pytest.raises(RuleError, match="found"):
        parse(text)


def test_a_choice_depends_on_what_is_true():
    rule = parse("Where(Less(x, y), y, x) = Max(x, y) where x[*a], y[*a]")
    assert rule.source[0].operator == "Where"
