"""The axioms as a whole: they do not make everything equal, and a false one among them would."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import review_axioms
from taso_opt.spec.axiom import axiom
from taso_opt.verify.derivation.prove import Prover


def with_axiom(library, law):
    return replace(library, axioms=MappingProxyType({**library.axioms, law.__name__: law.__axiom__}))


def test_two_unknown_tensors_stay_different_whatever_is_looked_at(library, prover):
    false = review_axioms.false_rules(library)
    assert len(false) >= 30
    assert not prover.collapses(false)


def test_an_axiom_that_makes_everything_equal_is_noticed(library):
    @axiom()
    def nothing_is_added(op, x: "*a", y: "*a"):
        return op.Add(x, y), x

    assert Prover(with_axiom(library, nothing_is_added)).collapses(review_axioms.false_rules(library))


def test_a_false_axiom_would_be_noticed_by_the_controls(library):
    @axiom()
    def matrices_commute(op, x: "n n", y: "n n"):
        return op.MatMul(x, y), op.MatMul(y, x)

    gullible = Prover(with_axiom(library, matrices_commute))
    assert any(gullible.prove(rule) is None for rule in review_axioms.false_rules(library))


def test_an_axiom_that_follows_from_others_is_told_from_one_that_does_not(library):
    @axiom()
    def four_factors(op, x: "m k", y: "k n", z: "n p", w: "p q"):
        return op.MatMul(op.MatMul(op.MatMul(x, y), z), w), op.MatMul(x, op.MatMul(y, op.MatMul(z, w)))

    prover = Prover(with_axiom(library, four_factors))
    assert prover.is_redundant("four_factors")
    assert not prover.is_redundant("matmul_is_associative")


def test_the_page_on_the_axioms_lists_what_no_proof_uses(library):
    page = (Path(__file__).parents[2] / "docs" / "axiom-review.md").read_text()
    names = review_axioms.unused(library)
    assert f"{len(names)} of {len(library.axioms)}" in page
    assert [name for name in names if f"\n| `{name}` | " not in page] == []
    assert page.count("\n| `") == len(names)


def test_why_an_axiom_is_in_no_certificate_is_said_by_others_or_in_words(prover):
    assert review_axioms.reason(prover, "tanh_of_split") == (
        "follows from `concat_undoes_split`, `split_undoes_concat`, `tanh_of_concat`"
    )
    assert "no pool has both" in review_axioms.reason(prover, "concat_of_sums_of_matrices_of_rows")
    assert not any(prover.follows_from(name) for name in ("split_of_three_is_nested", "channel_scale_enters_kernel"))
