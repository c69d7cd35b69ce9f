import numpy as np
import pytest

from symbolic import SymbolicArrays, equal
from taso_opt.core.term import Apply, Var, postorder
from taso_opt.errors import TypeMismatch
from taso_opt.semantics.arrays import FloatArrays, ModularArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import instantiate, random_instances, symbols_of
from taso_opt.spec import load_specs

LIBRARY = load_specs()
SPOKEN_OF = sorted(name for name, one in LIBRARY.operators.items() if not (one.scalar or one.defined))
"""The operators that axioms are about."""
INSTANCES = 3
MAX_CELLS = 160


def sides(name):
    for axiom in LIBRARY.axioms[name].instances(LIBRARY.builder()):
        yield (*axiom.left, *axiom.right), len(axiom.left)


def drawn(name, count, seed):
    for roots, width in sides(name):
        generator = np.random.default_rng(seed)
        builder = LIBRARY.builder()
        found = list(random_instances(builder, roots, count, generator))
        assert len(found) == count, f"no small sizes fit {roots}"
        for instance in found:
            leaves = [term for term in postorder(instance) if isinstance(term, Var)]
            yield builder, instance, width, leaves, generator


@pytest.mark.parametrize("name", sorted(LIBRARY.axioms))
def test_both_sides_of_an_axiom_have_the_same_types(name):
    builder = LIBRARY.builder()
    for roots, width in sides(name):
        assert [builder.type(root) for root in roots[:width]] == [builder.type(root) for root in roots[width:]]


@pytest.mark.parametrize("name", sorted(LIBRARY.axioms))
def test_an_axiom_holds_modulo_the_prime_at_random_sizes(name):
    for builder, instance, width, leaves, generator in drawn(name, INSTANCES, seed=1):
        arithmetic = ModularArrays(seed=int(generator.integers(1000)))
        values = {leaf: arithmetic.random(generator, leaf.type.shape) for leaf in leaves}
        results = evaluate_arrays(builder, arithmetic, instance, values)
        for left, right in zip(results[:width], results[width:], strict=True):
            np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("name", sorted(LIBRARY.axioms))
def test_an_axiom_holds_in_float64_at_random_sizes(name):
    for builder, instance, width, leaves, generator in drawn(name, INSTANCES, seed=2):
        values = {leaf: generator.standard_normal(leaf.type.shape) for leaf in leaves}
        with np.errstate(invalid="ignore"):  # a window of padding alone has no greatest element: minus infinity
            results = evaluate_arrays(builder, FloatArrays(), instance, values)
        for left, right in zip(results[:width], results[width:], strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", sorted(LIBRARY.axioms))
def test_an_axiom_holds_for_unknown_reals_on_small_shapes(name):
    checked = 0
    for roots, width in sides(name):
        builder = LIBRARY.builder()
        for instance in small_instances(builder, roots):
            arithmetic = SymbolicArrays()
            leaves = [term for term in postorder(instance) if isinstance(term, Var)]
            values = {leaf: arithmetic.unknowns(leaf.name, leaf.type.shape) for leaf in leaves}
            results = evaluate_arrays(builder, arithmetic, instance, values)
            for left, right in zip(results[:width], results[width:], strict=True):
                assert equal(left, right), f"{instance} differ"
            checked += 1
            break
    assert checked > 0


def small_instances(builder, roots):
    """Instances with unequal sizes of 1 to 3, windows of 2 over images of 3, and few enough elements to compare."""
    symbols = symbols_of(roots)
    generator = np.random.default_rng(0)
    for _ in range(2000):
        assignment = {
            name: (2, 3)[: generator.integers(0, 3)] if name.startswith("*") else int(generator.integers(1, 4))
            for name in symbols.sizes
        }
        stars = [value for value in assignment.values() if isinstance(value, tuple)] or [()]
        for name in symbols.parameters:
            assignment[name] = stars[0][::-1] if name.startswith("*") else int(generator.integers(0, 3))
        try:
            instance = instantiate(builder, roots, assignment, "float64")
        except TypeMismatch:
            continue
        cells = sum(builder.types(term)[0].elements or 0 for term in postorder(instance))
        if cells <= MAX_CELLS:
            yield instance


def test_a_false_law_is_seen_by_the_real_interpretation():
    builder = LIBRARY.builder()
    x, y = (Var(name, kind_of(2, 2)) for name in "xy")
    arithmetic = SymbolicArrays()
    values = {leaf: arithmetic.unknowns(leaf.name, (2, 2)) for leaf in (x, y)}
    left, right = evaluate_arrays(builder, arithmetic, (builder.MatMul(x, y), builder.MatMul(y, x)), values)
    assert not equal(left, right)


def kind_of(*shape):
    from taso_opt.core.types import TensorType

    return TensorType("float64", shape)


@pytest.mark.parametrize("name", SPOKEN_OF)
def test_the_shape_that_is_inferred_is_the_shape_that_is_computed(name):
    seen = 0
    for axiom in LIBRARY.axioms:
        for builder, instance, _, leaves, generator in drawn_with(axiom, name):
            values = {leaf: generator.standard_normal(leaf.type.shape) for leaf in leaves}
            terms = [
                term
                for term in postorder(instance)
                if not isinstance(term, Apply) or builder.operator(term).outputs == 1
            ]
            for term, array in zip(terms, evaluate_arrays(builder, FloatArrays(), terms, values), strict=True):
                assert builder.type(term).shape == array.shape
                seen += 1
    assert seen > 0


def drawn_with(axiom, operator):
    """One instance of each form of an axiom that mentions the operator."""
    for roots, _ in sides(axiom):
        if any(isinstance(term, Apply) and term.operator == operator for term in postorder(roots)):
            yield from drawn(axiom, 1, seed=3)
            return
