"""Compares what a proof file takes on trust with the specs: its axioms, its types, the operators that commute."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from taso_opt.core.dims import Dim
from taso_opt.core.quotients import parse_size
from taso_opt.core.term import Var
from taso_opt.core.types import REAL, TensorType
from taso_opt.errors import RuleError, SpecError
from taso_opt.spec.library import SpecLibrary
from taso_opt.spec.text import MISFITS, parse_attribute
from taso_opt.verify.evaluation.witness import Witness
from taso_opt.verify.explain import statements
from taso_opt.verify.library.proofs import read_witness

LINES = (
    {"axiom", "statements"},
    {"operator", "attributes", "operands", "results"},
    {"rule", "line", "witness", "chains"},
    {"rule", "line", "witness", "chains", "conditions"},
)
"""The fields of the lines of a proof file behind its header."""

MALFORMED = (SpecError, RuleError, ValueError, *MISFITS)


@dataclass(frozen=True)
class Told:
    """What a proof file says beside its chains: problems with that, and the witness of each rule."""

    problems: tuple[str, ...]
    witnesses: Mapping[str, Witness]


def compare_with_specs(proofs: bytes, library: SpecLibrary) -> Told:
    """Every stated axiom, type and commuting operator that is not that of the specs. Never raises for any bytes."""
    try:
        header, *rest = [json.loads(line) for line in proofs.split(b"\n") if line.strip()]
        return Told(tuple(_problems(header, rest, library)), _witnesses(rest))
    except (*MALFORMED, RecursionError) as error:
        return Told((f"expected the lines of a proof file, found {type(error).__name__}: {error}",), {})


def _problems(header: Mapping[str, Any], rest: list[dict[str, Any]], library: SpecLibrary) -> Iterator[str]:
    commutative = {name for name, operator in library.operators.items() if operator.commutative}
    for name in sorted(set(header["commutative"]) - commutative):
        yield f"the proofs let the operands of {name} change places, the specs do not"
    for value in rest:
        if not any(set(value) == fields for fields in LINES):
            yield f"the proofs have a line that is none of a proof file: {str(value)[:60]}"
        if "axiom" in value:
            stated = statements(library, value["axiom"])
            for number, text in value["statements"].items():
                if not number.isdecimal() or int(number) >= len(stated) or stated[int(number)] != text:
                    yield f"the proofs state the axiom {value['axiom']} otherwise than the specs: {text}"
        if "operator" in value:
            expected = _types(value, library)
            if expected != value["results"]:
                found = f"{value['operator']} of {value['operands']} gives {value['results']}"
                yield f"the proofs state that {found}, expected {expected}"


def _types(value: Mapping[str, Any], library: SpecLibrary) -> list[str]:
    builder = library.builder()
    operands = [
        Var(f"x{at}", TensorType(REAL, tuple(_size(part) for part in shape.split(", ") if part)))
        for at, shape in enumerate(value["operands"])
    ]
    attributes = {name: parse_attribute(text, builder) for name, text in value["attributes"].items()}
    try:
        kinds = builder.types(builder.apply(value["operator"], operands, attributes))
    except (SpecError, *MISFITS) as error:
        return [f"no types, {error}"]
    return [", ".join(map(str, kind.shape)) for kind in kinds]


def _size(text: str) -> Dim:
    """A size that is written in one way only: whoever else reads the file must read the same."""
    size = parse_size(text)
    if str(size) != text:
        raise ValueError(f"expected a size as it is written out, found {text!r}")
    return size


def _witnesses(rest: list[dict[str, Any]]) -> dict[str, Witness]:
    found = {value["rule"]: read_witness(value["witness"]) for value in rest if "rule" in value}
    return {name: witness for name, witness in found.items() if witness is not None}
