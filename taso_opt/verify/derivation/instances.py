"""Applies a law to a term: matches one side against it, sizes included, and writes the other side in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from taso_opt.core.dims import Dim, Size, divide, product, symbols_in, total
from taso_opt.core.term import Apply, Attribute, Const, Item, Term, Var, postorder
from taso_opt.errors import TypeMismatch
from taso_opt.semantics.instances import instantiate_attribute, substituted
from taso_opt.spec.builder import Builder

Sizes = dict[str, "Dim | tuple[Dim, ...]"]


@dataclass(frozen=True)
class Law:
    """One direction of one statement of an axiom, for one of its outputs."""

    axiom: str
    statement: int
    output: int
    forward: bool
    pattern: Term
    result: Term


@dataclass(frozen=True)
class Step:
    """A law with what its variables and sizes stand for, and the term that it changes with what that becomes."""

    law: Law
    terms: tuple[tuple[str, Term], ...]
    sizes: tuple[tuple[str, Dim | tuple[Dim, ...]], ...]
    before: Term
    after: Term


def applications(builder: Builder, law: Law, term: Term) -> Iterator[Step]:
    """Every way in which the pattern of a law is this term, without those that leave a size or a variable open."""
    for binding in _match(builder, law.pattern, term, _Binding({}, ())):
        sizes = _solved(binding.equations)
        if sizes is None:
            continue
        try:
            before, after = (_instance(builder, side, binding.terms, sizes) for side in (law.pattern, law.result))
            fits = before == term and builder.type(before) == builder.type(after)
        except (TypeMismatch, KeyError):
            continue
        if fits and after != term:
            terms = sorted((variable.name, found) for variable, found in binding.terms.items())
            yield Step(law, tuple(terms), tuple(sorted(sizes.items(), key=lambda entry: entry[0])), before, after)


@dataclass(frozen=True)
class _Binding:
    """What variables stand for so far, and pairs of lists of sizes that have to be equal."""

    terms: dict[Var, Term]
    equations: tuple[tuple[tuple[Attribute, ...], tuple[Attribute, ...]], ...]


def _match(builder: Builder, pattern: Term, term: Term, binding: _Binding) -> Iterator[_Binding]:
    match pattern, term:
        case Var(), _:
            yield from _match_variable(builder, pattern, term, binding)
        case Const(), Const():
            if pattern == term:
                yield binding
        case Item(), Item():
            if pattern.index == term.index:
                yield from _match(builder, pattern.term, term.term, binding)
        case Apply(), Apply():
            if (pattern.operator, len(pattern.args)) == (term.operator, len(term.args)):
                yield from _match_call(builder, pattern, term, binding)


def _match_variable(builder: Builder, variable: Var, term: Term, binding: _Binding) -> Iterator[_Binding]:
    known = binding.terms.get(variable)
    if known is not None:
        if known == term:
            yield binding
        return
    shape = builder.type(term).shape
    yield _Binding({**binding.terms, variable: term}, (*binding.equations, (variable.type.shape, shape)))


def _match_call(builder: Builder, pattern: Apply, term: Apply, binding: _Binding) -> Iterator[_Binding]:
    if [name for name, _ in pattern.attributes] != [name for name, _ in term.attributes]:
        return
    equations = binding.equations
    for (_, stated), (_, found) in zip(pattern.attributes, term.attributes, strict=True):
        if isinstance(stated, tuple) and isinstance(found, tuple):
            equations += ((stated, found),)
        else:
            equations += (((stated,), (found,)),)
    operator = builder.operator(term)
    orders = permutations(term.args) if operator is not None and operator.commutative else [term.args]
    for order in dict.fromkeys(orders):
        bindings = [_Binding(binding.terms, equations)]
        for inner, argument in zip(pattern.args, order, strict=True):
            bindings = [new for old in bindings for new in _match(builder, inner, argument, old)]
        yield from bindings


def _solved(equations: Sequence[tuple[tuple[Attribute, ...], tuple[Attribute, ...]]]) -> Sizes | None:
    """What the sizes of a law stand for; None when the equations contradict each other or leave a size open."""
    sizes: Sizes = {}
    rest: list[tuple[Attribute, Attribute]] = []
    for stated, found in equations:
        first = stated[0] if stated else None
        if isinstance(first, Size) and first.is_star:
            cut = len(found) - len(stated) + 1
            prefix = tuple(dim for dim in found[: max(cut, 0)] if isinstance(dim, int | Size))
            if cut < 0 or len(prefix) != cut or sizes.setdefault(str(first), prefix) != prefix:
                return None
            stated, found = stated[1:], found[cut:]
        if len(stated) != len(found):
            return None
        rest += zip(stated, found, strict=True)
    pending = rest
    while pending:
        left = [pair for pair in pending if not _solve_one(*pair, sizes)]
        if len(left) == len(pending):
            break
        pending = left
    return None if pending else sizes


def _solve_one(stated: Attribute, found: Attribute, sizes: Sizes) -> bool:
    """Whether one equation holds, after giving a value to the only symbol that was open in it."""
    if isinstance(found, Size) and found.is_star:
        return False
    if isinstance(stated, tuple):
        return instantiate_attribute(stated, sizes) == found
    if not isinstance(stated, Size):
        return stated == found
    if not isinstance(found, int | Size):
        return False
    open_symbols = [name for name in stated.symbols() if name not in sizes]
    if len(open_symbols) == 1 and len(stated.terms) == 1 and stated.terms[0][0].count(open_symbols[0]) == 1:
        ((monomial, coefficient),) = stated.terms
        known = tuple(sizes[name] for name in monomial if name != open_symbols[0])
        factor = product((coefficient, *(dim for dim in known if not isinstance(dim, tuple))))
        if factor == 0:
            return False
        value = divide(found, factor)
        if isinstance(value, Size) and any(name.startswith("floor") for name in value.symbols()) and known:
            return False
        sizes[open_symbols[0]] = value
    elif len(open_symbols) == 1 and ((open_symbols[0],), 1) in stated.terms:  # what is left of a sum
        left = total((found, substituted(stated, {**sizes, open_symbols[0]: 0}) * -1))
        if isinstance(left, int) and left < 0:
            return False
        sizes[open_symbols[0]] = left
    elif open_symbols:
        return False
    return substituted(stated, sizes) == found


def _instance(builder: Builder, root: Term, terms: dict[Var, Term], sizes: Sizes) -> Term:
    """A side of a law with its variables and sizes replaced; KeyError when one of them is open."""
    rebuilt: dict[Term, Term] = {}
    for term in postorder((root,)):
        if isinstance(term, Var):
            rebuilt[term] = terms[term]
        elif isinstance(term, Item):
            rebuilt[term] = builder.item(rebuilt[term.term], term.index)
        elif isinstance(term, Apply):
            values = {name: _attribute(value, sizes) for name, value in term.attributes}
            rebuilt[term] = builder.apply(term.operator, [rebuilt[child] for child in term.args], values)
        else:
            rebuilt[term] = term
    return rebuilt[root]


def _attribute(value: Attribute, sizes: Sizes) -> Attribute:
    for name in symbols_in(value):
        if name not in sizes:
            raise KeyError(name)
    return instantiate_attribute(value, sizes)
