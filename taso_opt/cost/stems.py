"""Convolutions and products that differ only in what is light beside them: a bias, an activation, a sum behind them.

Two measurements of one convolution differ by a few percent, more than an activation takes. A search over hundreds of
kernels would find those that were measured short, and spell activations in ways that lead to these. So a convolution
is measured together with its *stem*, the same without the last light operator, and what the operator adds is kept
within bounds: it takes no less than nothing, and what only reads its operand once more no longer than that, unless it
may be a kernel of its own, as on a GPU. Of products the same is said where arithmetic takes the time, but not where
both differ by more than measurements do: then they may run on different kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from taso_opt.core.term import Apply, Term
from taso_opt.cost.kernels.layout import form_key, split_form
from taso_opt.cost.kernels.units import Unit, UnitFinder
from taso_opt.cost.kernels.work import awaited, type_bytes
from taso_opt.cost.table import CostEntry

LIGHT = frozenset({"Add", "BatchNormalization", "Clamp", "Clip", "LeakyRelu", "Mul", "Relu"})
TRUSTED = 1.2
"""How many times as long two measurements of one product may differ by."""

LIGHT_S, LIGHT_BYTES_A_SECOND = 5e-7, 3e10
"""What a light operator takes at most: to begin, and to read and write what the convolution gives."""


@dataclass(frozen=True)
class Grown:
    """A unit, its stem, and the most seconds that it may take beyond that.

    Where the stem takes more than `trusted` times as long as the unit, that is no error of measurement.
    """

    unit: Unit
    stem: Unit
    most_s: float
    trusted: float = math.inf


class Stems:
    """All units that were asked for so far, with their stems."""

    def __init__(self, finder: UnitFinder) -> None:
        self._finder = finder
        self._grown: dict[str, Grown] = {}

    @property
    def grown(self) -> list[Grown]:
        """Which unit has which stem, stems before what grows from them."""
        return sorted(self._grown.values(), key=self._depth)

    def with_stems(self, units: Iterable[Unit]) -> list[Unit]:
        """Units with their stems and the stems of these, each once."""
        found = {unit.key: unit for unit in units}
        pending = list(found.values())
        while pending:
            one = _grown(pending.pop(), self._finder)
            if one is not None:
                self._grown[one.unit.key] = one
                if one.stem.key not in found:
                    found[one.stem.key] = one.stem
                    pending.append(one.stem)
        return list(found.values())

    def _depth(self, one: Grown) -> int:
        below = self._grown.get(one.stem.key)
        return 1 + (0 if below is None else self._depth(below))


def _grown(unit: Unit, finder: UnitFinder) -> Grown | None:
    """A unit with its stem, None for one that is no such kernel or has nothing beside it."""
    builder, has_stem = finder.builder, partial(_has_stem, finder=finder)
    if not has_stem(unit) or len(unit.roots) > 1:
        return None
    (root,) = unit.roots
    inner = _inner(root, unit, finder)
    stems = [] if inner is None else finder.units([inner], unit.inputs)
    if len(stems) != 1 or stems[0].key == unit.key or not has_stem(stems[0]):
        return None
    others = [operand for operand in root.args if operand is not inner and operand in unit.inputs]
    is_light = not finder.launches and ((root.operator in LIGHT and not others) or root.operator == "Conv")
    most_s = LIGHT_S + 2 * type_bytes(builder.type(root)) / LIGHT_BYTES_A_SECOND if is_light else math.inf
    return Grown(unit, stems[0], most_s, math.inf if unit.has_convolution else TRUSTED)


def _has_stem(unit: Unit, finder: UnitFinder) -> bool:
    """Whether a unit is a convolution, or a product of which arithmetic takes the time, with what is beside it."""
    return unit.has_convolution or (unit.computes("MatMul") and not awaited(unit, finder.builder, finder))


def _inner(root: Apply, unit: Unit, finder: UnitFinder) -> Term | None:
    """What is left of a unit without its last operator, or without the bias of its convolution."""
    if root.operator == "Conv":
        return finder.builder.rebuild(root, root.args[:2]) if len(root.args) > 2 else None
    inside = [operand for operand in root.args if operand in unit.members]
    return inside[0] if len(inside) == 1 else None


def consistent(
    entries: Sequence[CostEntry], grown: Iterable[Grown], known: Mapping[str, float], forms: Mapping[str, str]
) -> list[CostEntry]:
    """Costs measured now, with what grows from a stem no cheaper than that, and no dearer than it may be.

    A stem that was measured now takes the mean of all that was and grows from it within bounds; one that is `known`
    stays. What is known and no longer within the bounds of such a stem has an entry too. `grown` has stems first, and
    `forms` has the known forms of units (see layout).
    """
    measured = {entry.unit: entry for entry in entries}
    final = {**known, **{key: entry.seconds for key, entry in measured.items()}}
    found = dict(parts for parts in map(split_form, measured) if parts is not None)
    links = list(_links(grown, final, {**forms, **found}))
    # 1. What grows from a new stem is one more measurement of it.
    others: dict[str, list[float]] = {}
    for key, stem, most_s, is_product in reversed(links):
        is_bounded = math.isfinite(most_s)
        if key in measured and stem in measured and (is_bounded or (is_product and final[key] < final[stem])):
            more_s = most_s / 2 if is_bounded else 0.0
            others.setdefault(stem, []).extend(seconds - more_s for seconds in (final[key], *others.get(key, [])))
    for stem, more in others.items():
        final[stem] = (final[stem] + sum(more)) / (1 + len(more))
    # 2. Bounds, from the stems on.
    for key, stem, most_s, _ in links:
        bounded = min(max(final[key], final[stem]), final[stem] + most_s)
        if bounded != final[key] and (key in measured or stem in measured):
            measured[key] = measured.get(key) or replace(measured[stem], unit=key)
            final[key] = bounded
    return [replace(entry, seconds=final[key]) for key, entry in measured.items()]


def _links(
    grown: Iterable[Grown], costs: Mapping[str, float], forms: Mapping[str, str]
) -> Iterator[tuple[str, str, float, bool]]:
    """The keys of units and of their stems where both have finite costs, the most seconds between them, and what kind.

    What gives its result in another layout than its stem may take any time longer.
    """
    for one in grown:
        form, of_stem = (forms.get(unit.key, "") for unit in (one.unit, one.stem))
        keys = [form_key(unit, own) if own else unit.key for unit, own in ((one.unit, form), (one.stem, of_stem))]
        seconds, of_stem_s = (costs.get(key, math.inf) for key in keys)
        if bool(form) is not bool(of_stem) or not (math.isfinite(seconds) and math.isfinite(of_stem_s)):
            continue
        if not of_stem_s > one.trusted * seconds:
            yield keys[0], keys[1], one.most_s if form == of_stem else math.inf, not one.unit.has_convolution
