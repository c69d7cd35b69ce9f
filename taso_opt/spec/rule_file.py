"""Reads and writes the rule library: sorted JSON Lines, one rule with its certificate a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

from taso_opt.core.machine.scratch import write_at_once
from taso_opt.core.printable import cut_short
from taso_opt.core.rule import Certificate, FpClass, Rule, RuleSet
from taso_opt.errors import InvalidInputError, RuleError, UsageError
from taso_opt.spec.builder import Builder
from taso_opt.spec.text import MAX_LENGTH, format_rule, parse_rule

RULES_PACKAGE = "taso_opt.data.rules"
LIBRARY = "library.jsonl"
PROOFS_SUFFIX = ".proofs.jsonl"
MAX_BYTES = 64 * 2**20
"""The largest rule file that is read; the library is a hundred times smaller."""

MAX_RULES = 100_000
"""The most rules or equations of one file; the generator proposes a tenth of it."""

MAX_LINE = 2 * MAX_LENGTH
LONGEST_REASON = 600
"""What a message quotes of a file: so much leaves room for the place."""

CLASSES = [member.value for member in FpClass]
FIELDS = {"id": str, "rule": str, "fp_class": str, "axioms": list, "engine": str, "specs": str}


@dataclass(frozen=True)
class Record:
    """One line of a library as it stands there: nothing in it is checked but its form."""

    line: int
    identity: str
    text: str
    fp_class: FpClass
    certificate: Certificate


def rule_id(text: str) -> str:
    """The name of a rule: a hash of its equation and types."""
    return blake2b(text.encode(), digest_size=6).hexdigest()


def read_rules(path: Path | None, builder: Builder) -> RuleSet:
    """The rules of a library, the one shipped with the tool when `path` is None.

    RuleError names the line that is malformed, names an unknown operator or repeats an id; InvalidInputError when the
    file cannot be read.
    """
    rules: dict[str, Rule] = {}
    for record in read_records(path):
        if record.identity in rules:
            raise RuleError(f"expected one rule {record.identity}, found a second {_place(path, record.line)}")
        rules[record.identity] = read_record(record, builder, path)
    return RuleSet(tuple(rules.values()))


def read_record(record: Record, builder: Builder, path: Path | None) -> Rule:
    """The rule of one line; RuleError when its equation is malformed."""
    try:
        parsed = parse_rule(record.text, builder)
    except RuleError as error:
        raise RuleError(f"{cut_short(str(error), LONGEST_REASON)} {_place(path, record.line)}") from error
    return replace(parsed, name=record.identity, fp_class=record.fp_class, certificate=record.certificate)


def read_records(path: Path | None) -> Iterator[Record]:
    """The lines of a library; blank lines are skipped."""
    lines = _lines(path)
    _check_count(lines, LIBRARY if path is None else str(path))
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _record(line, number, path)


def read_equations(path: Path, builder: Builder) -> list[tuple[int, Rule]]:
    """The equations of a file in text form with their line numbers; blank lines and lines of # are skipped."""
    equations = []
    lines = read_lines(path)
    _check_count(lines, str(path))
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                equations.append((number, parse_rule(text, builder)))
            except RuleError as error:
                raise RuleError(f"{cut_short(str(error), LONGEST_REASON)} {_place(path, number)}") from error
    return equations


def write_rules(path: Path, rules: Iterable[Rule]) -> None:
    """Write a library, small rules first; the same rules always give the same bytes."""
    ordered = sorted(rules, key=lambda rule: (len(rule.source), rule.size, format_rule(rule)))
    text = "".join(f"{_format(rule)}\n" for rule in ordered)
    try:
        write_at_once(path, text.encode())
    except OSError as error:
        raise UsageError(f"expected a rule file that can be written, found {path}: {error.strerror}") from error


def read_lines(path: Path) -> list[str]:
    """The lines of a text file of bounded size in UTF-8; InvalidInputError or RuleError otherwise."""
    return _decode(_read(path), str(path))


def library_bytes(path: Path | None) -> bytes:
    """A library as it stands in its file, the one shipped when `path` is None; InvalidInputError without one."""
    if path is not None:
        return _read(path)
    shipped = files(RULES_PACKAGE).joinpath(LIBRARY)
    if not shipped.is_file():
        raise InvalidInputError(f"expected the rule library {LIBRARY} inside the installed package, found none")
    return shipped.read_bytes()


def proof_bytes(path: Path | None) -> bytes | None:
    """The proofs that stand beside a library, None when there are none; those of the shipped one must be there."""
    if path is not None:
        beside = proofs_path(path)
        return _read(beside) if beside.exists() else None
    shipped = files(RULES_PACKAGE).joinpath(proofs_path(Path(LIBRARY)).name)
    if not shipped.is_file():
        raise InvalidInputError(f"expected the proofs of {LIBRARY} inside the installed package, found none")
    return shipped.read_bytes()


def proofs_path(library: Path) -> Path:
    """Where the proofs of a library stand: beside it."""
    return library.with_name(library.name.removesuffix(".jsonl") + PROOFS_SUFFIX)


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would be waited for
            raise InvalidInputError(f"expected a rule file, found no regular file: {path}")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInputError(f"expected a rule file that can be read, found {path}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise RuleError(f"expected a rule file of at most {MAX_BYTES} bytes, found more in {path}")
    return data


def _lines(path: Path | None) -> list[str]:
    return _decode(library_bytes(path), LIBRARY if path is None else str(path))


def _check_count(lines: Iterable[str], name: str) -> None:
    count = sum(1 for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if count > MAX_RULES:
        raise RuleError(f"expected at most {MAX_RULES} rules in a file, found {count} in {name}")


def _decode(data: bytes, name: str) -> list[str]:
    lines = data.split(b"\n")
    decoded = []
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_LINE:
            raise RuleError(f"expected at most {MAX_LINE} bytes a line, found {len(line)} in line {number} of {name}")
        try:
            decoded.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise RuleError(f"expected UTF-8, found byte {line[error.start]:#x} in line {number} of {name}") from error
    return decoded


def _record(line: str, number: int, path: Path | None) -> Record:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RuleError(f"expected a JSON object, found {line[:60]!r} {_place(path, number)}") from error
    if not isinstance(value, dict) or set(value) != set(FIELDS):
        raise RuleError(f"expected the fields {', '.join(FIELDS)}, found {line[:60]!r} {_place(path, number)}")
    for name, kind in FIELDS.items():
        if not isinstance(value[name], kind):
            raise RuleError(f"expected a {kind.__name__} in {name}, found {value[name]!r} {_place(path, number)}")
    if not all(isinstance(name, str) for name in value["axioms"]):
        raise RuleError(f"expected names of axioms, found {value['axioms']!r} {_place(path, number)}")
    for text in (*(value[name] for name, kind in FIELDS.items() if kind is str), *value["axioms"]):
        if not text.isprintable():
            raise RuleError(f"expected text that can be shown, found {text[:60]!a} {_place(path, number)}")
    return _checked(value, number, path)


def _checked(value: dict[str, Any], number: int, path: Path | None) -> Record:
    if value["fp_class"] not in CLASSES:
        found = value["fp_class"]
        raise RuleError(f"expected an fp_class among {', '.join(CLASSES)}, found {found!r} {_place(path, number)}")
    certificate = Certificate(tuple(value["axioms"]), value["engine"], value["specs"])
    return Record(number, value["id"], value["rule"], FpClass(value["fp_class"]), certificate)


def _format(rule: Rule) -> str:
    assert rule.certificate is not None, f"expected a certificate for {rule.name}"
    text = format_rule(rule)
    fields = {
        "id": rule_id(text),
        "rule": text,
        "fp_class": rule.fp_class.value,
        "axioms": list(rule.certificate.axioms),
        "engine": rule.certificate.engine,
        "specs": rule.certificate.specs,
    }
    return json.dumps(fields, ensure_ascii=False)


def _place(path: Path | None, line: int) -> str:
    return f"in line {line} of {path.name if path is not None else LIBRARY}"
