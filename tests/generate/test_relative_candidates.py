"""What rows have in common passes products with weights and what takes the greatest, and nothing else passes."""

import pytest

from taso_opt.generate.schemes.relative import discover_relative


def weighted(name="Sub"):
    parts = f"{name}(MatMul(x, z), MatMul(y, z))"
    return f"MatMul({name}(x, y), z) = {parts} where x[*b, m, k], y[*b, 1, k], z[k, n]"


def greatest(source="Sub(x, y)", target="Sub({}, y)", axes="-2,", common="*b, 1, k"):
    found = target.format(f"ReduceMax(x; axes=({axes}))")
    return f"ReduceMax({source}; axes=({axes})) = {found} where x[*b, m, k], y[{common}]"


ROWS = greatest(axes="-1,", common="*b, m, 1")


@pytest.fixture(scope="module")
def candidates(library):
    return discover_relative(library, 0, frozenset(library.operators))


@pytest.mark.parametrize("law", [weighted(), weighted("Add"), greatest(), greatest("Add(x, y)", "Add({}, y)"), ROWS])
def test_products_and_the_greatest_of_sums_and_differences_are_found(candidates, covers, law):
    assert covers(candidates, law)


@pytest.mark.parametrize("common", ["*b, 1, k", "*b, m, 1"])
@pytest.mark.parametrize(
    "law",
    [
        "Add(Add(x, y), z) = Add(x, Add(y, z))",
        "Add(Sub(x, y), z) = Add(x, Sub(z, y))",
        "Sub(y, Sub(z, x)) = Add(x, Sub(y, z))",
        "Sub(y, Sub(x, z)) = Sub(Add(y, z), x)",
        "Sub(Sub(x, y), z) = Sub(x, Add(y, z))",
        "Sub(Sub(y, x), z) = Sub(Sub(y, z), x)",
    ],
)
def test_what_rows_have_in_common_comes_together(candidates, covers, law, common):
    assert covers(candidates, f"{law} where x[*b, m, k], y[{common}], z[{common}]")


def test_all_are_proved(candidates, proved):
    assert proved(candidates)
    sums = [rule for rule in candidates if rule.operators <= {"Add", "Sub"}]
    assert len(candidates) - len(sums) == 3 + 2 * 3  # the sum of all rows and a common one is the same either way


@pytest.mark.parametrize(
    "text",
    [
        greatest("Sub(y, x)", "Sub(y, {})"),
        greatest("Mul(x, y)", "Mul({}, y)"),
        "MatMul(Sub(x, y), z) = Sub(MatMul(x, z), y) where x[*b, m, k], y[*b, 1, k], z[k, k]",
        "Sub(y, Sub(x, z)) = Sub(Sub(y, z), x) where x[*b, m, k], y[*b, 1, k], z[*b, 1, k]",
    ],
)
def test_what_is_less_the_greatest_and_what_has_no_weights_are_refuted(refuted, text):
    assert refuted(text)


def test_only_the_named_operators_are_tried(library):
    few = frozenset({"Add", "MatMul"})
    candidates = discover_relative(library, 0, few)
    assert all(rule.operators <= few for rule in candidates)
    assert sum("MatMul" in rule.operators for rule in candidates) == 1
    assert discover_relative(library, 0, frozenset({"MatMul", "ReduceMax"})) == ()
