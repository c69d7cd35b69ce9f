import pytest

from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.conditions.widen import stated_with_symbols, widen
from taso_opt.verify.examine import holds

CONV = "dilations=(1, 1), group={group}, pads=(1, 1, 1, 1), strides=(2, 2)"
ANY = "dilations=(d_h, d_w), group={group}, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"


@pytest.fixture(scope="module")
def widened(library, prover):
    symbolic = stated_with_symbols(library)

    def forms(text):
        rule = parse_rule(text, library.builder())
        found = widen(library.builder(), symbolic, rule, lambda wider: holds(library, prover, wider))
        return {format_rule(form) for form in found}

    return forms


def same(library, *texts):
    return {format_rule(parse_rule(text, library.builder())) for text in texts}


def test_a_rule_of_matrices_gets_batches_where_they_are_proved(library, widened):
    equation = "MatMul(x, Add(y, z)) = Add(MatMul(x, y), MatMul(x, z)) where "
    assert widened(f"{equation} x[m, k], y[k, n], z[k, n]") == same(
        library,
        f"{equation} x[*b, m, k], y[*b, k, n], z[*b, k, n]",
        f"{equation} x[*b, m, k], y[k, n], z[k, n]",
        f"{equation} x[m, k], y[*b, k, n], z[*b, k, n]",
    )


def test_a_star_takes_the_place_of_a_size_that_nothing_else_mentions(library, widened):
    equation = "Mul(Add(x, y), s) = Add(Mul(x, s), Mul(y, s)) where"
    assert same(library, f"{equation} x[*b, n], y[*b, n], s[n]") <= widened(f"{equation} x[m, n], y[m, n], s[n]")


def test_windows_kernels_and_groups_become_symbols(library, widened):
    def equation(windows):
        return f"Add(Conv(x, f; {windows}), Conv(x, e; {windows})) = Conv(x, Add(f, e); {windows}) where "

    found = widened(equation(CONV.format(group=2)) + "x[n, 2*c, h, w], f[2*m, c, 3, 3], e[2*m, c, 3, 3]")
    general = equation(ANY.format(group="g")) + "x[n, c*g, h, w], f[g*m, c, k3_2, k3_1], e[g*m, c, k3_2, k3_1]"
    assert found == same(library, general)


def test_what_holds_for_one_group_only_keeps_its_group(library, widened):
    def equation(windows):
        joined = f"Concat(Conv(x, f; {windows}), Conv(x, e; {windows}); axis=-3)"
        return f"{joined} = Conv(x, Concat(f, e; axis=-4); {windows}) where "

    found = widened(equation(CONV.format(group=1)) + "x[n, c, h, w], f[m, c, i, j], e[p, c, i, j]")
    assert found == same(library, equation(ANY.format(group=1)) + "x[n, c, h, w], f[m, c, i, j], e[p, c, i, j]")


def test_windows_of_several_operators_become_symbols_of_their_own(library, widened):
    inner = "count_include_pad=0, kernel=(2, 2), pads={pads}, strides={strides}"
    outer = "dilations={dilations}, group=1, pads=(0, 0, 0, 0), strides=(1, 1)"

    def equation(pool, conv):
        return f"AveragePool(Conv(x, f; {conv}); {pool}) = Conv(AveragePool(x; {pool}), f; {conv}) where "

    literal = inner.format(pads="(0, 0, 0, 0)", strides="(2, 2)"), outer.format(dilations="(1, 1)")
    found = widened(equation(*literal) + "x[n, c, h, w], f[m, c, 1, 1]")
    pool = inner.format(pads="(p_t, p_l, p_b, p_r)", strides="(s_h, s_w)").replace("(2, 2)", "(k_h, k_w)")
    any_conv = outer.format(dilations="(d_h, d_w)")
    assert found == same(library, equation(pool, any_conv) + "x[n, c, h, w], f[m, c, 1, 1]")


def test_parameters_of_one_side_get_the_names_of_the_other(library, widened):
    conv = "group=1, pads=(0, 0, 0, 0), strides=(1, 1)"
    pool = "count_include_pad=0, kernel=(k_h, k_w), pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)"
    left = f"AveragePool(Conv(x, f; dilations=(d_h, d_w), {conv}); {pool})"
    right = f"Conv(AveragePool(x; {pool}), f; dilations=(e_h, e_w), {conv})"
    (found,) = widened(f"{left} = {right} where x[n, c, h, w], f[m, c, 1, 1]")
    assert "e_h" not in found
    assert found.count("dilations=(d_h, d_w)") == 2


def test_a_rule_that_is_general_already_stays(library, widened):
    text = "Relu(Relu(x)) = Relu(x) where x[*a]"
    assert widened(text) == {text}
