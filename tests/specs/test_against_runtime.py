"""The contract of every operator: its meaning is what ONNX Runtime and ONNX's own reference compute.

The cases come from the axioms, instantiated at random: every application in them, alone, over fresh variables. An
operator that states axioms is covered without new test code. Scalar functions state none: their cases are their
parameters over random shapes that broadcast.
"""

from fractions import Fraction
from itertools import islice

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, Item, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.errors import SpecError
from taso_opt.onnx_io import read_model, standalone_model
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import random_instances
from taso_opt.spec import load_specs
from taso_opt.spec.elementwise import SCALARS

OPSETS = (9, 11, 13, 17, 18, 20)
FIRST_OPSET = {"HardSwish": 14, "LayerNormalization": 17, "Mish": 18}
FAULTY_REFERENCE = {"LRN"}
"""Operators that ONNX's reference gets wrong: its LRN walks through as many channels as the batch has images."""

NUMBERS = {"LRN": (1, 2), "LayerNormalization": (1,)}
"""Operands that ONNX keeps in attributes."""

CASES = 40
SPREAD = 3.0
"""Wide enough for all pieces of hard swishes and the like."""

TOLERANCE = {"rtol": 2e-4, "atol": 2e-5}


def applications(library, name):
    """Distinct applications of one operator over variables of float32, shapes and attributes at random."""
    op = library.builder()
    generator = np.random.default_rng(len(name))
    if library.operators[name].scalar:
        return scalar_applications(op, library.operators[name], generator)
    seen = {}
    laws = [(axiom, 3) for axiom in library.axioms.values()]
    laws += [(definition, 12) for definition in library.definitions.values()]
    for law, count in laws:
        for instance in law.instances(op):
            roots = (*instance.left, *instance.right)
            if not any(isinstance(term, Apply) and term.operator == name for term in postorder(roots)):
                continue
            for concrete in random_instances(op, roots, count, generator, "float32"):
                for term in postorder(concrete):
                    if isinstance(term, Apply) and term.operator == name:
                        seen.setdefault(alone(op, term))
    return list(seen)


def scalar_applications(op, operator, generator):
    """A scalar function with each choice of its parameters over shapes of rank 0 to 4, the second operand smaller."""
    found = {}
    for attributes in operator.choices.get(SCALARS, ({},)):
        for rank in (*range(5), *range(5), 3, 4):
            shape = tuple(int(size) for size in generator.integers(1, 6, rank))
            kept = shape[int(generator.integers(0, rank + 1)) :]
            smaller = tuple(size if generator.integers(2) else 1 for size in kept)
            shapes = (shape, smaller)[: operator.arity]
            operands = [Var(f"x{at}", TensorType("float32", one)) for at, one in enumerate(shapes)]
            found.setdefault(op.apply(operator.name, operands, attributes))
    return list(found)


def alone(op, term):
    """The same application over variables, and over numbers where ONNX keeps operands in attributes."""
    variables = [Var(f"x{at}", TensorType("float32", op.type(arg).shape)) for at, arg in enumerate(term.args)]
    for at in NUMBERS.get(term.operator, ()):
        variables[at] = literal(Fraction(at + 1, 4), "float32")
    return op.apply(term.operator, variables, dict(term.attributes))


def models(op, cases):
    """CASES of the cases, evenly chosen, each as a model at one opset; those that it cannot express are left out.

    Few may be: dilated max pooling exists since opset 10.
    """
    chosen = list(islice(cases[:: max(len(cases) // CASES, 1)], CASES))
    left_out = 0
    for number, term in enumerate(chosen):
        opsets = [opset for opset in OPSETS if opset >= FIRST_OPSET.get(term.operator, 0)]
        opset = opsets[number % len(opsets)]
        try:
            model = standalone_model(op, [term], inputs(term), opset=opset, ir_version=8)
        except SpecError:
            left_out += 1
            continue
        yield term, opset, model
    assert left_out <= len(chosen) // len(OPSETS) + 1


@pytest.fixture(scope="module")
def library():
    return load_specs()


@pytest.mark.parametrize("name", sorted(load_specs().operators))
def test_the_meaning_of_an_operator_is_what_the_runtime_and_the_reference_compute(library, name):
    cases = applications(library, name)
    assert len(cases) >= 10, f"too few cases for {name}"
    op = library.builder()
    for number, (term, opset, model) in enumerate(models(op, cases)):
        feed, leaves = random_operands(term, number)
        outputs = [term] if len(op.types(term)) == 1 else [op.item(term, at) for at in range(len(op.types(term)))]
        mine = evaluate_arrays(op, FloatArrays(), outputs, leaves)
        for value, output in zip(mine, outputs, strict=True):
            assert value.shape == op.type(output).shape
        with np.errstate(invalid="ignore"):  # the logarithm of a negative number is no number, and that is compared
            reference = [] if name in FAULTY_REFERENCE else [("reference", ReferenceEvaluator(model).run(None, feed))]
        for source, theirs in (("runtime", run(model, feed)), *reference):
            for value, other in zip(mine, theirs, strict=True):
                np.testing.assert_allclose(other, value, **TOLERANCE, err_msg=f"{source}, opset {opset}: {term!r}")


@pytest.mark.parametrize("name", sorted(load_specs().operators))
def test_what_an_operator_writes_it_reads_back_as_itself(library, name, tmp_path):
    op = library.builder()
    path = tmp_path / "model.onnx"
    for term, opset, model in models(op, applications(library, name)):
        path.write_bytes(model)
        output = read_model(path, library).graph.outputs[0]
        whole = output.term if isinstance(output, Item) else output
        given = {Var(f"i{at}", arg.type): arg for at, arg in enumerate(inputs(term))}
        # Where ONNX demands a scale, ones are written.
        read = op.rebuild(whole, tuple(given.get(arg, arg) for arg in whole.args[: len(term.args)]))
        assert read is canonical(op, term), f"opset {opset}: {whole!r}"


def canonical(op, term):
    """The one of several equal terms that reading gives: fractions in lowest terms, pads that are there counted."""
    attributes = dict(term.attributes)
    for name in {"beta", "exponent"} & attributes.keys():
        attributes[name] = Fraction(*attributes[name]).as_integer_ratio()
    if attributes.get("count_include_pad") and not any(attributes["pads"]):
        attributes["count_include_pad"] = 0
    return op.apply(term.operator, term.args, attributes)


def inputs(term):
    """The operands that are no numbers."""
    return [arg for arg in term.args if isinstance(arg, Var)]


def random_operands(term, seed):
    """Inputs for the model by name, and for the meaning by variable, in double precision."""
    generator = np.random.default_rng(seed)
    arrays = [generator.normal(scale=SPREAD, size=arg.type.shape) for arg in inputs(term)]
    arrays = [np.asarray(array, np.float32) for array in arrays]
    feed = {f"i{at}": array for at, array in enumerate(arrays)}
    return feed, {arg: array.astype(np.float64) for arg, array in zip(inputs(term), arrays, strict=True)}


def run(model, feed):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, feed)


def test_the_models_of_the_contract_are_valid(library):
    op = library.builder()
    for name in library.operators:
        term = applications(library, name)[0]
        opset = max(17, FIRST_OPSET.get(name, 0))
        model = onnx.load_from_string(standalone_model(op, [term], inputs(term), opset=opset, ir_version=8))
        onnx.checker.check_model(model, full_check=True)
