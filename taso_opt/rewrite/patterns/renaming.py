"""Renamings that carry one half of a rule into the other, or one rule into another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from taso_opt.core.dims import Dim, Size, substitute, symbol
from taso_opt.core.term import Apply, Item, Term, Var
from taso_opt.spec.builder import Builder


@dataclass(frozen=True)
class Renaming:
    """Turns the first half of a rule into its second: variables, sizes, and item 0 of a split into item 1."""

    terms: dict[Term, Term] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)


def correspondences(u: Term, v: Term, known: Renaming, builder: Builder) -> Iterator[Renaming]:
    """Every way to extend a renaming so that it turns `u` into `v`, with commutative operands in either order."""
    if u in known.terms:
        if known.terms[u] is v:
            yield known
        return
    if isinstance(u, Var) and isinstance(v, Var):
        sizes = _rename_sizes(u.type.shape, v.type.shape, known.sizes)
        if sizes is not None:
            yield Renaming({**known.terms, u: v}, sizes)
    elif isinstance(u, Item) and isinstance(v, Item) and u.term is v.term and u.index != v.index:
        sizes = _swapped_sizes(u, v, known.sizes)
        if sizes is not None:
            yield Renaming({**known.terms, u: v}, sizes)
    elif isinstance(u, Item) and isinstance(v, Item) and u.index == v.index:
        yield from correspondences(u.term, v.term, known, builder)
    elif isinstance(u, Apply) and isinstance(v, Apply) and u.operator == v.operator and len(u.args) == len(v.args):
        sizes = _rename_attributes(u.attributes, v.attributes, known.sizes)
        if sizes is not None:
            yield from _operand_correspondences(u, v, Renaming(known.terms, sizes), builder)


def _operand_correspondences(u: Apply, v: Apply, known: Renaming, builder: Builder) -> Iterator[Renaming]:
    operator = builder.operator(u)
    orders = [v.args, v.args[::-1]] if operator is not None and operator.commutative else [v.args]
    for order in orders:
        partial = [known]
        for a, b in zip(u.args, order, strict=True):
            partial = [more for renaming in partial for more in correspondences(a, b, renaming, builder)]
        yield from partial


def _rename_sizes(u: tuple[Dim, ...], v: tuple[Dim, ...], known: dict[str, str]) -> dict[str, str] | None:
    if len(u) != len(v):
        return None
    sizes = dict(known)
    for a, b in zip(u, v, strict=True):
        if not isinstance(a, Size) or not isinstance(b, Size):
            if a != b:
                return None
            continue
        lone = a.symbol is not None and b.symbol is not None
        mine = [name for name in a.symbols() if lone or name not in b.symbols()]
        others = [name for name in b.symbols() if lone or name not in a.symbols()]
        if len(mine) != len(others) or len(mine) > 1:
            return None
        if any(sizes.setdefault(u, v) != v for u, v in zip(mine, others, strict=True)) or _substituted(a, sizes) != b:
            return None
    return sizes


def _substituted(size: Size, names: dict[str, str]) -> Dim:
    return substitute(size, lambda name: symbol(names[name]) if name in names else None)


def _rename_attributes(u: object, v: object, known: dict[str, str]) -> dict[str, str] | None:
    if isinstance(u, Size) and isinstance(v, Size):
        return _rename_sizes((u,), (v,), known)
    if isinstance(u, tuple) and isinstance(v, tuple) and len(u) == len(v):
        sizes: dict[str, str] | None = known
        for a, b in zip(u, v, strict=True):
            sizes = None if sizes is None else _rename_attributes(a, b, sizes)
        return sizes
    return known if u == v else None


def _swapped_sizes(u: Item, v: Item, known: dict[str, str]) -> dict[str, str] | None:
    if u.term.operator != "Split":
        return None
    sizes = u.term.attribute("sizes")
    assert isinstance(sizes, tuple)
    if len(sizes) != 2:
        return None
    return _rename_attributes(sizes[u.index], sizes[v.index], known)
