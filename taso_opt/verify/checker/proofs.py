"""Follows the chains of axioms that prove the rules of a library.

A library and its proofs are two files of JSON Lines. The proofs begin with a line of digests, then state the axioms
and the types that operators give to operands, then tell for each rule how axioms turn both sides of each output into
one and the same term. A step names an axiom and what its variables and sizes stand for; here both sides of the axiom
are written out with them, and one is put in the place of the other wherever it stands.

What is taken on trust here, and compared with the specs by `taso_opt.verify.library.check`: that the axioms, the types
and the operators that commute are those of the specs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from taso_opt.verify.checker.terms import (
    Reader,
    Term,
    Value,
    Wrong,
    call,
    read_shape,
    read_term,
    read_value,
    shape_written_out,
    written_out,
)

MAX_OPERATORS = 2_000
KINDS = ("axiom", "operator", "rule")
"""What a line behind the header is about: one of these."""

MALFORMED = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)
_CONDITION = re.compile(r"(?P<name>[A-Za-z_]\w*) (>= 0|> 0|<= 0|<= 1|>= 1|>= -1)|0 <= (?P<between>[A-Za-z_]\w*) <= 1")
Shape = tuple[Value, ...]
Statement = tuple[tuple[Term, ...], tuple[Term, ...], Mapping[str, Shape]]


@dataclass(frozen=True)
class Findings:
    """Problems, each with the id of the rule or nothing, and the rules whose chains were followed to the end."""

    problems: tuple[tuple[str, str], ...]
    followed: frozenset[str]


@dataclass(frozen=True)
class _Book:
    """What proofs may use: stated axioms, types of applications, operators that commute."""

    axioms: Mapping[str, Mapping[str, str]]
    types: Mapping[Any, tuple[Shape, ...]]
    commutative: frozenset[str]
    read: dict[tuple[str, str], Statement] = field(default_factory=dict)

    def statement(self, name: str, number: str) -> Statement:
        if (name, number) not in self.read:
            self.read[name, number] = equation(self.axioms[name][number], self.commutative)
        return self.read[name, number]

    def shape(self, term: Term, known: Mapping[str, Shape]) -> Shape:
        shapes = self._shapes(term, known)
        if len(shapes) != 1:
            raise Wrong("a term of several outputs stands where one is expected")
        return shapes[0]

    def _shapes(self, term: Term, known: Mapping[str, Shape]) -> tuple[Shape, ...]:
        match term:
            case ("variable", name):
                return (known[name],)
            case ("number", _):
                return ((),)
            case ("item", inner, index):
                return (self._shapes(inner, known)[index],)
        _, operator, arguments, settings = term
        operands = tuple(self.shape(argument, known) for argument in arguments)
        if operator in self.commutative:
            operands = tuple(sorted(operands))
        found = self.types.get((operator, settings, operands))
        if found is None:
            raise Wrong(f"the types of the proof do not say what {operator} gives for its operands")
        return found


def digest(data: bytes) -> str:
    """The hash by which proofs name the library and its lines."""
    return blake2b(data, digest_size=16).hexdigest()


def equation(text: str, commutative: frozenset[str]) -> Statement:
    """Both sides of an equation and the shapes of its variables."""
    sides, separator, types = text.partition(" where ")
    types, *_ = types.split(" and ")
    shapes = {found[1]: read_shape(found[2]) for found in re.finditer(r"(\w+)\[([^\]]*)\]", types)}
    left, right = Reader(sides, commutative).equation()
    if not separator or len(left) != len(right):
        raise Wrong(f"expected two sides and the types of variables, found {text[:80]!r}")
    return left, right, shapes


def conditions(text: str) -> tuple[str, ...]:
    """What an equation asks of the values of its variables, one condition for a variable at most."""
    _, _, types = text.partition(" where ")
    types, *said = types.split(" and ")
    names = set(re.findall(r"(\w+)\[", types))
    found = []
    for one in said:
        read = _CONDITION.fullmatch(one)
        name = read and (read["name"] or read["between"])
        if name not in names:
            raise Wrong(f"expected a condition on a variable of its own, found {one[:80]!r}")
        names.remove(name)
        found.append(one)
    return tuple(found)


def check_proofs(library: bytes, proofs: bytes, sources: Iterable[bytes]) -> Findings:
    """What is wrong with the proofs of a library; `sources` are the spec files in the order of their digest."""
    try:
        header, book, entries = _read(proofs)
    except (*MALFORMED, Wrong) as error:
        return Findings(
            (("", f"expected the lines of a proof file, found {type(error).__name__}: {error}"),), frozenset()
        )
    lines = [line for line in library.split(b"\n") if line.strip()]
    problems = _seal_problems(header, library, proofs, digest(b"".join(sources)))
    proved = {entry["line"] for entry in entries}
    problems += [
        ("", f"a rule has no proof or was changed after that: {line[:60]!r}")
        for line in lines
        if digest(line) not in proved
    ]
    by_digest = {digest(line): line for line in lines}
    followed = set()
    for entry in entries:
        identity = str(entry["rule"])
        try:
            if entry["line"] not in by_digest:
                raise Wrong("it has a proof, but its line was changed or removed")
            if _follow(book, json.loads(by_digest[entry["line"]]), entry):
                followed.add(identity)
        except Wrong as error:
            problems.append((identity, str(error)))
        except MALFORMED as error:
            problems.append((identity, f"its proof is malformed, {type(error).__name__}: {error}"))
    return Findings(tuple(problems), frozenset(followed - {identity for identity, _ in problems}))


def _seal_problems(header: Mapping[str, Any], library: bytes, proofs: bytes, specs: str) -> list[tuple[str, str]]:
    problems = []
    if header["specs"] != specs:
        problems.append(("", f"the proofs were made from other specs: expected {specs}, found {header['specs']}"))
    if header["library"] != digest(library):
        problems.append(("", "the proofs are those of another library: a rule was changed, added or removed"))
    if header["proofs"] != digest(proofs.partition(b"\n")[2]):
        problems.append(("", "the proofs are not as they were written: a line was changed, added or removed"))
    return problems


def _read(proofs: bytes) -> tuple[dict[str, Any], _Book, list[dict[str, Any]]]:
    header, *rest = [json.loads(line) for line in proofs.split(b"\n") if line.strip()]
    commutative = frozenset(header["commutative"])
    for value in rest:
        if sum(kind in value for kind in KINDS) != 1:
            raise ValueError(f"expected a line about one of {', '.join(KINDS)}, found {str(value)[:60]}")
    axioms = {value["axiom"]: value["statements"] for value in rest if "axiom" in value}
    types = dict(_read_type(value, commutative) for value in rest if "operator" in value)
    entries = [value for value in rest if "rule" in value]
    for entry in entries:
        entry["line"].encode(), entry["rule"].encode(), entry["chains"]
    header["specs"], header["library"], header["proofs"]
    return header, _Book(axioms, types, commutative), entries


def _read_type(value: Mapping[str, Any], commutative: frozenset[str]) -> tuple[Any, tuple[Shape, ...]]:
    settings = tuple((name, read_value(text)) for name, text in value["attributes"].items())
    operands = tuple(map(read_shape, value["operands"]))
    if value["operator"] in commutative:
        operands = tuple(sorted(operands))
    return (value["operator"], settings, operands), tuple(map(read_shape, value["results"]))


def _follow(book: _Book, record: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Whether a rule has chains; Wrong when one of them does not hold."""
    name = blake2b(record["rule"].encode(), digest_size=6).hexdigest()
    if record["id"] != name or entry["rule"] != name:
        raise Wrong(f"its text was changed: expected id {name}, found {record['id']} and {entry['rule']}")
    _check_conditions(record["rule"], entry)
    if entry["chains"] is None:
        return False
    left, right, known = equation(record["rule"], book.commutative)
    if len(entry["chains"]) != len(left):
        raise Wrong(f"expected a chain for each of {len(left)} outputs, found {len(entry['chains'])}")
    for u, v, (from_left, from_right) in zip(left, right, entry["chains"], strict=True):
        if book.shape(u, known) != book.shape(v, known):
            raise Wrong("its sides have different shapes")
        for step in (*from_left, *from_right):
            if step["axiom"] not in record["axioms"]:
                raise Wrong(f"its proof uses the axiom {step['axiom']}, which its certificate does not name")
        if _walk(book, u, from_left, known) != _walk(book, v, from_right, known):
            raise Wrong("the steps of its proof lead from its two sides to different terms")
    return True


def _check_conditions(text: str, entry: Mapping[str, Any]) -> None:
    """The proof must be that of these conditions, with numbers that show that the rule is false without each."""
    wanted, proved = list(conditions(text)), list(entry.get("conditions", ()))
    if wanted != proved:
        raise Wrong(f"its proof is for other conditions: expected {wanted}, found {proved}")
    without = (entry["witness"] or {}).get("without", ()) if wanted else ()
    if len(without) != len(wanted):
        raise Wrong(f"expected numbers that show what each of {wanted} is needed for, found {len(without)}")
    for condition, (source, target) in zip(wanted, without, strict=True):
        if source == target:
            raise Wrong(f"its witness says that {condition} is not needed: without it both sides give {source}")


def _walk(book: _Book, term: Term, steps: Sequence[Mapping[str, Any]], known: Mapping[str, Shape]) -> Term:
    for step in steps:
        left, right, schemes = book.statement(step["axiom"], step["statement"])
        sizes = {name: _replacement(text) for name, text in step["sizes"].items()}
        bound = {name: read_term(text, book.commutative) for name, text in step["terms"].items()}
        for name, value in bound.items():
            if book.shape(value, known) != shape_written_out(schemes[name], sizes):
                raise Wrong(f"the axiom {step['axiom']} does not hold for operands of the type of {name}")
        old, new = (_instance(book, side[step["output"]], bound, sizes) for side in (left, right))
        if book.shape(old, known) != book.shape(new, known):
            raise Wrong(f"the axiom {step['axiom']} has sides of different types here")
        term = _replaced(book, term, *((old, new) if step["forward"] else (new, old)))
        if _operators(term) > MAX_OPERATORS:
            raise Wrong(f"expected at most {MAX_OPERATORS} operators on the way, found more")
    return term


def _replacement(text: str | Sequence[str]) -> tuple[str, Any]:
    """A size as a sum of products, a run of sizes as such."""
    if isinstance(text, str):
        kind, value = read_value(text)
        return kind, value
    return "run", tuple(map(read_value, text))


def _instance(book: _Book, term: Term, bound: Mapping[str, Term], sizes: Mapping[str, Any]) -> Term:
    """A side of an axiom with its variables and sizes written out; KeyError when one of them is open."""
    match term:
        case ("variable", name):
            return bound[name]
        case ("item", inner, index):
            return ("item", _instance(book, inner, bound, sizes), index)
        case ("call", operator, arguments, settings):
            values = tuple((name, written_out(value, sizes)) for name, value in settings)
            operands = [_instance(book, argument, bound, sizes) for argument in arguments]
            return call(operator, operands, values, book.commutative)
    return term


def _replaced(book: _Book, term: Term, old: Term, new: Term) -> Term:
    if term == old:
        return new
    match term:
        case ("item", inner, index):
            return ("item", _replaced(book, inner, old, new), index)
        case ("call", operator, arguments, settings):
            return call(operator, [_replaced(book, one, old, new) for one in arguments], settings, book.commutative)
    return term


def _operators(term: Term) -> int:
    match term:
        case ("item", inner, _):
            return _operators(inner)
        case ("call", _, arguments, _):
            return 1 + sum(map(_operators, arguments))
    return 0
