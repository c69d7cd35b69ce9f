"""Finds the operator specifications and hands them out as one read-only library."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TypeVar

from taso_opt.errors import SpecError, TasoError
from taso_opt.spec.axiom import Axiom
from taso_opt.spec.builder import Builder
from taso_opt.spec.operator import Operator, Spelling

T = TypeVar("T")
SPECS_PACKAGE = "taso_opt.data.specs"
SHARED_FOLDER = Path(__file__).with_name("shared")
"""Modules that specifications take meanings, types and laws from."""


@dataclass(frozen=True)
class SpecLibrary:
    """Operators, axioms and definitions by name, ONNX spellings by op type, and a digest of their sources."""

    operators: Mapping[str, Operator]
    axioms: Mapping[str, Axiom]
    definitions: Mapping[str, Axiom]
    spellings: Mapping[str, Spelling]
    digest: str

    def builder(self, bindings: Mapping[str, int] | None = None) -> Builder:
        """A fresh term builder; `bindings` give numbers to symbolic sizes of variables."""
        return Builder(self.operators, bindings)


@cache
def load_specs() -> SpecLibrary:
    """The library that ships with the tool: one module of specs/ for each operator; SpecError when one is broken."""
    return assemble(_spec_modules())


def spec_sources() -> tuple[bytes, ...]:
    """The files of the library that ships with the tool, in the order in which its digest takes them."""
    return tuple(_sources(_spec_modules()))


def assemble(modules: list[ModuleType]) -> SpecLibrary:
    """Build a library from specification modules; SpecError when two of them declare the same thing."""
    operators: dict[str, Operator] = {}
    axioms: dict[str, Axiom] = {}
    definitions: dict[str, Axiom] = {}
    spellings: dict[str, Spelling] = {}
    hasher = blake2b(digest_size=16)
    for source in _sources(modules):
        hasher.update(source)
    for module in modules:
        operator = getattr(module, "OPERATOR", None)
        if operator is not None and not isinstance(operator, Operator):
            raise SpecError(f"{module.__name__}: expected OPERATOR to be an Operator, found {operator!r}")
        if operator is not None:
            _add(operators, operator.name, operator, module)
        spelling = getattr(module, "SPELLING", operator.spelling if operator is not None else None)
        if spelling is None:
            raise SpecError(f"{module.__name__}: expected an OPERATOR or a SPELLING, found neither")
        for op_type in spelling.op_types:
            _add(spellings, op_type, spelling, module)
        for _, law in inspect.getmembers(module, inspect.isfunction):
            if law.__module__ != module.__name__:
                continue
            if hasattr(law, "__axiom__"):
                _add(axioms, law.__name__, law.__axiom__, module)
            if hasattr(law, "__definition__"):
                _add(definitions, law.__name__, law.__definition__, module)
        for law in getattr(module, "AXIOMS", ()):
            _add(axioms, law.name, law, module)
        for law in getattr(module, "DEFINITIONS", ()):
            _add(definitions, law.name, law, module)
    tables = MappingProxyType(operators), MappingProxyType(axioms), MappingProxyType(definitions)
    return SpecLibrary(*tables, MappingProxyType(spellings), hasher.hexdigest())


def _spec_modules() -> list[ModuleType]:
    package = importlib.import_module(SPECS_PACKAGE)
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    return [_spec_module(f"{SPECS_PACKAGE}.{name}") for name in names]


def _spec_module(name: str) -> ModuleType:
    """One specification; SpecError when its file cannot be run, whatever is wrong with it."""
    try:
        return importlib.import_module(name)
    except TasoError as error:
        raise SpecError(f"{name}: {error}") from error
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise SpecError(f"{name}: expected a specification that Python can run, found {what}") from error


def _sources(modules: list[ModuleType]) -> list[bytes]:
    files = (*sorted(SHARED_FOLDER.glob("*.py")), *(Path(str(module.__file__)) for module in modules))
    return [file.read_bytes() for file in files]


def _add(table: dict[str, T], name: str, value: T, module: ModuleType) -> None:
    if name in table:
        raise SpecError(f"{module.__name__}: expected one declaration of {name}, found a second")
    table[name] = value
