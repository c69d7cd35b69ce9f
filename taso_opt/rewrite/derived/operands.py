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
from taso_opt.rewrite.derived.parts import of_both, says
from taso_opt.rewrite.patterns.apply import substitute_terms
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
        found: list[Rule] = []
        for split in splits if len(splits) == 2 else ():
            laws = undone[split.attribute("axis")]
            if laws.keys() == {0, 1} and _is_taken_apart(pair, split):
                new = _of_operands(pair, split, list(laws.values()), builder)
                if not any(says(other, new.source[0], new.target[0], builder) for other in found):
                    found.append(new)
        yield from found


def _part_taken(rule: Rule) -> Item | None:
    """What a rule takes of any two joined tensors to get one of them back; None for other rules."""
    (source, *others), (target, *_) = rule.source, rule.target
    if others or rule.conditions or not isinstance(source, Item) or not isinstance(target, Var):
        return None
    (joined, *_), axis = source.term.args, source.term.attribute("axis")
    if not isinstance(joined, Apply) or (joined.operator, dict(joined.attributes).get("axis")) != ("Concat", axis):
        return None
    return source if _are_any(joined) and joined.args[source.index] is target else None


def _are_any(join: Apply) -> bool:
    """Whether two variables are joined that may have any sizes, but for those that they have in common."""
    shapes = [one.type.shape for one in join.args if isinstance(one, Var)]
    if not len(shapes) == len(join.args) == 2 or len(shapes[0]) != len(shapes[1]):
        return False
    axis, (first, *_) = int(str(join.attribute("axis"))), shapes[0]
    names = {dim.symbol for shape in shapes for dim in shape if isinstance(dim, Size)}
    if None in names or len(names) != len(shapes[0]) + 1 or shapes[0][axis] == shapes[1][axis]:
        return False
    return isinstance(first, Size) and first.is_star


def _is_taken_apart(pair: Rule, split: Apply) -> bool:
    """Whether a variable is used by one split alone, and whole on the other side."""
    (whole,) = split.args
    uses = [one for one in postorder(pair.source) if whole in one.children]
    return isinstance(whole, Var) and uses == [split] and split not in postorder(pair.target)


def _of_operands(pair: Rule, split: Apply, undone: Sequence[Rule], builder: Builder) -> Rule:
    """The rule with a variable for each part, and their join for the whole."""
    (whole,), axis, sizes = split.args, split.attribute("axis"), split.attribute("sizes")
    assert isinstance(whole, Var) and isinstance(axis, int) and isinstance(sizes, tuple), "a split of a variable"
    name = _free_name(pair, whole.name)
    parts = [Var(f"{name}_{at}", _with_size(whole.type, axis, size)) for at, size in enumerate(sizes)]
    images: dict[Term, Term] = {Item(split, at): part for at, part in enumerate(parts)}
    images[whole] = builder.apply("Concat", parts, {"axis": axis})
    source, target = (substitute_terms(builder, side, images) for side in (pair.source, pair.target))
    assert source is not None and target is not None, "parts and joins of new variables make no cycle"
    fp_class = max(pair.fp_class, *(rule.fp_class for rule in undone))
    certificate = reduce(lambda made, rule: of_both(replace(pair, certificate=made), rule), undone, pair.certificate)
    return Rule(source, target, pair.name, fp_class, certificate)


def _free_name(rule: Rule, name: str) -> str:
    """A name that no variable of a rule begins with, but for the one that has it."""
    taken = [one.name for one in rule.variables if one.name != name]
    while any(other.startswith(f"{name}_") for other in taken):
        name += "_"
    return name


def _with_size(kind: TensorType, axis: int, size: object) -> TensorType:
    """A type with another size of one axis, counted from the end."""
    assert isinstance(size, int | Size), f"expected a size, found {size!r}"
    shape = list(kind.shape)
    shape[axis] = size
    return TensorType(kind.dtype, tuple(shape))
