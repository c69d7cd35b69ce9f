"""Mutates every axiom, each of its preconditions and the meaning of each operator, and prints the mutants that survive.

A mutant of an axiom is caught when type inference refuses it or it is not proved for all sizes; one that is proved and
that evaluation agrees with is true as well, and so no mutant that could be caught. A mutant of a meaning is caught by
the outputs of ONNX Runtime, by evaluation that fails, or by an axiom that is no longer proved. What prepares kernels
is no node of ONNX: convolutions with what it prepares are compared with those that axioms equate them with. Conditions
on constants are those of the shipped rules; a rule must not be proved without them or under weaker ones. Exit code 1
when a mutant survives.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from types import FunctionType
from typing import Any

import numpy as np
import onnxruntime

from mutants import changed_laws, changed_meanings, in_force, weakened_conditions, weakened_laws
from taso_opt.core.dims import Dim, symbol
from taso_opt.core.literal import literal, literal_value
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Attribute, Term, Var, postorder, variables
from taso_opt.core.types import REAL, TRUTH, TensorType
from taso_opt.errors import TasoError, TypeMismatch
from taso_opt.onnx_io import standalone_model
from taso_opt.semantics.arrays import FloatArrays
from taso_opt.semantics.evaluate import evaluate_arrays
from taso_opt.semantics.instances import random_instances
from taso_opt.spec import SpecLibrary, load_specs, piecewise, reductions, transcendental, windows
from taso_opt.spec.builder import Builder
from taso_opt.spec.elementwise import SCALARS
from taso_opt.spec.resampling import METHODS
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.text import MISFITS, format_rule
from taso_opt.verify.definitions import prove_definition
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.evaluation.refute import refute
from taso_opt.verify.index_functions.prove import ProvedForAllSizes, prove_axiom, prove_for_all_sizes
from taso_opt.verify.scalar_rules import is_scalar, rests_on_meanings
from taso_opt.verify.scalars import prove_scalars
from taso_opt.verify.verdict import Counterexample

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
AGREEING = 8
"""Instances on which a true mutant has to agree."""

NEXT_AXIS = "joined along the next axis the two kernels of a pair stand in the same order once pairs are one axis again"
ONE_WINDOW = "there is one window only, so that no stride leads to a second one"
SQUARE_KERNEL = "the kernel has as many rows as columns of taps, which its types ask for"
SQUARE_MATRIX = "the matrix is square, which its types ask for"
CHOSEN: Mapping[str, Sequence[Mapping[str, Attribute]]] = {
    "Interpolate": [{"method": method, "scales": (2, 3)} for method in range(len(METHODS))]
}
"""Attributes of operators of which no law speaks, and which no family enumerates."""

EQUIVALENT: Mapping[tuple[str, str], str] = {
    ("PairGroups", "line 7: 4 becomes 3"): NEXT_AXIS,
    ("PairGroups", "line 7: 1 becomes 2"): NEXT_AXIS,
    ("IdentityKernel", "line 2: 0 becomes 1"): "the kernel has as many channels in as out, which its types ask for",
    ("PoolKernel", "line 3: 'g,cd->gcd' becomes 'g,cd->gdc'"): "an identity matrix is its own transposed one",
    ("PoolKernel", "line 6: 1 becomes 2"): ONE_WINDOW,
    ("Subsample", "line 2: 1 becomes 2"): "a window of one pixel has no second one that a dilation could move",
    ("IdentityMatrix", "line 2: 0 becomes 1"): SQUARE_MATRIX,
    ("IdentityMatrix", "line 2: 0 becomes -1"): SQUARE_MATRIX,
    ("WinogradBias", "line 3: 1 becomes 2"): SQUARE_KERNEL,
    ("WinogradBias", "line 4: 0 becomes -1"): "a bias has one axis",
    ("WinogradKernel", "line 2: 1 becomes 2"): SQUARE_KERNEL,
    ("WinogradOutput", "line 2: 1 becomes 2"): SQUARE_KERNEL,
    ("mean", "line 5: 1 becomes 2"): ONE_WINDOW,
    ("mean", "line 5: True becomes False"): "there is no padding that could count or not",
    (
        "shares",
        "line 7: xp.subtract(x, greatest(xp, x, (axis,))) becomes xp.add(x, greatest(xp, x, (axis,)))",
    ): "what all elements have in common changes no share",
    ("_counts", "line 6: axis - len(self.sizes) becomes axis + len(self.sizes)"): (
        "there are twice as many pads as axes, so that both count to the same place"
    ),
}
"""Mutants of meanings that mean the same, each with the reason; docs/mutation.md says more."""


class Meanings(FloatArrays):
    """Floats on which a maximum, say, is what its meaning says, not what NumPy has for it."""

    larger = smaller = less = at_most = chosen = clipped = magnitude = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant: caught, ill-typed, true (a law that holds as well), equivalent, or survived."""

    kind: str
    where: str
    mutant: str
    fate: str


def main() -> int:
    """Judge all mutants, or every so many of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="judge one mutant in so many [1]")
    parser.add_argument("--list", action="store_true", help="print the mutants that are true or equivalent, too")
    options = parser.parse_args()
    library = load_specs()
    outcomes = [*law_outcomes(library, options.every), *condition_outcomes(library)]
    outcomes += meaning_outcomes(library, options.every)
    for outcome in outcomes:
        if outcome.fate == "survived" or (options.list and outcome.fate in ("true", "equivalent")):
            print(f"{outcome.fate}: {outcome.kind} of {outcome.where}: {outcome.mutant}")
    print(summary(outcomes))
    return int(any(outcome.fate == "survived" for outcome in outcomes))


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many mutants of each kind met which fate."""
    lines = []
    for kind in dict.fromkeys(outcome.kind for outcome in outcomes):
        counts = Counter(outcome.fate for outcome in outcomes if outcome.kind == kind)
        fates = ", ".join(f"{count} {fate}" for fate, count in sorted(counts.items()))
        lines.append(f"{kind}: {sum(counts.values())} mutants, {fates}")
    return "\n".join(lines)


def law_outcomes(library: SpecLibrary, every: int = 1) -> Iterator[Outcome]:
    """Every mutant of an axiom and of its preconditions, at its first and its last scheme."""
    number = 0
    for axiom in library.axioms.values():
        builder = library.builder()
        instances = list(axiom.instances(builder))
        for one in dict.fromkeys((instances[0], instances[-1])):
            rule = Rule(one.left, one.right)
            for kind, mutants in (("axiom", changed_laws), ("precondition", weakened_laws)):
                for mutant in mutants(rule, builder):
                    number += 1
                    if number % every == 0 and mutant is None:
                        yield Outcome(kind, axiom.name, "", "ill-typed")
                    elif number % every == 0 and mutant is not None and mutant != rule:
                        yield Outcome(kind, axiom.name, format_rule(mutant), law_fate(builder, mutant))


def condition_outcomes(library: SpecLibrary, rules: Iterable[Rule] | None = None) -> Iterator[Outcome]:
    """Every mutant of the conditions on values of the shipped rules."""
    builder, prover = library.builder(), Prover(library)
    for rule in read_rules(None, builder) if rules is None else rules:
        for mutant in weakened_conditions(rule):
            fate = "survived" if _is_proved(builder, prover, mutant) else "caught"
            if fate == "survived" and not isinstance(refute(builder, mutant), Counterexample):
                fate = "true"
            yield Outcome("condition", rule.name, format_rule(mutant), fate)


def _is_proved(builder: Builder, prover: Prover, rule: Rule) -> bool:
    if not rests_on_meanings(builder, rule):
        return prover.prove(rule) is None
    prove = prove_scalars if is_scalar(builder, rule) else prove_definition
    return prove(builder, rule) is None


def law_fate(builder: Builder, mutant: Rule) -> str:
    """A law that is not proved is caught; one that is proved must stand every evaluation."""
    if not isinstance(prove_for_all_sizes(builder, mutant.source, mutant.target), ProvedForAllSizes):
        return "caught"
    return "survived" if isinstance(refute(builder, mutant, AGREEING), Counterexample) else "true"


def meaning_outcomes(library: SpecLibrary, every: int = 1) -> Iterator[Outcome]:
    """Every mutant of the meaning of an operator, or of a function that meanings share."""
    expected = {name: list(runtime_cases(library, name)) for name in sorted(library.operators)}
    number = 0
    for where, function in meanings(library).items():
        for mutant in changed_meanings(function):
            number += 1
            if number % every == 0:
                with in_force(function, mutant):
                    fate = _meaning_fate(library, expected)
                if fate == "survived" and (where, mutant.change) in EQUIVALENT:
                    fate = "equivalent"
                yield Outcome("meaning", where, mutant.change, fate)


def meanings(library: SpecLibrary) -> dict[str, FunctionType]:
    """The functions that say what operators compute, by the names that mutants are listed under."""
    found: dict[str, FunctionType] = {}
    for name, operator in library.operators.items():
        if isinstance(operator.evaluate, FunctionType):
            found[name] = operator.evaluate
    shared = (piecewise.positive, piecewise.negated, piecewise.maximum, piecewise.minimum, piecewise.clipped)
    counts: Any = windows.WindowShares.__dict__["_counts"]
    reduced = (reductions.mean, reductions.total, reductions.greatest, reductions.shares)
    for function in (*shared, *reduced, transcendental.softplus, windows.padded, counts):
        assert isinstance(function, FunctionType)
        found[function.__name__] = function
    distinct = {function.__code__: (name, function) for name, function in reversed(found.items())}
    return dict(reversed(distinct.values()))


def _meaning_fate(library: SpecLibrary, expected: Mapping[str, Sequence[Case]]) -> str:
    for cases in expected.values():
        for case in cases:
            try:
                if not case.agrees(library):
                    return "caught"
            except (TasoError, ValueError, *MISFITS):
                return "caught"
    for axiom in library.axioms.values():
        if not isinstance(prove_axiom(axiom, library), ProvedForAllSizes):
            return "caught"
    return "survived"


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
    for attributes in operator.choices.get(SCALARS, ({},)):
        for rank in range(4):
            shape = tuple(int(size) for size in generator.integers(1, 6, rank))
            shapes = [() if at in NUMBERS.get(name, ()) else shape[at > 0 :] for at in range(int(operator.arity or 1))]
            types = [TRUTH if at in TRUTHS.get(name, ()) else "float32" for at in range(len(shapes))]
            kinds = [TensorType(*one) for one in zip(types, shapes, strict=True)]
            operands: list[Term] = [Var(f"x{at}", kind) for at, kind in enumerate(kinds)]
            for at in ATTRIBUTES.get(name, ()):
                operands[at] = literal(PARAMETER, "float32")
            yield builder.apply(name, operands, attributes)


if __name__ == "__main__":
    sys.exit(main())
