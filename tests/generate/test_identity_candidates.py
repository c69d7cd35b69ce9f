"""Identity matrices are found: products with them, and what is added to its own product."""

import pytest

from taso_opt.spec.text import format_rule

BESIDE = "Add(x, MatMul(x, y)) = MatMul(x, Add(y, IdentityMatrix(y))) where x[*b, m, k], y[k, k]"
BEFORE = "Sub(x, MatMul(y, x)) = MatMul(Sub(IdentityMatrix(y), y), x) where x[*b, m, k], y[m, m]"


@pytest.mark.parametrize(
    ("pool", "law", "sum_"),
    [
        ("identity matrices", "x = MatMul(x, IdentityMatrix(y)) where x[*b, m, k], y[k, k]", BESIDE),
        ("identity matrices before", "x = MatMul(IdentityMatrix(y), x) where x[*b, m, k], y[m, m]", BEFORE),
    ],
)
def test_what_is_added_to_its_own_product_goes_into_the_matrix(discovered, covers, pool, law, sum_):
    found = discovered(pool, "MatMul, IdentityMatrix, Add, Sub", 3)
    assert covers(found, law)
    assert covers(found, sum_)


def test_nothing_is_said_of_a_matrix_that_is_data_as_well(discovered):
    found = discovered("identity matrices", "MatMul, IdentityMatrix, Add, Sub", 3)
    texts = [text for text in map(format_rule, found) if "IdentityMatrix" in text and "MatMul" in text]
    assert texts
    for text in texts:
        assert text.endswith("where x[*b, m, k], y[k, k]"), text
