"""Rules that say a tensor to be a slice of itself with zeros beside it: of how many, is chosen where they are used."""

from __future__ import annotations

from collections.abc import Mapping

from taso_opt.core.dims import Size
from taso_opt.core.rule import Rule, open_sizes
from taso_opt.core.term import Apply, Var
from taso_opt.rewrite.patterns.pattern import CompiledRule


def puts_zeros_beside(rule: Rule) -> bool:
    """Whether a rule makes of any tensor a slice of itself with zeros, whose numbers are all that it leaves open."""
    (source, *others), (target, *_) = rule.source, rule.target
    if others or not isinstance(source, Var) or not isinstance(target, Apply) or target.operator != "Slice":
        return False
    padded = target.args[0]
    beside = isinstance(padded, Apply) and padded.operator == "Pad" and padded.args == (source,)
    margins = _margins(target) if beside else ()
    return len(margins) == 2 and set(map(str, margins)) == open_sizes(rule)


def margin_axis(rule: CompiledRule) -> int:
    """The axis along which such a rule puts zeros, counted from the end."""
    (target,) = rule.rule.target
    assert isinstance(target, Apply)
    return int(str(target.attribute("axis")))


def margin_sizes(rule: CompiledRule, behind: int) -> Mapping[str, int]:
    """The sizes that such a rule leaves open, for so many zeros behind the tensor and none before it."""
    (target,) = rule.rule.target
    assert isinstance(target, Apply)
    return dict(zip(map(str, _margins(target)), (0, behind), strict=True))


def _margins(target: Apply) -> tuple[Size, ...]:
    """The numbers of zeros before and behind, as far as a slice takes away just these."""
    sizes = target.attribute("sizes")
    assert isinstance(sizes, tuple)
    return tuple(size for size in (sizes[0], sizes[-1]) if isinstance(size, Size) and size.symbol is not None)
