"""Candidates from definitions: an operator equals what the standard says it is, and two definitions equal each other.

The definitions stand in the specs, in the words of the standard; the verifier proves them from the meanings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from taso_opt.core.literal import literal_value
from taso_opt.core.rule import Rule, RuleSet
from taso_opt.core.term import Apply, Term, Var, operator_count, postorder
from taso_opt.core.types import REAL, TensorType
from taso_opt.generate.scalar.functions import of_any_shape, with_images
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.steps import Rewriter
from taso_opt.semantics.instances import instantiate
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.shared.shapes import any_shape
from taso_opt.spec.text import format_rule

MOST_WORDINGS = 14
"""Wordings of one definition that candidates are made of, the nearest first."""

NEAREST = 2
"""Wordings of each definition that are equated with all others: what runtimes know is near the definition."""

LONGER = 1
"""Operators that a wording may have more than the definition."""

MATCHED = "float32"
"""Rules match numbers of an element type that models have."""

LONGEST = 6
"""Operators of a side of a scalar equation with a definition in the place of a function."""

ARITHMETIC = frozenset({"Mul", "Pow", "Div", "Reciprocal", "Sqrt"})
"""What models word differently; other scalar equations have rules of their own."""


def discover_definitions(library: SpecLibrary, operators: frozenset[str], scalars: Sequence[Rule]) -> tuple[Rule, ...]:
    """What the definitions say with the named operators alone, in the order of the text form.

    Of an operator that has several definitions, the nearest wordings of each give equations with all others as well,
    and with what one converter says: a model whose version of ONNX lacks the operator has only these, and the runtime
    knows some of them.
    """
    found = {format_rule(rule): rule for rule in _equations(library, scalars) if rule.operators <= operators}
    return tuple(found[text] for text in sorted(found))


def _equations(library: SpecLibrary, scalars: Sequence[Rule]) -> Iterator[Rule]:
    builder = library.builder()
    said: dict[tuple[Term, ...], list[list[Term]]] = defaultdict(list)
    said_once: list[Rule] = []
    rewriter = Rewriter(builder, RuleSet(tuple(rule for rule in scalars if rule.operators <= ARITHMETIC)))
    for axiom in library.definitions.values():
        for instance in axiom.instances(builder):
            if len(instance.left) > 1:
                yield Rule(instance.left, instance.right)
            elif axiom.respelled:
                said[instance.left].append(_wordings(builder, rewriter, instance.right[0]))
            else:
                said_once += (Rule(instance.left, (wording,)) for wording in instance.right)
    for rule in said_once:
        yield from _in_these_words(builder, rule, scalars, inside=False)
        known = (wording for definition in said.get(rule.source, ()) for wording in definition[:NEAREST])
        yield from (Rule(rule.target, (wording,)) for wording in known)
    for left, definitions in said.items():
        wordings = [wording for definition in definitions for wording in definition]
        for wording in wordings:
            yield from _in_these_words(builder, Rule(left, (wording,)), scalars, inside=True)
        if len(definitions) > 1:
            nearest = {wording for definition in definitions for wording in definition[:NEAREST]}
            pairs = combinations(wordings, 2)
            yield from (Rule((one,), (other,)) for one, other in pairs if nearest & {one, other})


def _in_these_words(builder: Builder, equation: Rule, scalars: Sequence[Rule], inside: bool) -> Iterator[Rule]:
    """A definition and what it says further of a scalar function, with `inside` also where others are applied to it."""
    yield equation
    if _is_scalar(builder, equation):
        definition = of_any_shape(builder, equation)
        of_negatives = tuple(_of_negative(builder, definition))
        yield from of_negatives
        for one in (definition, *of_negatives):
            yield from _as_factor(builder, one)
        yield from _in_pieces(builder, definition, scalars, inside)


def _wordings(builder: Builder, rewriter: Rewriter, definition: Term) -> list[Term]:
    """The definition in other words: products for powers, reciprocals for quotients, as the scalar equations allow."""
    found = list(instantiate(builder, [definition], {}, MATCHED))
    longest = operator_count(found) + LONGER
    for term in found:
        steps = [step for part in postorder([term]) for step in rewriter.rewrites(part)]
        for step in steps:
            others = substitute_terms(builder, (term,), step.mapping) or ()
            words = (other for other in others if operator_count((other,)) <= longest and not multiplies_by_one(other))
            found += [other for other in words if other not in found]
        if len(found) >= MOST_WORDINGS:
            break
    return list(instantiate(builder, found[:MOST_WORDINGS], {}, REAL))


def _is_scalar(builder: Builder, rule: Rule) -> bool:
    """Whether a function of numbers is defined, of which none need be the same for all elements."""
    operators = [builder.operator(term) for term in rule.applications]
    elementwise = all(operator is not None and operator.elementwise for operator in operators)
    return elementwise and all(variable.type.shape for variable in rule.variables)


def _as_factor(builder: Builder, definition: Rule) -> Iterator[Rule]:
    """What is 1 over something, times another number, is this number over that."""
    (function,), (said,) = definition.source, definition.target
    if isinstance(said, Apply) and said.operator == "Div" and literal_value(said.args[0]) == 1:
        factor = Var("s", TensorType(REAL, (any_shape("s"),)))
        product = builder.apply("Mul", (function, factor), {})
        yield Rule((product,), (builder.apply("Div", (factor, said.args[1]), {}),))


def _of_negative(builder: Builder, definition: Rule) -> Iterator[Rule]:
    """What is said of the negative of a variable, of the variable: in models its sign is part of a factor."""
    (function,), (said,) = definition.source, definition.target
    for variable in definition.variables:
        negative = builder.apply("Neg", (variable,), {})
        uses = {part for part in postorder([said]) if variable in part.children}
        if uses == {negative}:
            of_negative = with_images(builder, function, {variable: negative})
            yield Rule((of_negative,), (with_images(builder, said, {negative: variable}),))


def _in_pieces(builder: Builder, definition: Rule, scalars: Sequence[Rule], inside: bool) -> Iterator[Rule]:
    """Scalar equations about a function, or about others of it, with its definition in its place.

    To make the function of the pieces first may cost more than both, as it does with Softplus inside of Mish.
    """
    (function,), (said,) = definition.source, definition.target
    for rule in scalars:
        roots = rule.roots
        pieces = substitute_terms(builder, roots, {function: said}) or roots
        changed = sum(old is not new for old, new in zip(roots, pieces, strict=True))
        if changed == 1 and (function in roots or (inside and not rule.conditions)):
            found = Rule(pieces[:1], pieces[1:]).under(rule.conditions)
            if found.size <= LONGEST:
                yield found


def multiplies_by_one(term: Term) -> bool:
    """Whether nobody would say it so."""
    products = (part for part in postorder((term,)) if isinstance(part, Apply) and part.operator == "Mul")
    return any(_is_one(factor) for product in products for factor in product.args)


def _is_one(term: Term) -> bool:
    """Whether a term is the number 1, in whichever shape."""
    while isinstance(term, Apply) and term.operator in ("Reshape", "Expand"):
        term = term.args[0]
    return literal_value(term) == 1
