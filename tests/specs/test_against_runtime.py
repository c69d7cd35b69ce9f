"""The contract of every operator: its meaning is what ONNX Runtime and ONNX's own reference compute.

The cases come from the axioms, instantiated at random: every application in them, alone, over fresh variables. An
operator that states axioms is covered without new test code. Scalar functions state none: their cases are their
parameters over random shapes that broadcast. Nor does what is enumerated and rests on its meaning: its cases are what
is enumerated.
"""

from fractions import Fraction
from functools import cache
from itertools import islice

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

from mutation.runtime_cases import applications, typed
from taso_opt.core.term import Apply, Const, Item, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.errors import SpecError
from taso_opt.onnx_io import read_model, standalone_model
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import random_instances
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules

OPSETS = (9, 11, 13, 17, 18, 20, 23)
FIRST_OPSET = {
    "Attention": 23,
    "Celu": 12,
    "Clamp": 11,
    "Gelu": 20,
    "GroupNormalization": 21,
    "HardSwish": 14,
    "LayerNormalization": 17,
    "LessOrEqual": 12,
    "Mish": 18,
    "RMSNormalization": 23,
    "Softmax": 13,
    "Subsample": 10,
}
FAULTY_REFERENCE = {
    "BatchNormalization": 13,
    "GlobalMaxPool": max(OPSETS),
    "LRN": max(OPSETS),
    "Softsign": max(OPSETS),
}
"""Operators that ONNX's reference gets wrong up to some opset: its LRN walks through as many channels as the batch has
images, it takes early batch normalizations to be in training, of lines its global pool loses the channels, and its
Softsign knows no single numbers."""

UNKNOWN_TO_REFERENCE = (("RNN", ("activation", "Relu")),)
"""Attributes of operators that ONNX's reference does not know."""


def is_stated_by(law, name):
    """Whether a law stands in the file of an operator."""
    return law.law.__module__.endswith(f".{name.lower()}")


CASES = 40
WRITTEN = sorted(name for name, operator in load_specs().operators.items() if not operator.weights_only)
PREPARED = sorted(name for name, one in load_specs().operators.items() if one.weights_only and not one.defined)
WEIGHTS = ("f", "w")
"""What axioms call the operand that is prepared."""
DEFINED = sorted(name for name, one in load_specs().operators.items() if one.weights_only and one.defined)
READ = {"FourierKernel"}
"""Made where nodes are read: tests/onnx_io/test_fourier.py compares them with the runtime."""
STATED = {name for name in DEFINED for law in load_specs().definitions.values() if is_stated_by(law, name)}
IN_RULES = [name for name in DEFINED if name not in STATED | READ]
SPREAD = 3.0
"""Wide enough for all pieces of hard swishes and the like."""

TOLERANCE = {"rtol": 2e-4, "atol": 2e-5}


@cache
def cases_of(name):
    """Distinct applications of one operator, those of definitions many: few operators have more than one."""
    return applications(load_specs(), name, 3, 12)


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


WINDOW = {"strides": (1,), "pads": (0, 0), "dilations": (1,)}
DEEP = {"strides": (2, 1, 3), "pads": (1, 0, 2, 0, 1, 1), "dilations": (1, 2, 1)}
BEYOND = (
    ("Conv", ((2, 3, 9), (4, 3, 3)), {**WINDOW, "group": 1}),
    ("Conv", ((2, 6, 9), (9, 2, 2), (9,)), {"strides": (3,), "pads": (0, 1), "dilations": (2,), "group": 3}),
    ("Conv", ((1, 4, 7, 6, 8), (6, 2, 2, 3, 2)), {**DEEP, "group": 2}),
    ("Conv", ((1, 4, 5, 5), (4, 1, 3, 3)), {"strides": (2, 1), "pads": (2, 0, 1, 1), "dilations": (1, 2), "group": 4}),
    ("MaxPool", ((2, 3, 9),), {**WINDOW, "kernel": (3,)}),
    ("MaxPool", ((1, 2, 7, 6, 8),), {**DEEP, "kernel": (3, 2, 3)}),
    ("AveragePool", ((2, 3, 9),), {"strides": (2,), "pads": (1, 0), "kernel": (3,), "count_include_pad": 0}),
    ("AveragePool", ((2, 3, 9),), {"strides": (3,), "pads": (1, 2), "kernel": (4,), "count_include_pad": 1}),
    (
        "AveragePool",
        ((1, 2, 6, 7, 5),),
        {"strides": (1, 2, 3), "pads": (0, 1, 1, 1, 0, 1), "kernel": (2, 3, 2), "count_include_pad": 0},
    ),
    *(
        ("Transpose", ((2, 3, 4, 5),), {"perm": perm})
        for perm in ((-1, -4, -3, -2), (-3, -1, -4, -2), (-2, -1, -4, -3))
    ),
    *(("Concat", ((2, 3, 4), (2, 3, 4), (2, 3, 4)), {"axis": axis}) for axis in (-1, -2, -3)),
    ("Concat", ((2, 3),), {"axis": -1}),
    ("Concat", ((1,), (5,), (2,), (3,)), {"axis": -1}),
    ("Split", ((7,),), {"axis": -1, "sizes": (1, 2, 4)}),
    ("Split", ((2, 9, 3),), {"axis": -2, "sizes": (4, 1, 3, 1)}),
    ("Reshape", ((2, 3, 4),), {"shape": (4, 3, 2)}),
    ("Reshape", ((1,),), {"shape": ()}),
    ("MatMul", ((3, 1, 4, 5), (2, 5, 6)), {}),
    ("MatMul", ((4, 5), (2, 3, 5, 6)), {}),
    *(("Pow", ((3, 4),), {"exponent": exponent}) for exponent in ((1, 2), (3, 2), (3, 1), (4, 1))),
    *(
        ("Clip", ((3, 4),), {"low": low, "high": high})
        for low, high in (((), (1, 2)), ((-1, 3), ()), ((-2, 1), (2, 1)))
    ),
    *((name, ((3, 4),), {"alpha": alpha}) for name in ("Celu", "Elu") for alpha in ((1, 2), (2, 1))),
    ("Selu", ((3, 4),), {"alpha": (3, 2), "gamma": (2, 3)}),
    *(("HardSigmoid", ((3, 4),), {"alpha": alpha, "beta": (1, 3)}) for alpha in ((1, 5), (1, 1), (2, 1))),
    *((name, ((3, 1, 4), (5, 1)), {}) for name in ("Add", "Sub", "Mul", "Div", "Max", "Min")),
    *((name, ((4,), (2, 3, 4)), {}) for name in ("Add", "Sub", "Mul", "Div", "Max", "Min")),
)
"""Ranks, attributes and broadcasts that no axiom happens to instantiate."""


@pytest.mark.parametrize(
    ("name", "shapes", "attributes"), BEYOND, ids=lambda value: value if isinstance(value, str) else ""
)
def test_meanings_agree_at_ranks_and_attributes_beyond_those_of_the_axioms(library, name, shapes, attributes):
    op = library.builder()
    term = op.apply(name, [Var(f"x{at}", TensorType("float32", shape)) for at, shape in enumerate(shapes)], attributes)
    model = standalone_model(op, [term], term.args, opset=17, ir_version=8)
    feed, leaves = random_operands(term, len(shapes))
    outputs = [term] if len(op.types(term)) == 1 else [op.item(term, at) for at in range(len(op.types(term)))]
    mine = evaluate_arrays(op, FloatArrays(), outputs, leaves)
    with np.errstate(invalid="ignore", divide="ignore"):
        reference = ReferenceEvaluator(model).run(None, feed)
    for theirs in (run(model, feed), reference):
        for value, other, output in zip(mine, theirs, outputs, strict=True):
            assert value.shape == op.type(output).shape
            np.testing.assert_allclose(other, value, **TOLERANCE)


def _rounded(value):
    """The tolerance; what cancels out in a sum is off by a part of the largest sums."""
    size = float(np.max(np.abs(value), initial=0.0, where=np.isfinite(value)))
    return {**TOLERANCE, "atol": TOLERANCE["atol"] * max(1.0, size / 10)}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_meaning_of_an_operator_is_what_the_runtime_and_the_reference_compute(library, name):
    cases = cases_of(name)
    assert len(cases) >= 10, f"too few cases for {name}"
    op = library.builder()
    for number, (term, opset, model) in enumerate(models(op, cases)):
        feed, leaves = random_operands(term, number)
        outputs = [term] if len(op.types(term)) == 1 else [op.item(term, at) for at in range(len(op.types(term)))]
        mine = evaluate_arrays(op, FloatArrays(), outputs, leaves)
        for value, output in zip(mine, outputs, strict=True):
            assert value.shape == op.type(output).shape
        # The logarithm of a negative number is no number, and that is compared; exponentials of large ones overflow.
        with np.errstate(invalid="ignore", over="ignore"):
            is_faulty = opset <= FAULTY_REFERENCE.get(name, 0)
            is_known = all((name, attribute) not in UNKNOWN_TO_REFERENCE for attribute in term.attributes)
            reference = [("reference", ReferenceEvaluator(model).run(None, feed))] if is_known and not is_faulty else []
        for source, theirs in (("runtime", run(model, feed)), *reference):
            for value, other in zip(mine, theirs, strict=True):
                says = f"{source}, opset {opset}: {term!r}"
                np.testing.assert_allclose(other, value, **_rounded(value), err_msg=says)


def test_what_is_no_number_is_told_as_the_runtime_tells_it(library):
    op = library.builder()
    x = Var("x", TensorType("float32", (4,)))
    values = np.array([np.nan, np.inf, -np.inf, 0], np.float32)
    model = standalone_model(op, [op.IsNaN(x)], [x], opset=17, ir_version=8)
    (mine,) = evaluate_arrays(op, FloatArrays(), [op.IsNaN(x)], {x: values.astype(np.float64)})
    assert mine.tolist() == run(model, {"i0": values})[0].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("name", WRITTEN)
def test_what_an_operator_writes_is_valid_and_reads_back_as_itself(library, name, tmp_path):
    op = library.builder()
    path = tmp_path / "model.onnx"
    for term, opset, model in models(op, cases_of(name)):
        onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
        path.write_bytes(model)
        output = read_model(path, library).graph.outputs[0]
        whole = output.term if isinstance(output, Item) else output
        given = {Var(f"i{at}", arg.type): arg for at, arg in enumerate(inputs(term))}
        if isinstance(whole, Var):  # what leaves its operand as it is
            assert given[whole] is canonical(op, term)
            continue
        # Where ONNX demands a scale, ones are written.
        read = op.rebuild(whole, tuple(given.get(arg, arg) for arg in whole.args[: len(term.args)]))
        assert read is canonical(op, term), f"opset {opset}: {whole!r}"


@pytest.mark.parametrize("name", PREPARED)
def test_products_with_prepared_weights_compute_the_same_in_the_runtime(library, name):
    op, generator = library.builder(), np.random.default_rng(0)
    laws = [axiom for axiom in library.axioms.values() if axiom.law.__module__.endswith(f".{name.lower()}")]
    instances = [one for law in laws for one in law.instances(op) if has_product((*one.left, *one.right))]
    assert instances, f"expected an axiom about products with {name}"
    for instance in instances:
        for sides in random_instances(op, (*instance.left, *instance.right), 5, generator, "float32"):
            left, right = with_constant_weights(op, sides)
            x = generator.normal(size=op.type(Var("x", variable_types(sides)["x"])).shape).astype(np.float32)
            (shape,) = (kind.shape for one, kind in variable_types(sides).items() if one in WEIGHTS)
            weights = generator.normal(size=shape).astype(np.float32)
            found = []
            for side in (left, right):
                if isinstance(side, Var):
                    found.append(x)
                    continue
                model = standalone_model(op, [side], opset=17, ir_version=8, constant_values=lambda _, w=weights: w)
                found.append(run(model, {"i0": x})[0])
            np.testing.assert_allclose(*found, **TOLERANCE)


@pytest.mark.parametrize("name", sorted(STATED))
def test_prepared_weights_are_what_the_runtime_computes_for_their_definition(library, name):
    op, generator = library.builder(), np.random.default_rng(0)
    laws = [law for law in library.definitions.values() if is_stated_by(law, name)]
    instances = [one for law in laws for one in law.instances(op)]
    for instance in instances:
        for number, (left, right) in enumerate(
            random_instances(op, (*instance.left, *instance.right), 8, generator, "float32")
        ):
            model = standalone_model(op, [right], left.args, opset=17, ir_version=8)
            feed, leaves = random_operands(left, number)
            (mine,) = evaluate_arrays(op, FloatArrays(), [left], leaves)
            (theirs,) = run(model, feed)
            assert mine.shape == op.type(left).shape
            np.testing.assert_allclose(theirs, mine, **_rounded(mine))


@pytest.mark.parametrize("name", IN_RULES)
def test_prepared_weights_that_no_definition_states_make_rules_that_the_runtime_confirms(library, name):
    op, generator = library.builder(), np.random.default_rng(0)
    rules = [rule for rule in read_rules(None, op) if applies(rule.roots, name)]
    assert rules, f"expected a definition of {name}, or a rule of the library about it"
    for rule in rules:
        for number, (plain, whole) in enumerate(random_instances(op, rule.roots, 3, generator, "float32")):
            variables = [term for term in postorder([plain]) if isinstance(term, Var)]
            feed, leaves = random_values(variables, number)
            (mine,) = evaluate_arrays(op, FloatArrays(), [whole], leaves)
            (theirs,) = run(standalone_model(op, [plain], variables, opset=17, ir_version=8), feed)
            np.testing.assert_allclose(theirs, mine, **_rounded(mine))


def test_weights_that_the_runtime_prepares_are_what_their_meaning_says(library):
    op = library.builder()
    kernel = Var("f", TensorType("float32", (5, 4, 3, 3)))
    term = op.WinogradKernel(kernel, points=((0, 1), (2, 3), (-2, 3), (1, 0)))
    feed, leaves = random_operands(term, 0)
    (mine,) = evaluate_arrays(op, FloatArrays(), [term], leaves)
    (theirs,) = run(standalone_model(op, [term], [kernel], opset=17, ir_version=8), feed)
    np.testing.assert_allclose(theirs, mine, **_rounded(mine))


def applies(roots, name):
    return any(isinstance(term, Apply) and term.operator == name for term in postorder(roots))


def has_product(roots):
    return applies(roots, "Conv") or applies(roots, "MatMul")


def variable_types(roots):
    return {term.name: term.type for term in postorder(roots) if isinstance(term, Var)}


def with_constant_weights(op, roots):
    """The same terms with the variable that weights are prepared from as a constant."""
    new = {}
    for term in postorder(roots):
        if isinstance(term, Apply):
            new[term] = op.rebuild(term, tuple(new[argument] for argument in term.args))
        else:
            new[term] = Const(term.name, term.type) if term.name in WEIGHTS else term
    return [new[root] for root in roots]


def canonical(op, term):
    """The one of several equal terms that reading gives: fractions in lowest terms, pads that are there counted.

    Padding is told of the last two axes, and of others only from the first one on that is padded. An axis of size one
    more or less is another shape.
    """
    attributes = dict(term.attributes)
    if term.operator in ("Squeeze", "Unsqueeze"):
        return op.Reshape(*term.args, shape=op.type(term).shape)
    for name in {"beta", "exponent"} & attributes.keys():
        attributes[name] = Fraction(*attributes[name]).as_integer_ratio()
    if (1, 1) in (attributes.get("scales"), term.operator == "Subsample" and attributes["strides"]):
        return term.args[0]
    if attributes.get("count_include_pad") and not any(attributes["pads"]):
        attributes["count_include_pad"] = 0
    if term.operator == "Pad":
        rank, pads = op.type(term).rank, attributes["pads"]
        half = len(pads) // 2
        pairs = [(0, 0)] * (rank - half) + list(zip(pads[:half], pads[half:], strict=True))
        first = min([at for at, pair in enumerate(pairs) if any(pair)] + [max(rank - 2, 0)])
        attributes["pads"] = tuple(pair[side] for side in range(2) for pair in pairs[first:])
    return op.apply(term.operator, term.args, attributes)


def inputs(term):
    """The operands that are no numbers."""
    return [arg for arg in term.args if isinstance(arg, Var)]


def random_operands(term, seed):
    """Inputs for the model of one operator by name, and for its meaning by variable, in double precision."""
    return random_values(inputs(term), seed)


def random_values(variables, seed):
    """The same of some variables."""
    generator = np.random.default_rng(seed)
    arrays = [generator.normal(scale=SPREAD, size=variable.type.shape) for variable in variables]
    arrays = [typed(array, variable, variables) for variable, array in zip(variables, arrays, strict=True)]
    feed = {f"i{at}": array for at, array in enumerate(arrays)}
    return feed, {variable: array.astype(np.float64) for variable, array in zip(variables, arrays, strict=True)}


def run(model, feed):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, feed)
