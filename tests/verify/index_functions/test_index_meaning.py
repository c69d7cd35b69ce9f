"""Whatever an index function says of an element is what evaluation at numbers finds there."""

from itertools import product
from math import prod

import numpy as np
import pytest

from taso_opt.core.dims import STAR, Size
from taso_opt.core.term import Var, postorder
from taso_opt.errors import TypeMismatch
from taso_opt.semantics.arrays import ModularArrays
from taso_opt.semantics.bounds import bounds_of_sizes
from taso_opt.semantics.evaluate import evaluate, evaluate_arrays
from taso_opt.semantics.instances import instantiate, random_assignment, symbols_of
from taso_opt.spec import ScalarFunction, load_specs
from taso_opt.verify.index_functions.arrays import IndexArrays
from taso_opt.verify.index_functions.canonical import canonical
from taso_opt.verify.index_functions.elements import (
    Access,
    Amount,
    Delta,
    Greatest,
    Guard,
    Image,
    Lowered,
    Reciprocal,
)
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.indices import replaced
from taso_opt.verify.index_functions.layout import places

LIBRARY = load_specs()
PRIME = ModularArrays.prime
FUNCTIONS = {name: ScalarFunction(name, np.tanh, zero_preserving=name != "sigmoid") for name in ("sigmoid", "tanh")}
FUNCTIONS["relu"] = ScalarFunction("relu", np.tanh, zero_preserving=True, idempotent=True)
SAMPLED = 12
"""How many elements of an output are compared."""


class Reader:
    """Computes elements at numbers for sizes and arrays for variables."""

    def __init__(self, numbers, arrays, arithmetic):
        self.numbers, self.arrays, self.arithmetic = numbers, arrays, arithmetic

    def value(self, element, names):
        return sum(self.product(one, names) for one in element.products) % PRIME

    def product(self, one, names):
        scale = one.coefficient.numerator * pow(one.coefficient.denominator, -1, PRIME)
        return scale * sum(self.factors(one.factors, inner) for inner in self.walk(one.bound, names))

    def walk(self, bound, names):
        for values in product(*(range(self.number(size, names)) for _, size in bound)):
            yield {**names, **dict(zip((name for name, _ in bound), values, strict=True))}

    def factors(self, factors, names):
        if any(isinstance(factor, Guard) and self.number(factor.margin, names) < 0 for factor in factors):
            return 0
        total = 1
        for factor in factors:
            total = total * self.factor(factor, names) % PRIME
        return total

    def factor(self, factor, names):
        match factor:
            case Access(tensor, place):
                where = tuple(self.number(index, names) for index in place)
                assert all(0 <= index < size for index, size in zip(where, self.arrays[tensor].shape, strict=True))
                return int(self.arrays[tensor][where])
            case Amount(name):
                return self.numbers[name]
            case Guard():
                return 1
            case Delta(first, second):
                return int(self.number(first, names) == self.number(second, names))
            case Image(function, argument):
                argument = np.array([self.value(argument, names)])
                return int(self.arithmetic.apply(FUNCTIONS[function], argument)[0])
            case Lowered():
                return self.shown(factor, names)
            case Greatest(bound, inner):
                (one,) = inner.products
                (factor,) = one.factors if isinstance(one.factors[0], Lowered) else (None,)
                values = [self.shown(factor, at) if factor else self.value(inner, at) for at in self.walk(bound, names)]
                return max(values)
            case Reciprocal(inner):
                return pow(self.value(inner, names), -1, PRIME)

    def shown(self, lowered, names):
        if any(self.number(margin, names) < 0 for margin in lowered.margins):
            return ModularArrays.lowest
        return self.value(lowered.inner, names)

    def number(self, index, names):
        number = replaced(index, {**self.numbers, **names})
        assert isinstance(number, int), f"expected a number for {index}"
        return number


def merged_sizes(assignment):
    return {name: prod(value) if isinstance(value, tuple) else value for name, value in assignment.items()}


def concrete(roots, generator):
    """Numbers for all symbols at which the terms are well-typed, with the terms at those numbers."""
    symbols = symbols_of(roots)
    for _ in range(4000):
        assignment = random_assignment(symbols, generator)
        builder = LIBRARY.builder()
        try:
            return assignment, builder, instantiate(builder, roots, assignment, "float64")
        except TypeMismatch:
            continue
    raise AssertionError(f"expected sizes that fit {roots}")


def readings(roots, assignment):
    """Each output as an index tensor, with the numbers of its sizes."""
    xp = IndexArrays(Facts(bounds_of_sizes(roots).least))
    leaves = {leaf: xp.variable(leaf.name, leaf.type.shape) for leaf in postorder(roots) if isinstance(leaf, Var)}
    return xp.facts, evaluate(LIBRARY.builder(), xp, roots, leaves)


@pytest.mark.parametrize("name", sorted(LIBRARY.axioms))
def test_an_index_function_computes_what_evaluation_computes(name):
    generator = np.random.default_rng(sum(name.encode()))
    first, *others = LIBRARY.axioms[name].instances(LIBRARY.builder())
    for instance in (first, *others[-1:]):
        roots = (*instance.left, *instance.right)
        assignment, builder, numeric = concrete(roots, generator)
        arithmetic = ModularArrays(seed=3)
        leaves = {leaf.name: leaf for leaf in postorder(numeric) if isinstance(leaf, Var)}
        values = {leaf: arithmetic.random(generator, leaf.type.shape) for leaf in leaves.values()}
        results = evaluate_arrays(builder, arithmetic, numeric, values)
        facts, tensors = readings(roots, assignment)
        numbers = merged_sizes(assignment)
        shapes = {
            leaf.name: tuple(replaced(size, numbers) for size in leaf.type.shape)
            for leaf in postorder(roots)
            if isinstance(leaf, Var)
        }
        arrays = {name: values[leaf].reshape(shapes[name]) for name, leaf in leaves.items()}
        reader = Reader(numbers, arrays, arithmetic)
        for tensor, result in zip(tensors, results, strict=True):
            shape = tuple(reader.number(size, {}) for size in tensor.shape)
            compare(facts, reader, tensor, result.reshape(shape), generator)


def compare(facts, reader, tensor, result, generator):
    found = []
    for place, bound in places(facts, tensor.layouts):
        element = tensor.at(place)
        for names in reader.walk(bound, {}):
            where = tuple(reader.number(index, names) for index in place)
            found += [(where, element, names)]
    assert sorted(where for where, _, _ in found) == list(np.ndindex(*result.shape))
    for at in generator.choice(len(found), size=min(SAMPLED, len(found)), replace=False):
        where, element, names = found[at]
        assert reader.value(element, names) == result[where] == reader.value(canonical(element), names)


def test_a_guard_is_left_where_an_index_may_lie_on_either_side_of_a_seam():
    builder = LIBRARY.builder()
    x, y = (Var(name, kind) for name, kind in zip("xy", (scheme("m n"), scheme("m p")), strict=True))
    facts, (tensor,) = readings((builder.Concat(x, y, axis=-1),), {})
    whole = facts.fresh(tensor.shape[1])
    assert isinstance(whole, Size) and not whole.is_star
    guards = [factor for one in tensor.at((0, whole)).products for factor in one.factors if isinstance(factor, Guard)]
    assert len(guards) == 2
    arrays = {"x": np.arange(2).reshape(1, 2), "y": np.arange(5, 8).reshape(1, 3)}
    reader = Reader({"m": 1, "n": 2, "p": 3}, arrays, ModularArrays())
    assert [reader.value(tensor.at((0, whole)), {str(whole): at}) for at in range(5)] == [0, 1, 5, 6, 7]


def scheme(text):
    from taso_opt.core.types import parse_scheme

    assert STAR not in text
    return parse_scheme(text)
