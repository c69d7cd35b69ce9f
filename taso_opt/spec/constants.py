"""Tells which terms depend on constants alone, so that their values can be computed ahead of time."""

from __future__ import annotations

from taso_opt.core.term import Apply, Const, Item, Term, Var
from taso_opt.spec.builder import OPAQUE


class Constants:
    """Whether terms depend on constants alone, told once for each; what no specification covers may give anything."""

    def __init__(self) -> None:
        self._known: dict[Term, bool] = {}

    def __call__(self, term: Term) -> bool:
        """Whether a term is a constant or computed from constants, and so costs nothing at run time."""
        known = self._known.get(term)
        return self._found(term) if known is None else known

    def _found(self, term: Term) -> bool:
        stack = [term]
        while stack:
            top = stack[-1]
            parts = _parts(top)
            missing = [part for part in parts if part not in self._known]
            if missing:
                stack.extend(missing)
                continue
            self._known[stack.pop()] = isinstance(top, Const) or (bool(parts) and all(map(self._known.get, parts)))
        return self._known[term]


def _parts(term: Term) -> tuple[Term, ...]:
    """What a term is constant with; nothing where it never is."""
    whole = term.term if isinstance(term, Item) else term
    if isinstance(whole, Var | Const) or (isinstance(whole, Apply) and whole.operator == OPAQUE):
        return ()
    return term.children
