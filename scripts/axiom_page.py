"""Writes docs/axioms.md: each axiom with its statement, its conditions and how it is proved.

Usage: python scripts/axiom_page.py [--output FILE]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from taso_opt.core.rule import Rule
from taso_opt.core.term import Attribute
from taso_opt.spec import Axiom, SpecLibrary, load_specs
from taso_opt.spec.text import format_rule
from taso_opt.verify.index_functions.axioms import prove_axioms
from taso_opt.verify.index_functions.prove import Answer
from taso_opt.verify.verdict import Unknown

PAGE = Path(__file__).resolve().parent.parent / "docs" / "axioms.md"

INTRODUCTION = """# The axioms

Written by `make axioms`; do not edit. `tasoopt verify --axioms` proves them again.

Rules are proved from these laws, and the laws from the meanings of the operators in `specs/`, for all sizes at once:
each meaning is run on tensors whose sizes are symbols, which gives every output element as a sum of products of input
elements, and two sides are equal where their elements have the same canonical form. Inequalities between sizes
(whether an index lies inside an axis, whether a window meets the image) are proved over the integers, never assumed.

Everywhere, sizes, strides, dilations, kernels and groups are at least 1 and pads at least 0; both sides are taken
where they are defined, and *needs* lists what that asks of sizes. `*b` stands for any number of axes, `@n` for the size
n at the axis of the law. *Facts* are declared properties of functions such as relu that a proof rests on; where none
is listed, the law holds for any function in its place. Arithmetic is that of the real numbers; the greatest element of
a window that lies in padding alone is the same formal value on both sides.
"""


def main(arguments: Sequence[str]) -> int:
    """Write the page; exit code 1 when an axiom is not proved."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=PAGE, help="where to write [docs/axioms.md]")
    options = parser.parse_args(arguments)
    library = load_specs()
    answers = dict(prove_axioms(library))
    options.output.write_text(page(library, answers), encoding="utf-8")
    return 1 if any(isinstance(answer, Unknown) for answer in answers.values()) else 0


def page(library: SpecLibrary, answers: Mapping[str, Answer]) -> str:
    """The whole page as Markdown."""
    proved = [answer for answer in answers.values() if not isinstance(answer, Unknown)]
    total = f"{len(proved)} of {len(answers)} axioms are proved, in {sum(one.instances for one in proved)} instances."
    sections: dict[str, list[str]] = {}
    for name, answer in answers.items():
        axiom = library.axioms.get(name)
        lines = list(_commutativity(name, library)) if axiom is None else list(_statement(axiom, library))
        sections.setdefault(_section(name, axiom, library), []).append(
            "\n".join([f"### {name}", "", *lines, *_proof(answer, _engine(name, axiom, library)), ""])
        )
    parts = [INTRODUCTION, total, ""]
    for title, entries in sections.items():
        parts += [f"## {title}", "", *entries]
    return "\n".join(parts)


def _section(name: str, axiom: Axiom | None, library: SpecLibrary) -> str:
    """The operator whose file declares a law; laws that several files make begin with its name."""
    if axiom is None:
        return "Commutative operators"
    file = axiom.law.__module__.rpartition(".")[2]
    titles = {operator.lower(): operator for operator in library.operators}
    return titles.get(file) or titles[name.split("_")[0]]


def _statement(axiom: Axiom, library: SpecLibrary) -> Iterator[str]:
    first = next(axiom.instances(library.builder()))
    equation, _, _ = format_rule(Rule(first.left, first.right)).partition(" where ")
    groups = {name: values for name, values in axiom.attributes.items() if isinstance(values[0], Mapping)}
    for name, (value, *_) in groups.items():
        equation = equation.replace(_value(value), name)
    yield f"    {equation}"
    yield ""
    yield f"- for {' or '.join(f'`{_types(schemes)}`' for schemes in axiom.schemes)}"
    for name, values in axiom.attributes.items():
        if len(values) > 1 or name in groups:
            yield f"- {name}: {' or '.join(f'`{_value(value)}`' for value in values)}"


def _commutativity(name: str, library: SpecLibrary) -> Iterator[str]:
    operator = name.split("_")[0].capitalize()
    yield f"    {operator}(x, y) = {operator}(y, x)"
    yield ""
    if library.operators[operator].scalar:
        yield "- for operands that broadcast in any way: both sides are equal for all real numbers, element by element"
        return
    yield "- for operands that broadcast in any way over the last three axes, after any number of shared ones"


def _types(schemes: Mapping[str, str]) -> str:
    return ", ".join(f"{name}[{', '.join(scheme.split())}]" for name, scheme in schemes.items())


def _value(value: Attribute | Mapping[str, Attribute]) -> str:
    """An attribute value, or a group of attributes as equations write it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={part}" for name, part in sorted(value.items()))
    return str(value)


def _engine(name: str, axiom: Axiom | None, library: SpecLibrary) -> str:
    """What proves a law: that a scalar function commutes is decided over the reals."""
    scalar = axiom is None and library.operators[name.split("_")[0].capitalize()].scalar
    return "Z3 over the reals" if scalar else "index functions"


def _proof(answer: Answer, engine: str) -> Iterator[str]:
    if isinstance(answer, Unknown):
        yield f"- **not proved**: {answer.reason}"
        return
    needs: dict[str, list[str]] = {}
    for condition in answer.conditions:
        reason, _, inequality = condition.partition(": ")
        needs.setdefault(reason, []).append(f"`{inequality}`")
    for reason, inequalities in needs.items():
        yield f"- needs {reason}: {', '.join(inequalities)}"
    facts = f", with the facts {', '.join(f'`{fact}`' for fact in answer.facts)}" if answer.facts else ""
    count = "for all sizes" if answer.instances == 1 else f"for all sizes, {answer.instances} instances one by one"
    yield f"- proved by {engine} {count}{facts}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
