"""Equations get the most general types under which they hold, and one text whatever their names were."""

import pytest

from taso_opt.core.dims import symbol
from taso_opt.core.rule import Rule
from taso_opt.core.term import Var
from taso_opt.core.types import parse_scheme
from taso_opt.generate.equations.canonical import canonical
from taso_opt.generate.equations.confirm import holds, holds_in_floats
from taso_opt.generate.equations.generalise import Generaliser
from taso_opt.generate.equations.subsume import most_general, subsumes
from taso_opt.spec.text import format_rule, parse_rule

WINDOW = "dilations=({d}, {d}), group={g}, pads=({p}, {p}, {p}, {p}), strides=({s}, {s})"
SYMBOLS = "dilations=(d_h, d_w), group={g}, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"


@pytest.fixture
def forms(op):
    return lambda text: [format_rule(rule) for rule in Generaliser(op, seed=5).forms(parse_rule(text, op))]


def test_sizes_that_need_not_be_equal_get_different_symbols(forms):
    equal = "Concat(Relu(x), Relu(y); axis=-1) = Relu(Concat(x, y; axis=-1)) where x[m, k], y[m, k]"
    assert forms(equal) == ["Relu(Concat(x, y; axis=-1)) = Concat(Relu(x), Relu(y); axis=-1) where x[*b, m], y[*b, k]"]


def test_the_parts_of_a_doubled_size_may_differ(forms):
    halves = [f"Split(Tanh(Concat(x, y; axis=-2)); axis=-2, sizes=(m, m))[{part}]" for part in (0, 1)]
    (form,) = forms(f"(Tanh(x), Tanh(y)) = ({', '.join(halves)}) where x[m, k], y[m, k]")
    assert form.endswith("sizes=(m, n))[1]) where x[*b, m, k], y[*b, n, k]")


def test_a_batch_is_added_to_all_matrices_or_to_one_factor_of_a_product(forms):
    found = forms("MatMul(x, Add(w, v)) = Add(MatMul(x, w), MatMul(x, v)) where x[m, k], w[k, n], v[k, n]")
    assert {form.partition(" where ")[2] for form in found} == {
        "x[*b, m, k], y[*b, k, n], z[*b, k, n]", "x[*b, m, k], y[k, n], z[k, n]", "x[m, k], y[*b, k, n], z[*b, k, n]",
    }  # fmt: skip


def test_a_row_stays_a_row_and_a_size_of_one_stays_where_it_broadcasts(forms):
    (row,) = forms("Mul(Add(x, y), b) = Add(Mul(x, b), Mul(y, b)) where x[m, n], y[m, n], b[n]")
    types = row.partition(" where ")[2].split("], ")
    assert sorted(scheme[1:].rstrip("]") for scheme in types) == ["[*b, m", "[*b, m", "[m"]
    column = forms("MatMul(Mul(x, r), w) = Mul(MatMul(x, w), r) where x[m, k], w[k, n], r[m, 1]")
    assert all("[*b, m, 1]" in form for form in column)
    assert len(column) == 2


def test_windows_and_groups_become_symbols(forms):
    concrete = WINDOW.format(d=1, g=2, p=1, s=2)
    types = "x[n, 2*c, h, w], f[2*m, c, 3, 3], s[]"
    (form,) = forms(f"Conv(x, Mul(f, s); {concrete}) = Mul(Conv(x, f; {concrete}), s) where {types}")
    assert SYMBOLS.format(g="g") in form
    assert "x[n, g*w, c, h], y[g*j, w, m, i], z[]" in form


def test_windows_that_an_equation_needs_stay_as_they_are(forms):
    plain = WINDOW.format(d=1, g=1, p=0, s=1)
    pool = "count_include_pad=0, kernel=(2, 2), pads=(0, 0, 0, 0), strides=(2, 2)"
    text = f"AveragePool(Conv(x, f; {plain}); {pool}) = Conv(AveragePool(x; {pool}), f; {plain})"
    (form,) = forms(f"{text} where x[n, c, h, w], f[m, c, 1, 1]")
    assert "kernel=(k_h, k_w), pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)" in form
    assert form.count("group=1, pads=(0, 0, 0, 0), strides=(1, 1)") == 2
    assert form.endswith("where x[n, c, h, w], y[m, c, 1, 1]")


def test_a_size_that_nothing_looks_into_is_one_symbol(forms):
    parts = [f"Split({{}}; axis=-2, sizes=(n, p))[{part}]".format for part in (0, 1)]
    left = f"({', '.join(part('MatMul(x, w)') for part in parts)})"
    right = f"({', '.join(f'MatMul({part(chr(120))}, w)' for part in parts)})"
    for form in forms(f"{left} = {right} where x[n+p, m], w[m, n+p]"):
        assert form.partition(" where ")[2].count("+") == 1


def test_what_is_false_gets_no_form_at_all(forms):
    assert forms("Relu(Add(x, y)) = Add(Relu(x), Relu(y)) where x[m], y[m]") == []
    # True where the first part is no longer than x, false elsewhere.
    cut = "Split(Concat(x, {}; axis=-1); axis=-1, sizes=(p, n))[0]".format
    assert forms(f"{cut('y')} = {cut('Tanh(y)')} where x[m, n], y[m, p]") == []


def test_sizes_that_are_differences_are_one_symbol_however_small_their_terms(forms):
    half = "Split({}; axis=-3, sizes=(m, m))[0]".format
    text = f"{half('Add(x, y)')} = Add({half('x')}, {half('y')}) where x[n, 2*m, h-2, w-2], y[n, 2*m, h-2, w-2]"
    (found,) = forms(text)
    assert found.endswith("where x[*b, h+w, n, c], y[*b, h+w, n, c]")


def test_an_equation_with_a_variable_of_the_size_of_a_strided_result_has_no_form(op):
    windows = {"kernel": (3, 3), "dilations": (1, 1), "pads": (0, 0, 0, 0), "strides": (2, 2)}
    pooled = op.apply("MaxPool", [Var("y", parse_scheme("n c h w"))], windows)
    x = Var("x", op.type(pooled))
    c = symbol("c")
    first = op.apply("Split", [op.apply("Concat", [x, pooled], {"axis": -3})], {"axis": -3, "sizes": (c, c)})
    assert Generaliser(op, seed=5).forms(Rule((op.item(first, 0),), (x,))) == []


def test_equal_equations_have_equal_text_whatever_their_names_and_sides_were(op):
    texts = [
        "Add(MatMul(x, y), MatMul(z, w)) = MatMul(Concat(x, z; axis=-1), Concat(y, w; axis=-2))"
        " where x[a, k], y[k, n], z[a, p], w[p, n]",
        "MatMul(Concat(t, r; axis=-1), Concat(x, q; axis=-2)) = Add(MatMul(r, q), MatMul(t, x))"
        " where t[q, n], x[n, m], r[q, k], q[k, m]",
    ]
    assert len({format_rule(canonical(parse_rule(text, op), op)) for text in texts}) == 1


def test_the_order_of_the_parts_of_a_sum_does_not_change_the_text(op):
    texts = [
        f"x = Concat(Split(x; axis=-1, sizes=({one}, {two}))[0], Split(x; axis=-1, sizes=({one}, {two}))[1]; axis=-1)"
        f" where x[m, {one}+{two}]"
        for one, two in (("a", "z"), ("z", "a"))
    ]
    assert len({format_rule(canonical(parse_rule(text, op), op)) for text in texts}) == 1


GENERAL = "MatMul(x, Add(y, z)) = Add(MatMul(x, y), MatMul(x, z)) where x[*b, m, k], y[k, n], z[k, n]"


@pytest.mark.parametrize(
    ("special", "expected"),
    [
        ("MatMul(t, Add(w, w)) = Add(MatMul(t, w), MatMul(t, w)) where t[m, k], w[k, k]", True),
        ("Add(MatMul(x, y), MatMul(x, z)) = MatMul(x, Add(z, y)) where x[a, c, m, 3], y[3, n], z[3, n]", True),
        ("MatMul(x, Add(y, z)) = Add(MatMul(x, y), MatMul(x, z)) where x[m, k], y[b, k, n], z[b, k, n]", False),
        ("MatMul(x, Sub(y, z)) = Sub(MatMul(x, y), MatMul(x, z)) where x[m, k], y[k, n], z[k, n]", False),
    ],
)
def test_an_instance_by_renaming_and_by_sizes_is_recognised(op, special, expected):
    assert subsumes(parse_rule(GENERAL, op), parse_rule(special, op), op) is expected


@pytest.mark.parametrize(
    ("special", "expected"),
    [
        ("x[5, 8], y[8, k]", True),
        ("x[5, 5], y[5, k]", True),
        ("x[5, 3], y[3, k]", False),
        ("x[n+p, n], y[n, k]", False),
        ("x[m, 2*a+m], y[2*a+m, k]", True),
    ],
)
def test_no_part_of_a_size_is_solved_to_be_below_zero(op, special, expected):
    equation = "MatMul(Relu(x), y) = MatMul(Relu(Relu(x)), y) where "
    general = parse_rule(f"{equation}x[n, n+p], y[n+p, k]", op)
    assert subsumes(general, parse_rule(f"{equation}{special}", op), op) is expected


def test_a_rule_for_any_group_covers_one_group_and_a_rule_for_one_does_not_cover_any(op):
    text = "Conv(x, Mul(f, s); {0}) = Mul(Conv(x, f; {0}), s) where x[n, {1}, h, w], f[{2}, c, i, j], s[]"
    grouped = parse_rule(text.format(SYMBOLS.format(g="g"), "g*c", "g*m"), op)
    single = parse_rule(text.format(SYMBOLS.format(g=1), "c", "m"), op)
    strided = parse_rule(text.format(WINDOW.format(d=1, g=3, p=1, s=2), "3*c", "3*m"), op)
    assert subsumes(grouped, single, op)
    assert subsumes(grouped, strided, op)
    assert not subsumes(single, grouped, op)
    assert not subsumes(strided, grouped, op)


def test_a_size_that_occurs_squared_is_not_solved_for(op):
    squared, linear, single = (
        parse_rule(f"Relu(x) = Relu(x) where x[{sizes}]", op) for sizes in ("c, k*k*c", "c, k*c", "m, m*p")
    )
    assert subsumes(linear, single, op)
    assert not subsumes(squared, single, op)


def test_an_equation_of_which_too_few_instances_can_be_made_is_not_confirmed(op):
    rule = parse_rule("Relu(x) = Relu(x) where x[m]", op)
    assert holds_in_floats(rule, op, seed=1, count=2)
    small = parse_rule("Relu(x) = Relu(x) where x[m-1000]", op)
    assert not holds_in_floats(small, op, seed=1, count=2)
    assert not holds(small, op, seed=1, count=2)


def test_names_do_not_run_out(op):
    window = "dilations=(d_h{0}, d_w{0}), group=1, pads=(p_t{0}, p_l{0}, p_b{0}, p_r{0}), strides=(s_h{0}, s_w{0})"
    nested = "x"
    for number in range(12):
        nested = f"Conv({nested}, y; {window.format(number)})"
    sizes = "x[n, c, h, w], y[c, c, 1, 1]"
    text = format_rule(canonical(parse_rule(f"Relu({nested}) = Relu({nested}) where {sizes}", op), op))
    assert "s_w12" in text and "s_w13" not in text


def test_only_the_most_general_of_several_equations_stay_sorted_by_size_and_text(op):
    texts = [
        GENERAL,
        "MatMul(x, Add(y, y)) = Add(MatMul(x, y), MatMul(x, y)) where x[m, k], y[k, n]",
        "Relu(x) = Relu(Relu(x)) where x[*b]",
        "Relu(x) = Relu(Relu(x)) where x[m, k]",
    ]
    kept = most_general([parse_rule(text, op) for text in texts], op)
    assert [format_rule(rule) for rule in kept] == [texts[2], texts[0]]


def test_evaluation_tells_true_from_nearly_true(op):
    same = parse_rule("Sub(x, Sub(x, y)) = y where x[*b], y[*b]", op)
    assert holds(same, op, 0, 5)
    assert holds_in_floats(same, op, 0, 5)
    x = same.variables[0]
    assert not holds(Rule((op.Tanh(x),), (op.Sigmoid(x),)), op, 0, 1)
    assert not holds_in_floats(Rule((op.Tanh(x),), (x,)), op, 0, 2)
