"""Applications of operators at random, with what ONNX Runtime computes for them: what meanings are compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import onnxruntime
from onnx import parser

from taso_opt.core.dims import symbol
from taso_opt.core.literal import literal, literal_value
from taso_opt.core.term import Apply, Attribute, Term, Var, postorder, variables
from taso_opt.core.types import PLACES, REAL, TRUTH, TensorType
from taso_opt.errors import TasoError, TypeMismatch
from taso_opt.onnx_io import standalone_model
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import random_instances
from taso_opt.spec import Operator, SpecLibrary, load_specs
from taso_opt.spec.builder import Builder
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.shared.elementwise import SCALARS
from taso_opt.spec.shared.fourier import PARTS, frequencies
from taso_opt.spec.shared.piecewise import ratio
from taso_opt.spec.shared.resampling import METHODS

CASES = 16
OPSET = 23
PARAMETER = Fraction(3, 16)
"""The unit of parameters, such as the epsilon of a normalization: large enough for a change of it to be seen, and no
part of 1, of which a factor cannot be seen."""

CONSTANTS = {("Gelu", 2): (0.5**0.5,), ("Gelu", 3): ((2 / np.pi) ** 0.5, 0.044715)}
"""Parameters that are constants of ONNX's own, by the operator and its number of operands: its last ones."""

TRUTHS = {"Where": (0,)}
"""Operands that are true or false."""

LOOKED_UP = {"Gather": ((), ("p",), ("p", "q"))}
"""Operators with places as a further operand, and shapes of these."""

NUMBERS = {"Clamp": (1, 2), "LeakyRelu": (1,), "ScaledElu": (1,)}
"""Operands of scalar functions that are one number for all elements."""

ATTRIBUTES = {
    "Attention": (3,),
    "BatchNormalization": (5,),
    "GroupNormalization": (3,),
    "InstanceNormalization": (1,),
    "LRN": (1, 2),
    "LayerNormalization": (1,),
    "LeakyRelu": (1,),
    "RMSNormalization": (1,),
    "ScaledElu": (1,),
}
"""Operands that ONNX keeps in attributes."""

TOLERANCE = 2e-4

CHOSEN: Mapping[str, Sequence[Mapping[str, Attribute]]] = {
    "Celu": [{"alpha": (1, 2)}],
    "Gather": [{"axis": axis} for axis in (-1, -2, -3)],
    "Interpolate": [{"method": method, "scales": (2, 3)} for method in range(len(METHODS))],
}
"""Attributes that no law speaks of, and that no family enumerates."""


class Meanings(FloatArrays):
    """Floats on which a maximum, say, is what its meaning says, not what NumPy has for it."""

    larger = smaller = less = at_most = chosen = clipped = magnitude = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Case:
    """One application with its operands and what ONNX Runtime computes for them."""

    term: Apply
    operands: Mapping[Any, Any]
    outputs: tuple[Any, ...]

    def agrees(self, library: SpecLibrary) -> bool:
        """Whether the meaning, as it is now, gives the outputs of the runtime."""
        builder = library.builder()
        count = len(builder.types(self.term))
        roots = [self.term] if count == 1 else [builder.item(self.term, at) for at in range(count)]
        with np.errstate(all="ignore"):
            mine = evaluate_arrays(builder, Meanings(), roots, self.operands)
        return all(map(_alike, mine, self.outputs))


def _alike(mine: Any, theirs: Any) -> bool:
    """Whether two outputs are equal but for rounding, beside the largest number of the output."""
    largest = float(np.max(np.abs(theirs), where=np.isfinite(theirs), initial=1.0))
    return mine.shape == theirs.shape and np.allclose(mine, theirs, TOLERANCE, TOLERANCE * largest, equal_nan=True)


def runtime_cases(library: SpecLibrary, name: str) -> Iterator[Case]:
    """Applications of an operator at random, as they occur in axioms, with the outputs of ONNX Runtime."""
    builder = library.builder()
    generator = np.random.default_rng(len(name))
    if name == "FourierKernel":
        yield from _fourier_cases(builder, generator)
        return
    if library.operators[name].weights_only:
        yield from _prepared_cases(library, name, generator)
        return
    # Few operators that others define have more than one definition, and axioms are many.
    for term in _spread(applications(library, name, 1, CASES)):
        try:
            inputs = [argument for argument in term.args if isinstance(argument, Var)]
            model = standalone_model(builder, [term], inputs, opset=OPSET, ir_version=8)
        except TasoError:
            continue
        values = _values(inputs, generator)
        constants = {argument: literal_value(argument) for argument in term.args if not isinstance(argument, Var)}
        operands = {**values, **{one: np.asarray(float(value or 0)) for one, value in constants.items()}}
        yield Case(term, operands, _run(model, inputs, values))


def _prepared_cases(library: SpecLibrary, name: str, generator: np.random.Generator) -> Iterator[Case]:
    """Sides of laws with an operator that ONNX lacks, with what the runtime computes for the other side, without.

    Of an operator that no law speaks of, the rules of the shipped library take their place.
    """
    builder = library.builder()
    laws = (*library.axioms.values(), *library.definitions.values())
    stated = [(*one.left, *one.right) for law in laws for one in law.instances(builder)]
    found = [sides for sides in stated if _prepares(sides, name)]
    chosen = _spread(found or [sides for sides in _shipped() if _prepares(sides, name)])
    for sides in chosen:
        for concrete in random_instances(builder, sides, CASES // len(chosen), generator, "float32"):
            whole, plain = sorted(concrete, key=lambda side: any(_is(term, name) for term in postorder([side])))[::-1]
            inputs = variables(concrete)
            values = _values(inputs, generator)
            outputs = (values[plain],) if isinstance(plain, Var) else _plain(builder, plain, values)
            assert isinstance(whole, Apply)
            yield Case(whole, values, outputs)


def _fourier_cases(builder: Builder, generator: np.random.Generator) -> Iterator[Case]:
    """Kernels of Fourier transforms, of which no law speaks, with what the runtime makes of one tap after the other."""
    for length, onesided in product(range(2, 8), (0, 1)):
        w, taps = Var("w", TensorType("float32", (length,))), Var("taps", TensorType("float32", (length, length, 1)))
        count = frequencies(length, onesided)
        text = f"""<ir_version: 8, opset_import: ["" : {OPSET}]> g (float[{length}, {length}, 1] i0, float[{length}] i1)
            => (float[{length}, 1, {count}, 2] y) <int64 step = {{{length}}}>
            {{ y = STFT <onesided = {onesided}> (i0, step, i1) }}"""
        values = _values([w], generator)
        each = {**values, taps: np.eye(length)[..., None]}
        (found,) = _run(parser.parse_model(text).SerializeToString(), [taps, w], each)
        kernel = found.reshape(length, 1, count * PARTS).transpose(2, 1, 0)
        yield Case(builder.apply("FourierKernel", [w], {"onesided": onesided}), values, (kernel,))


def _spread(found: Sequence[Any]) -> Sequence[Any]:
    """As many as are compared with the runtime, spread over all."""
    return found[:: max(len(found) // CASES, 1)][:CASES]


def _prepares(sides: Sequence[Term], name: str) -> bool:
    """Whether one of two sides has an operator."""
    return sorted(any(_is(term, name) for term in postorder([side])) for side in sides) == [False, True]


@cache
def _shipped() -> list[tuple[Term, ...]]:
    return [rule.roots for rule in read_rules(None, load_specs().builder())]


def _plain(builder: Builder, side: Term, values: Mapping[Any, Any]) -> tuple[Any, ...]:
    inputs = variables([side])
    return _run(standalone_model(builder, [side], inputs, opset=OPSET, ir_version=8), inputs, values)


def _is(term: Term, name: str) -> bool:
    return isinstance(term, Apply) and term.operator == name


def _values(inputs: Sequence[Var], generator: np.random.Generator) -> dict[Any, Any]:
    """Random numbers that float32 has, in double precision."""
    arrays = [np.asarray(generator.normal(scale=3.0, size=one.type.static_shape), np.float32) for one in inputs]
    return {one: typed(array, one, inputs).astype(np.float64) for one, array in zip(inputs, arrays, strict=True)}


def typed(array: Any, one: Var, inputs: Sequence[Var]) -> Any:
    """An array as the runtime takes it: of truths, of floats, or of places on any axis of the first of some inputs."""
    if one.type.dtype == TRUTH:
        return np.asarray(array > 0)
    if one.type.dtype == PLACES:
        least = min(inputs[0].type.static_shape)
        return np.asarray((np.floor(array) + least) % (2 * least) - least, np.int64)
    return np.asarray(array, np.float32)


def _run(model: bytes, inputs: Sequence[Var], values: Mapping[Any, Any]) -> tuple[Any, ...]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return tuple(session.run(None, {f"i{at}": typed(values[one], one, inputs) for at, one in enumerate(inputs)}))


def applications(library: SpecLibrary, name: str, from_axioms: int, from_definitions: int) -> list[Apply]:
    """Distinct applications of one operator over variables of float32, shapes and attributes at random.

    From each axiom and each definition so many instances; an operator with neither is applied as it is enumerated.
    """
    builder, operator = library.builder(), library.operators[name]
    generator = np.random.default_rng(len(name))
    if operator.scalar:
        return list(dict.fromkeys(_scalar_applications(builder, operator, generator)))
    found = dict.fromkeys(_chosen_applications(builder, operator, generator))
    laws = [(law, from_axioms) for law in library.axioms.values()]
    laws += [(law, from_definitions) for law in library.definitions.values()]
    for law, count in laws:
        for instance in law.instances(builder):
            roots = (*instance.left, *instance.right)
            if any(_is(term, name) for term in postorder(roots)):
                concrete = random_instances(builder, roots, count, generator, "float32")
                terms = (term for sides in concrete for term in postorder(sides))
                found |= {_alone(builder, term): None for term in terms if isinstance(term, Apply) and _is(term, name)}
    return list(found)


def _alone(builder: Builder, term: Apply) -> Apply:
    """The same application over variables, and over numbers where ONNX keeps operands in attributes."""
    types = [TensorType("float32", builder.type(argument).shape) for argument in term.args]
    operands = _operands(term.operator, types)
    constants = CONSTANTS.get((term.operator, len(operands)), ())
    operands[len(operands) - len(constants) :] = [literal(Fraction(*ratio(value)), "float32") for value in constants]
    return builder.apply(term.operator, operands, dict(term.attributes))


def _operands(name: str, types: Sequence[TensorType]) -> list[Term]:
    """Variables, and different numbers for what ONNX keeps in attributes."""
    operands: list[Term] = [Var(f"x{at}", kind) for at, kind in enumerate(types)]
    for at in ATTRIBUTES.get(name, ()):
        operands[at] = literal((at + 1) * PARAMETER, "float32")
    return operands


def _chosen_applications(builder: Builder, operator: Operator, generator: np.random.Generator) -> Iterator[Apply]:
    """What the enumeration tries of an operator that has no axioms, over shapes of rank 1 to 4."""
    enumerated = [choice for family in operator.choices.values() for choice in family] if operator.defined else []
    choices = enumerated or CHOSEN.get(operator.name, ())
    others = [[Var("x1", TensorType(PLACES, tuple(map(symbol, one))))] for one in LOOKED_UP.get(operator.name, ())]
    for choice, rank, further in product(choices, range(1, 5), others or [[]]):
        operand = Var("x0", TensorType(REAL, tuple(map(symbol, "nchw"[:rank]))))
        try:
            term = builder.apply(operator.name, [operand, *further], choice)
        except TypeMismatch:
            continue
        for (concrete,) in random_instances(builder, [term], 3, generator, "float32"):
            assert isinstance(concrete, Apply)
            yield concrete


def _scalar_applications(builder: Builder, operator: Operator, generator: np.random.Generator) -> Iterator[Apply]:
    """A scalar function with each choice of its parameters over shapes of rank 0 to 4, further operands smaller."""
    name = operator.name
    for attributes in (*operator.choices.get(SCALARS, ({},)), *CHOSEN.get(name, ())):
        for rank in (*range(5), *range(5), 3, 4):
            shape = tuple(int(size) for size in generator.integers(1, 6, rank))
            kept = shape[int(generator.integers(0, rank + 1)) :]
            smaller = tuple(size if generator.integers(2) else 1 for size in kept)
            shapes = [shape, smaller, smaller][: int(operator.arity or 1)]
            for at in NUMBERS.get(name, ()):
                shapes[at] = ()
            kinds = [TRUTH if at in TRUTHS.get(name, ()) else "float32" for at in range(len(shapes))]
            types = [TensorType(kind, one) for kind, one in zip(kinds, shapes, strict=True)]
            yield builder.apply(name, _operands(name, types), attributes)
