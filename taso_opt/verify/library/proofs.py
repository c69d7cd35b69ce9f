"""Writes the proof file of a library: digests, the axioms and types that proofs use, a chain and a witness a rule."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from taso_opt.core.machine.scratch import write_at_once
from taso_opt.core.quotients import QUOTIENT
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Term, postorder
from taso_opt.core.types import TensorType
from taso_opt.errors import InvalidInputError
from taso_opt.spec.builder import Builder
from taso_opt.spec.library import SpecLibrary, spec_sources
from taso_opt.spec.rule_file import proofs_path, rule_id
from taso_opt.spec.text import format_attribute, format_rule, format_term
from taso_opt.verify.checker.proofs import digest
from taso_opt.verify.derivation.chains import Chain, ChainSearch
from taso_opt.verify.derivation.instances import Step
from taso_opt.verify.evaluation.witness import Witness, make_witness
from taso_opt.verify.explain import statements


def write_proofs(path: Path, library: SpecLibrary, rules: Sequence[Rule]) -> None:
    """Write the proofs of the library in that file, whose rules these are; InvalidInputError when that fails."""
    try:
        data = path.read_bytes()
        write_at_once(proofs_path(path), proof_file(library, rules, data))
    except OSError as error:
        raise InvalidInputError(f"expected a proof file that can be written, found {path}: {error.strerror}") from error


def proof_file(library: SpecLibrary, rules: Sequence[Rule], data: bytes) -> bytes:
    """The proofs of the rules of a library whose lines are `data`; the same rules always give the same bytes."""
    search = ChainSearch(library)
    builder = library.builder()
    by_id = {json.loads(line)["id"]: line for line in data.split(b"\n") if line.strip()}
    types: dict[str, dict[str, Any]] = {}
    entries, used = [], set()
    for rule in rules:
        axioms = rule.certificate.axioms if rule.certificate is not None else ()
        chains = search.chains(rule, axioms) if axioms else None
        if chains is not None and not _add_types(builder, rule, chains, types):
            chains = None
        steps = [step for chain in chains or () for step in (*chain.source, *chain.target)]
        used |= {step.law.axiom for step in steps}
        identity = rule_id(format_rule(rule))
        witness = make_witness(builder, rule)
        entries.append(
            {
                "rule": identity,
                "line": digest(by_id[identity]),
                **({"conditions": list(map(str, rule.conditions))} if rule.conditions else {}),
                "chains": None if chains is None else [[_steps(one.source), _steps(one.target)] for one in chains],
                "witness": None if witness is None else _witness(witness),
            }
        )
    return _sealed(library, data, _stated(library, used, entries), list(types.values()), entries)


def read_witness(value: Any) -> Witness | None:
    """The witness of a rule as a proof file tells it; ValueError when it is malformed."""
    if value is None:
        return None
    try:
        sizes = {
            name: tuple(map(int, size)) if isinstance(size, list) else int(size)
            for name, size in value["sizes"].items()
        }
        without = tuple((tuple(source), tuple(target)) for source, target in value.get("without", ()))
        return Witness(tuple(sizes.items()), tuple(value["values"]), without)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"expected a witness, found {str(value)[:80]}") from error


def _witness(witness: Witness) -> dict[str, Any]:
    without = {"without": witness.without} if witness.without else {}
    return {"sizes": dict(witness.sizes), "values": witness.values, **without}


def _sealed(
    library: SpecLibrary, data: bytes, axioms: list[dict[str, Any]], types: list[dict[str, Any]], entries: list[Any]
) -> bytes:
    rest = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in (*axioms, *types, *entries)).encode()
    header = {
        "specs": digest(b"".join(spec_sources())),
        "library": digest(data),
        "proofs": digest(rest),
        "commutative": sorted(name for name, operator in library.operators.items() if operator.commutative),
    }
    return json.dumps(header).encode() + b"\n" + rest


def _stated(library: SpecLibrary, used: Iterable[str], entries: Iterable[Any]) -> list[dict[str, Any]]:
    """The axioms that chains use, with the statements of each that they use."""
    wanted: dict[str, set[int]] = {name: set() for name in sorted(used)}
    for entry in entries:
        for side in (side for chain in entry["chains"] or () for side in chain):
            for step in side:
                wanted[step["axiom"]].add(int(step["statement"]))
    return [
        {
            "axiom": name,
            "statements": {str(at): text for at, text in enumerate(statements(library, name)) if at in numbers},
        }
        for name, numbers in wanted.items()
    ]


def _steps(steps: Iterable[Step]) -> list[dict[str, Any]]:
    return [
        {
            "axiom": step.law.axiom,
            "statement": str(step.law.statement),
            "output": step.law.output,
            "forward": step.law.forward,
            "terms": {name: format_term(term) for name, term in step.terms},
            "sizes": {
                name: [str(one) for one in dim] if isinstance(dim, tuple) else str(dim) for name, dim in step.sizes
            },
        }
        for step in steps
    ]


def _add_types(builder: Builder, rule: Rule, chains: Iterable[Chain], types: dict[str, dict[str, Any]]) -> bool:
    """Note what every application on the way gives; False when one has an attribute that cannot be read back."""
    roots: list[Term] = [*rule.source, *rule.target]
    for chain in chains:
        for step in (*chain.source, *chain.target):
            # The sides of the law as well as what its variables stand for, some of which only the other side mentions.
            roots += [step.before, step.after, *(term for _, term in step.terms)]
    for term in postorder(roots):
        if isinstance(term, Apply):
            attributes = {name: format_attribute(value) for name, value in term.attributes}
            if any(QUOTIENT in text for text in attributes.values()):
                return False
            line = {
                "operator": term.operator,
                "attributes": attributes,
                "operands": [_shape(builder.type(argument)) for argument in term.args],
                "results": [_shape(kind) for kind in builder.types(term)],
            }
            types.setdefault(json.dumps(line), line)
    return True


def _shape(kind: TensorType) -> str:
    return ", ".join(map(str, kind.shape))
