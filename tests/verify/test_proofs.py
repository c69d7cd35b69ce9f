import pytest

from taso_opt.core.rule import Rule
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule
from taso_opt.verify.derivation.prove import Derivation, Prover

WINDOWS = "dilations=(1, 1), group={group}, pads=(0, 0, 0, 0), strides=(2, 1)"
PLAIN, GROUPED = WINDOWS.format(group=1), WINDOWS.format(group=2)

TRUE = {
    "associativity": "MatMul(x, MatMul(y, z)) = MatMul(MatMul(x, y), z) where x[m, k], y[k, n], z[n, p]",
    "commuted sums": "Add(Add(x, y), Add(z, w)) = Add(Add(x, w), Add(z, y)) where x[*a], y[*a], z[*a], w[*a]",
    "merged products": "(MatMul(x, y), MatMul(x, z)) = "
    "(Split(MatMul(x, Concat(y, z; axis=-1)); axis=-1, sizes=(n, p))[0],"
    " Split(MatMul(x, Concat(y, z; axis=-1)); axis=-1, sizes=(n, p))[1]) where x[*b, m, k], y[k, n], z[k, p]",
    "stacked rows": "Concat(Relu(MatMul(x, w)), Relu(MatMul(y, w)); axis=-2) = Relu(MatMul(Concat(x, y; axis=-2), w))"
    " where x[*b, m, k], y[*b, p, k], w[k, n]",
    "merged strided convolutions": f"Concat(Conv(x, f; {PLAIN}), Conv(x, g; {PLAIN}); axis=-3) ="
    f" Conv(x, Concat(f, g; axis=-4); {PLAIN}) where x[n, c, h, w], f[m, c, 3, 1], g[p, c, 3, 1]",
    "summed grouped kernels": f"Add(Conv(x, f; {GROUPED}), Conv(x, g; {GROUPED})) = Conv(x, Add(f, g); {GROUPED})"
    " where x[n, 2*c, h, w], f[2*m, c, i, j], g[2*m, c, i, j]",
    "expanded products": "MatMul(Add(x, y), Add(z, w)) = "
    "Add(Add(MatMul(x, z), MatMul(y, w)), Add(MatMul(x, w), MatMul(y, z))) where x[m, k], y[m, k], z[k, n], w[k, n]",
    "nested concatenation": "Concat(Concat(x, y; axis=-1), Concat(z, w; axis=-1); axis=-1) ="
    " Concat(x, Concat(Concat(y, z; axis=-1), w; axis=-1); axis=-1) where x[*b, m], y[*b, n], z[*b, p], w[*b, q]",
}

UNPROVABLE = {
    "collapse": "x = y where x[*a], y[*a]",
    "collapse of matrices": "x = y where x[n, n], y[n, n]",
    "collapse of images": "x = y where x[n, c, h, w], y[n, c, h, w]",
    "sum is product": "Add(x, y) = Mul(x, y) where x[*a], y[*a]",
    "a vector for a scalar": "MatMul(Mul(x, s), y) = Mul(MatMul(x, y), s) where x[m, n], y[n, n], s[n]",
    "halves of equal size": "Split(x; axis=-1, sizes=(n, n))[0] = Split(x; axis=-1, sizes=(n, n))[1] where x[m, 2*n]",
    "another cut": "Split(Concat(x, y; axis=-1); axis=-1, sizes=(p, n))[0] ="
    " Split(Concat(y, x; axis=-1); axis=-1, sizes=(p, n))[0] where x[m, n], y[m, p]",
    "reshape forgets nothing": "Reshape(x; shape=(n, m)) = Reshape(Transpose(x; perm=(-1, -2)); shape=(n, m))"
    " where x[m, n]",
}


def rule(library, text):
    return parse_rule(text, library.builder())


@pytest.mark.parametrize("name", TRUE)
def test_a_true_rule_is_proved(library, prover, name):
    assert prover.prove(rule(library, TRUE[name])) is None


@pytest.mark.parametrize("name", UNPROVABLE)
def test_a_false_rule_is_never_provable(library, prover, name):
    assert prover.prove(rule(library, UNPROVABLE[name])) == "no axiom applies any more and the sides are still apart"


@pytest.mark.parametrize("name", sorted(load_specs().axioms))
def test_an_axiom_proves_its_own_instances(library, prover, name):
    first, *others = library.axioms[name].instances(library.builder())
    for instance in (first, *others[-1:]):
        assert prover.prove(Rule(instance.left, instance.right), [name]) is None


def test_the_axioms_of_a_proof_are_named_and_enough_and_each_is_needed(library, prover):
    stacked = rule(library, TRUE["stacked rows"])
    assert prover.axioms_used(stacked) == ("matmul_of_stacked_rows", "relu_of_concat")
    assert prover.prove(stacked, ["matmul_of_stacked_rows", "relu_of_concat"]) is None
    assert prover.prove(stacked, ["matmul_of_stacked_rows"]) is not None
    assert prover.prove(stacked, ["relu_of_concat"]) is not None


def test_commutativity_is_named_where_a_proof_needs_it(library, prover):
    assert "add_is_commutative" in prover.axioms_used(rule(library, TRUE["commuted sums"]))


def test_both_outputs_have_to_be_proved(library, prover):
    half = "(Relu(Relu(x)), Relu(y)) = (Relu(x), y) where x[*a], y[*a]"
    assert prover.prove(rule(library, half)) is not None


def test_an_axiom_for_scalars_is_not_used_for_vectors(library, prover):
    law = "MatMul(Mul(x, s), y) = MatMul(x, Mul(y, s)) where x[n, n], y[n, n], "
    assert prover.prove(rule(library, f"{law} s[]")) is None
    for scheme in ("n", "1", "n, n", "n, 1", "1, 1"):
        assert prover.prove(rule(library, f"{law} s[{scheme}]")) is not None


def test_a_proof_does_not_depend_on_what_was_proved_before(library, prover):
    fresh = Prover(library)
    for text in (*UNPROVABLE.values(), *TRUE.values()):
        assert (fresh.prove(rule(library, text)) is None) == (prover.prove(rule(library, text)) is None)


def test_a_derivation_uses_only_what_was_added(library):
    derivation = Derivation(library)
    associative = rule(library, "Add(x, Add(y, z)) = Add(Add(x, y), z) where x[*a], y[*a], z[*a]")
    consequence = rule(library, TRUE["commuted sums"])
    assert not derivation.derives(consequence)
    derivation.add(associative)
    assert derivation.derives(consequence)
    assert not derivation.derives(rule(library, UNPROVABLE["sum is product"]))
