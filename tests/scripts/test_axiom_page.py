import pytest

import axiom_page
from taso_opt.spec import load_specs
from taso_opt.verify.index_functions.axioms import prove_axioms
from taso_opt.verify.verdict import Unknown


@pytest.fixture(scope="module")
def answers():
    return dict(prove_axioms(load_specs()))


def test_the_page_of_axioms_is_what_make_axioms_writes(answers):
    assert axiom_page.PAGE.read_text(encoding="utf-8") == axiom_page.page(load_specs(), answers), "run make axioms"


def test_each_axiom_has_its_statement_conditions_and_proof(answers):
    page = axiom_page.page(load_specs(), answers)
    entry = page.partition("### averagepool_of_shifted_image\n")[2].partition("###")[0]
    assert "AveragePool(Add(x, s); windows) = Add(AveragePool(x; windows), s)" in entry
    assert "- for `x[n, c, h, w], s[]` or `x[n, c, h, w], s[c, 1, 1]`" in entry
    assert "- needs pads below the kernel size: `k_h >= p_t+1`" in entry
    assert "- proved by index functions for all sizes, 2 instances one by one" in entry
    assert page.count("\n### ") == len(load_specs().axioms) + 4
    assert "Add(x, y) = Add(y, x)" in page


def test_an_axiom_that_is_not_proved_says_so_with_the_reason(answers):
    page = axiom_page.page(load_specs(), {**answers, "add_is_associative": Unknown("the sides differ")})
    entry = page.partition("### add_is_associative\n")[2].partition("###")[0]
    assert "- **not proved**: the sides differ" in entry
    assert f"{len(answers) - 1} of {len(answers)} axioms are proved" in page
