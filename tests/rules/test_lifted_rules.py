"""Rules of the library that were lifted to any number of operands hold for three, on numbers of random sizes."""

from dataclasses import replace

import numpy as np
import pytest

from taso_opt.core.dims import Size, substitute, total
from taso_opt.core.term import Var
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.rewrite.apply import Instantiation
from taso_opt.rewrite.compiled import CompiledRules
from taso_opt.rewrite.match import key, term_key
from taso_opt.rewrite.pattern import Application, Fold, Join, Output, Part, Total, Variable
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules

COUNT, ATTEMPTS = 3, 300


@pytest.fixture(scope="module")
def op():
    return load_specs().builder()


@pytest.fixture(scope="module")
def forms(op):
    """All rules about sums, joins and splits of any number."""
    return [form for form in CompiledRules(read_rules(None, op), op) if form.lifted]


def parts(pattern):
    """A pattern with all patterns in it."""
    yield pattern
    match pattern:
        case Application(_, args):
            for argument in args:
                yield from parts(argument)
        case Output(inner) | Part(inner) | Join(inner) | Fold(_, inner):
            yield from parts(inner)


def symbols(value):
    """The size symbols in shapes and attributes."""
    if isinstance(value, tuple):
        return [name for one in value for name in symbols(one)]
    size = value.size if isinstance(value, Total) else value
    return list(size.symbols()) if isinstance(size, Size) else []


def random_binding(form, generator):
    """Sizes and variables for three elements; TypeMismatch for sizes that cannot be."""
    found = [part for side in (form.source, form.target) for part in parts(side)]
    variables = {part.name: part for part in found if isinstance(part, Variable)}
    attributes = [part.attributes for part in found if isinstance(part, Application)]
    binding = {"#dtype": "float64", "#count": COUNT, "#owed": ()}
    for name in symbols((*(one.scheme.shape for one in variables.values()), *attributes)):
        for element in range(COUNT):
            size = (2, 1)[: generator.integers(3)] if name.startswith("*") else int(generator.integers(1, 4))
            size = size - 1 if name.startswith("p_") else size
            binding.setdefault(key(name, name in form.private_sizes, element), size)

    def value(size, element):
        return substitute(size, lambda name: binding.get(key(name, name in form.private_sizes, element)))

    for one in variables.values():
        for element in range(COUNT):
            shape = []
            for wanted, dim in zip(one.shape, one.scheme.shape, strict=True):
                if isinstance(dim, Size) and dim.is_star:
                    shape += binding[dim.symbol]
                elif wanted is None:  # what a split takes apart
                    mine = total(Size((term,)) for term in dim.terms if set(term[0]) & form.private_sizes)
                    shape.append(total(value(mine, at) for at in range(COUNT)))
                else:
                    shape.append(value(dim, element))
            name = term_key(one.name, one.private, element)
            binding.setdefault(name, Var(name, TensorType("float64", tuple(shape))))
    return binding


def random_instance(op, form, generator):
    """Both sides for three elements, one term for each output."""
    for _ in range(ATTEMPTS):
        try:
            binding = random_binding(form, generator)
            sides = [
                Instantiation(op, replace(form, target=side), binding, COUNT).targets()
                for side in (form.source, form.target)
            ]
        except TypeMismatch:
            continue
        return binding, sides
    return None


def test_they_hold_for_three_operands(op, forms):
    generator, tried, wrong = np.random.default_rng(0), 0, []
    for form in forms:
        instance = random_instance(op, form, generator)
        if instance is None:
            continue
        binding, (source, target) = instance
        leaves = [term for term in binding.values() if isinstance(term, Var)]
        values = {term: generator.uniform(0.5, 1, size=term.type.shape) for term in leaves}
        sides = [evaluate_arrays(op, FloatArrays(), side, values) for side in (source, target)]
        tried += 1
        if not all(np.allclose(*pair, rtol=1e-9) for pair in zip(*sides, strict=True)):
            wrong.append(form.rule.name)
    assert wrong == []
    assert tried > 0.9 * len(forms) > 100
