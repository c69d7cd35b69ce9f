"""Tells which terms depend on constants alone, so that their values can be computed ahead of time."""

from __future__ import annotations

from taso_opt.core.term import Apply, Const, Term, bottom_up
from taso_opt.spec.builder import OPAQUE


class Constants:
    """Whether terms depend on constants alone, told once for each; what no specification covers may give anything."""

    def __init__(self) -> None:
        self._known: dict[Term, bool] = {}

    def __call__(self, term: Term) -> bool:
        """Whether a term is a constant or computed from constants, and so costs nothing at run time."""
        known = self._known.get(term)
        return bottom_up(self._known, term, self._found) if known is None else known

    def _found(self, term: Term) -> bool:
        if isinstance(term, Apply) and term.operator == OPAQUE:
            return False
        parts = term.children
        return isinstance(term, Const) or (bool(parts) and all(self._known[part] for part in parts))
