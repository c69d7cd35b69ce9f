"""Says of all parts of a split, each with an operand of its own, what rules say of the parts of two splits.

`(Add(u[0], v[0]), Add(u[1], v[1])) = (Add(u, v)[0], Add(u, v)[1])` does not fit gates whose biases were never one
tensor. What is joined and taken apart again is what it was, `Concat(x, y)[0] = x` and `Concat(x, y)[1] = y`, so that
the rule says as well `(Add(u[0], x), Add(u[1], y)) = (Add(u, Concat(x, y))[0], Add(u, Concat(x, y))[1])`. Such a rule
claims no more than those that it is made of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce

from taso_opt.core.dims import Size
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Item, Term, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.rewrite.apply import substitute_terms
from taso_opt.rewrite.parts import of_both
from taso_opt.spec.builder import Builder


def with_own_operands(pairs: Iterable[Rule], rules: Sequence[Rule], builder: Builder) -> Iterator[Rule]:
    """A rule for each split of a variable in a source of two outputs that has another one beside it."""
    undone: dict[object, dict[int, Rule]] = defaultdict(dict)
    for rule in rules:
        part = _part_taken(rule)
        if part is not None:
            undone[part.term.attribute("axis")].setdefault(part.index, rule)
    for pair in pairs:
        splits = [one for one in postorder(pair.source) if isinstance(one, Apply) and one.operator == "Split"]
        for split in splits if len(splits) == 2 else ():
            axis = split.attribute("axis")
            if undone[axis].keys() == {0, 1} and _is_taken_apart(pair, split):
                yield _of_operands(pair, split, list(undone[axis].values()), builder)


def _part_taken(rule: Rule) -> Item | None:
    """What a rule takes of two joined variables to get one of them back; None for other rules."""
    (source, *others), (target, *_) = rule.source, rule.target
    if others or not isinstance(source, Item) or not isinstance(target, Var):
        return None
    joined = source.term.args[0]
    is_join = isinstance(joined, Apply) and joined.operator == "Concat" and len(joined.args) == 2
    return source if is_join and joined.children[source.index] is target else None


def _is_taken_apart(pair: Rule, split: Apply) -> bool:
    """Whether a variable is used by one split alone, and whole on the other side."""
    (whole,) = split.args
    uses = [one for one in postorder(pair.source) if whole in one.children]
    return isinstance(whole, Var) and uses == [split] and split not in postorder(pair.target)


def _of_operands(pair: Rule, split: Apply, undone: Sequence[Rule], builder: Builder) -> Rule:
    """The rule with a variable for each part, and their join for the whole."""
    (whole,), axis, sizes = split.args, split.attribute("axis"), split.attribute("sizes")
    assert isinstance(whole, Var) and isinstance(axis, int) and isinstance(sizes, tuple), "a split of a variable"
    parts = [Var(f"{whole.name}_{at}", _with_size(whole.type, axis, size)) for at, size in enumerate(sizes)]
    images: dict[Term, Term] = {Item(split, at): part for at, part in enumerate(parts)}
    images[whole] = builder.apply("Concat", parts, {"axis": axis})
    source, target = (substitute_terms(builder, side, images) for side in (pair.source, pair.target))
    assert source is not None and target is not None, "parts and joins of new variables make no cycle"
    fp_class = max(pair.fp_class, *(rule.fp_class for rule in undone))
    certificate = reduce(lambda made, rule: of_both(replace(pair, certificate=made), rule), undone, pair.certificate)
    return Rule(source, target, pair.name, fp_class, certificate)


def _with_size(kind: TensorType, axis: int, size: object) -> TensorType:
    """A type with another size of one axis, counted from the end."""
    assert isinstance(size, int | Size), f"expected a size, found {size!r}"
    shape = list(kind.shape)
    shape[axis] = size
    return TensorType(kind.dtype, tuple(shape))
