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

from taso_opt.core.dims import Dim, symbol
from taso_opt.core.literal import literal, literal_value
from taso_opt.core.term import Apply, Attribute, Term, Var, postorder, variables
from taso_opt.core.types import REAL, TRUTH, TensorType
from taso_opt.errors import TasoError, TypeMismatch
from taso_opt.onnx_io import standalone_model
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import random_instances
from taso_opt.spec import SpecLibrary, load_specs, piecewise
from taso_opt.spec.builder import Builder
from taso_opt.spec.elementwise import SCALARS
from taso_opt.spec.fourier import PARTS, frequencies
from taso_opt.spec.resampling import METHODS
from taso_opt.spec.rule_file import read_rules

CASES = 16
OPSET = 23
PARAMETER = Fraction(1, 4)
"""The value of parameters, such as the epsilon of a normalization: large enough for a change of it to be seen."""

CONSTANTS = {("Gelu", 2): (0.5**0.5,), ("Gelu", 3): ((2 / np.pi) ** 0.5, 0.044715)}
"""Parameters that are constants of ONNX's own, by the operator and its number of operands: its last ones."""

TRUTHS = {"Where": (0,)}
"""Operands that are true or false."""

NUMBERS = {"Clamp": (1, 2), "LeakyRelu": (1,), "ScaledElu": (1,)}
"""Operands of scalar functions that are one number for all elements."""

ATTRIBUTES = {"LeakyRelu": (1,), "ScaledElu": (1,)}
"""Those of them that ONNX keeps in attributes."""

TOLERANCE = 2e-4

CHOSEN: Mapping[str, Sequence[Mapping[str, Attribute]]] = {
    "Celu": [{"alpha": (1, 2)}],
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
        return all(
            u.shape == v.shape and np.allclose(u, v, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
            for u, v in zip(mine, self.outputs, strict=True)
        )


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
    terms = list(
        _scalar_terms(library, name, generator) if library.operators[name].scalar else _terms(library, name, generator)
    )
    for term in _spread(terms):
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
    return {one: _typed(array, one).astype(np.float64) for one, array in zip(inputs, arrays, strict=True)}


def _typed(array: Any, one: Var) -> Any:
    """An array as the runtime takes it: of truths, or of floats."""
    return np.asarray(array > 0) if one.type.dtype == TRUTH else array.astype(np.float32)


def _run(model: bytes, inputs: Sequence[Var], values: Mapping[Any, Any]) -> tuple[Any, ...]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return tuple(session.run(None, {f"i{at}": _typed(values[one], one) for at, one in enumerate(inputs)}))


def _terms(library: SpecLibrary, name: str, generator: np.random.Generator) -> list[Apply]:
    builder = library.builder()
    found: dict[Apply, None] = dict.fromkeys(_chosen_terms(library, name, generator))
    defined = library.operators[name].defined  # by one definition, where others occur in several axioms
    for axiom in (*library.axioms.values(), *library.definitions.values()):
        for instance in axiom.instances(builder):
            roots = (*instance.left, *instance.right)
            if not any(_is(term, name) for term in postorder(roots)):
                continue
            for concrete in random_instances(builder, roots, CASES if defined else 1, generator, "float32"):
                for term in postorder(concrete):
                    if isinstance(term, Apply) and term.operator == name:
                        shapes = [builder.type(argument).shape for argument in term.args]
                        operands = [_operand(at, shape, defined) for at, shape in enumerate(shapes)]
                        constants = CONSTANTS.get((name, len(operands)), ())
                        own = [literal(Fraction(*piecewise.ratio(value)), "float32") for value in constants]
                        operands[len(operands) - len(own) :] = own
                        found[builder.apply(name, operands, dict(term.attributes))] = None
    return list(found)


def _chosen_terms(library: SpecLibrary, name: str, generator: np.random.Generator) -> Iterator[Apply]:
    """What the enumeration tries of an operator that has no axioms, over shapes of rank 1 to 4."""
    builder, operator = library.builder(), library.operators[name]
    enumerated = [choice for family in operator.choices.values() for choice in family] if operator.defined else []
    choices = enumerated or CHOSEN.get(name, ())
    for choice, rank in product(choices, range(1, 5)):
        try:
            term = builder.apply(name, [Var("x0", TensorType(REAL, tuple(map(symbol, "nchw"[:rank]))))], choice)
        except TypeMismatch:
            continue
        for (concrete,) in random_instances(builder, [term], 2, generator, "float32"):
            assert isinstance(concrete, Apply)
            yield concrete


def _operand(at: int, shape: tuple[Dim, ...], defined: bool) -> Term:
    """A variable; the parameters of operators that are defined by others, behind the first operand, are constants."""
    is_variable = shape or at == 0 or not defined
    return Var(f"x{at}", TensorType("float32", shape)) if is_variable else literal(PARAMETER, "float32")


def _scalar_terms(library: SpecLibrary, name: str, generator: np.random.Generator) -> Iterator[Apply]:
    builder, operator = library.builder(), library.operators[name]
    for attributes in (*operator.choices.get(SCALARS, ({},)), *CHOSEN.get(name, ())):
        for rank in range(4):
            shape = tuple(int(size) for size in generator.integers(1, 6, rank))
            shapes = [() if at in NUMBERS.get(name, ()) else shape[at > 0 :] for at in range(int(operator.arity or 1))]
            types = [TRUTH if at in TRUTHS.get(name, ()) else "float32" for at in range(len(shapes))]
            kinds = [TensorType(*one) for one in zip(types, shapes, strict=True)]
            operands: list[Term] = [Var(f"x{at}", kind) for at, kind in enumerate(kinds)]
            for at in ATTRIBUTES.get(name, ()):
                operands[at] = literal(PARAMETER, "float32")
            yield builder.apply(name, operands, attributes)
