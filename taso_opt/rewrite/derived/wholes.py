"""Says of whole weights what rules say of joined, reshaped or transposed ones.

`MatMul(Concat(x, y), Concat(v, w)) = Add(MatMul(x, v), MatMul(y, w))` does not fit a model that keeps both weights in
one tensor u, as recurrent cells do that multiply their input and their state at once. A tensor is the join of its
parts, `Concat(u[0], u[1]) = u`, so that the rule says as well `MatMul(Concat(x, y), u) = Add(MatMul(x, u[0]),
MatMul(y, u[1]))`. In the same way a tensor is what it is in another shape, reshaped back, and its transpose transposed.
Such a rule claims no more than the two rules that it is made of. It is for weights alone, which are taken apart before
a model runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from taso_opt.core.condition import ANY, Condition
from taso_opt.core.dims import Size, substitute
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Item, Term, Var, postorder, variables
from taso_opt.core.types import TensorType
from taso_opt.errors import TypeMismatch
from taso_opt.rewrite.derived.parts import of_both, says
from taso_opt.spec.builder import Builder

WHOLE = "weights"
MOVEMENTS = ("Concat", "Reshape", "Transpose")


def with_wholes(rules: Sequence[Rule], builder: Builder) -> Iterator[Rule]:
    """A rule about a whole for each rule that joins, reshapes or transposes variables that its source uses once.

    The rest of the source has to tell the sizes of what was joined or reshaped.
    """
    undoing = _Undoing.of(rules)
    for rule in rules:
        found: list[Rule] = []
        for made in _made(rule) if len(rule.source) == 1 and not rule.conditions else ():
            new = _of_whole(rule, made, undoing, builder)
            if new is not None and not any(says(other, new.source[0], new.target[0], builder) for other in found):
                found.append(new)
        yield from found


@dataclass(frozen=True)
class _Undoing:
    """The rules that a join of all parts is the whole, by axis, and that a transpose or reshape undoes another.

    Those about transposes go by the permutation that is undone.
    """

    joins: dict[object, Rule] = field(default_factory=dict)
    transposes: dict[object, Rule] = field(default_factory=dict)
    reshapes: list[Rule] = field(default_factory=list)

    @classmethod
    def of(cls, rules: Sequence[Rule]) -> _Undoing:
        found = cls()
        for rule in rules:
            (source, *others), (target, *_) = rule.source, rule.target
            if others or not isinstance(source, Apply) or source.operator not in MOVEMENTS or not _is_general(rule):
                continue
            if not isinstance(target, Var | Apply):
                continue
            if source.operator == "Concat" and _is_all_of(source, target):
                found.joins[source.attribute("axis")] = rule
            elif source.operator == "Transpose" and isinstance(target, Var) and _is_of_another(source):
                found.transposes[_operand(source).attribute("perm")] = rule
            elif source.operator == "Reshape" and _is_reshaped_twice(source, target):
                found.reshapes.append(rule)
        return found

    def rule_for(self, made: Apply) -> Rule | None:
        """The rule by which a tensor can be taken for the result of a join or reshape."""
        if made.operator == "Concat":
            return self.joins.get(made.attribute("axis"))
        if made.operator == "Transpose":
            return self.transposes.get(made.attribute("perm"))
        return next(iter(self.reshapes), None)


def _is_general(rule: Rule) -> bool:
    """Whether a rule is about any tensor with axes enough: of no size that is a number, or that two axes have."""
    shapes = [one.type.shape for one in variables(rule.source)]
    sizes = [dim for shape in shapes for dim in shape if isinstance(dim, Size)]
    names = [name for size in sizes for name in size.symbols()]
    return (
        not rule.conditions
        and [len(shape) for shape in shapes] == [len(sizes)]
        and any(size.is_star for size in sizes)
        and len(names) == len(set(names))
    )


def _is_all_of(join: Apply, whole: Term) -> bool:
    """Whether a join is that of both parts of a split of the whole, in their order and of sizes of their own."""
    parts = [part for part in join.args if isinstance(part, Item) and part.term.args == (whole,)]
    if not len(parts) == len(join.args) == 2 or parts[0].term is not parts[1].term or parts[1].index != 1:
        return False
    sizes = parts[0].term.attribute("sizes")
    assert isinstance(sizes, tuple)
    return len({size.symbol for size in sizes if isinstance(size, Size) and size.symbol is not None}) == 2


def _is_reshaped_twice(outer: Apply, once: Term) -> bool:
    """Whether one reshape has the result of two, as of one to the shape before."""
    reshaped = isinstance(once, Apply) and once.operator == "Reshape"
    return reshaped and _is_of_another(outer) and once.children == outer.args[0].children


def _is_of_another(outer: Apply) -> bool:
    """Whether an operator is applied to a variable twice."""
    inner = outer.args[0]
    return isinstance(inner, Apply) and inner.operator == outer.operator and isinstance(inner.args[0], Var)


def _operand(outer: Apply) -> Apply:
    (inner,) = outer.args
    assert isinstance(inner, Apply), "the operand of what undoes an operator is this operator"
    return inner


def _made(rule: Rule) -> list[Apply]:
    """What a source joins, reshapes or transposes of variables that it uses once, where it computes something of that.

    A lone join is what a rule is about, and has to stay.
    """
    (source,) = rule.source
    terms = postorder((source,))
    moving = [term for term in terms if isinstance(term, Apply) and term.operator in MOVEMENTS]
    if not moving or moving[-1] is source or sum(isinstance(term, Var) for term in terms) == 1:
        return []
    uses = Counter(child for term in terms for child in term.children)
    lone = sum(term.operator == "Concat" for term in moving) == 1
    found = [term for term in moving if all(_is_free(arg, uses) for arg in term.args)]
    return [term for term in found if not (lone and term.operator == "Concat")]


def _is_free(term: Term, uses: Mapping[Term, int]) -> bool:
    return isinstance(term, Var) and uses[term] == 1


def _of_whole(rule: Rule, made: Apply, undoing: _Undoing, builder: Builder) -> Rule | None:
    """The rule with one variable for what is made and its parts for the operands; None where it does not fit."""
    undone = undoing.rule_for(made)
    if undone is None or not _are_told(rule, made):
        return None
    if _turns_all(rule, made):
        column = _of_one_column(rule, made, builder)
        if column is None:
            return None
        rule, made = column
    kind = builder.type(made)
    whole = Var(_free_name(rule), TensorType(kind.dtype, kind.shape))
    images = _parts(made, whole, undone, builder)
    try:
        source = tuple(_replaced(term, images, builder) for term in rule.source)
        target = tuple(_replaced(term, images, builder) for term in rule.target)
    except TypeMismatch:
        return None
    fp_class, conditions = max(rule.fp_class, undone.fp_class), (Condition(whole.name, ANY),)
    return Rule(source, target, rule.name, fp_class, of_both(rule, undone), conditions)


def _turns_all(rule: Rule, made: Apply) -> bool:
    """Whether a rule transposes what its source computes, so that for a weight turned before all else has to turn."""
    (target,) = rule.target
    return made.operator == "Transpose" and isinstance(target, Apply) and target.operator == "Transpose"


def _of_one_column(rule: Rule, made: Apply, builder: Builder) -> tuple[Rule, Apply] | None:
    """The instance of a rule about a product, and of its turned weight, for weights of one column; None for others.

    Where all has to turn, nothing is gained but there: the transpose of one column costs nothing.
    """
    (source,), (operand,) = rule.source, made.args
    columns = operand.type.shape[-2] if isinstance(operand, Var) and len(operand.type.shape) > 1 else 1
    if not isinstance(source, Apply) or source.operator != "MatMul" or source.args[1] is not made:
        return None
    if not isinstance(columns, Size) or columns.symbol is None:
        return None
    ones = {columns.symbol: 1}
    images: dict[Term, Term] = {}
    for one in rule.variables:
        shape = tuple(substitute(dim, ones.get) for dim in one.type.shape)
        images[one] = Var(one.name, TensorType(one.type.dtype, shape))
    left, right, turned = (_replaced(term, images, builder) for term in (source, *rule.target, made))
    assert isinstance(turned, Apply), "an operator over other operands"
    return Rule((left,), (right,), rule.name, rule.fp_class, rule.certificate), turned


def _free_name(rule: Rule) -> str:
    names, name = {one.name for one in rule.variables}, WHOLE
    while name in names:
        name += "_"
    return name


def _parts(made: Apply, whole: Var, undone: Rule, builder: Builder) -> dict[Term, Term]:
    """What the whole stands for, and what stands for the operands that it is made of."""
    if made.operator == "Transpose":
        (outer,), (operand,) = undone.source, made.args
        assert isinstance(outer, Apply), "a transpose is undone by another"
        return {made: whole, operand: builder.apply("Transpose", (whole,), dict(outer.attributes))}
    if made.operator == "Reshape":
        (operand,) = made.args
        return {made: whole, operand: builder.apply("Reshape", (whole,), {"shape": builder.type(operand).shape})}
    axis = int(str(made.attribute("axis")))
    sizes = tuple(builder.type(part).shape[axis] for part in made.args)
    split = builder.apply("Split", (whole,), {"axis": axis, "sizes": sizes})
    return {made: whole, **{part: Item(split, at) for at, part in enumerate(made.args)}}


def _are_told(rule: Rule, made: Apply) -> bool:
    """Whether the other variables of the source have axes of all sizes that cannot be read from what is made.

    Of a join these are the sizes along its axis.
    """
    others = [one for one in variables(rule.source) if one not in made.args]
    told = {dim for one in others for dim in one.type.shape if not (isinstance(dim, Size) and dim.is_star)}
    shapes = [arg.type.shape for arg in made.args if isinstance(arg, Var) and made.operator != "Transpose"]
    if made.operator == "Concat":
        shapes = [(shape[int(str(made.attribute("axis")))],) for shape in shapes]
    return {dim for shape in shapes for dim in shape if isinstance(dim, Size)} <= told


def _replaced(term: Term, images: Mapping[Term, Term], builder: Builder) -> Term:
    if term in images:
        return images[term]
    return builder.rebuild(term, tuple(_replaced(child, images, builder) for child in term.children))
