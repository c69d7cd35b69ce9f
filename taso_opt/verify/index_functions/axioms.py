"""Proves the whole spec library for all sizes: every axiom, and that the operators declared commutative are."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product

from taso_opt.core.term import Apply, Var
from taso_opt.core.types import parse_scheme
from taso_opt.spec.library import SpecLibrary
from taso_opt.verify.explain import commutativity_laws
from taso_opt.verify.index_functions.prove import (
    Answer,
    ProvedForAllSizes,
    in_all,
    prove_axiom,
    prove_for_all_sizes,
)
from taso_opt.verify.scalars import prove_scalars_commute
from taso_opt.verify.verdict import Unknown

AXES = ("l", "m", "n")
"""Axes, after any number of shared ones, whose sizes are repeated in every way when commutativity is proved."""


def prove_axioms(library: SpecLibrary, names: Collection[str] | None = None) -> Iterator[tuple[str, Answer]]:
    """The named laws, by default all that proofs may use, with what was found of each, in the order of the library."""
    for name, axiom in library.axioms.items():
        if names is None or name in names:
            yield name, prove_axiom(axiom, library)
    for name, operator in commutativity_laws(library).items():
        if names is None or name in names:
            yield name, prove_commutativity(operator, library)


def prove_commutativity(operator: str, library: SpecLibrary) -> Answer:
    """Prove that the operands of an operator may change places, however they broadcast over the last axes."""
    declared = library.operators[operator]
    if declared.scalar:
        reason = prove_scalars_commute(declared)
        return ProvedForAllSizes(1, (), ()) if reason is None else Unknown(reason)
    builder = library.builder()
    answers: list[ProvedForAllSizes] = []
    for x, y in operands():
        # made without the builder, which puts the operands of commutative operators in one order
        answer = prove_for_all_sizes(builder, (Apply(operator, (x, y)),), (Apply(operator, (y, x)),))
        if isinstance(answer, Unknown):
            return Unknown(f"{answer.reason} for {x}{x.type}, {y}{y.type}")
        answers.append(answer)
    return in_all(answers)


def operands() -> Iterator[tuple[Var, Var]]:
    """Two operands: of one rank with each axis full or repeated, and of a lower rank in the second."""
    for repeated in product(("neither", "first", "second"), repeat=len(AXES)):
        sizes = list(zip(AXES, repeated, strict=True))
        first = ["1" if which == "first" else name for name, which in sizes]
        second = ["1" if which == "second" else name for name, which in sizes]
        for rank in range(len(AXES) + 1):
            shared = ["*b"] if rank == len(AXES) else []
            yield _variable("x", ["*b", *first]), _variable("y", [*shared, *second[len(AXES) - rank :]])


def _variable(name: str, sizes: list[str]) -> Var:
    return Var(name, parse_scheme(" ".join(sizes)))
