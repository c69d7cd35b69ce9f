"""Cuts a graph into the units that ONNX Runtime executes as one kernel after its own fusions.

The runtime's CPU provider fuses, at load time, an activation or a sum into the convolution before it, zeros around the
pixels that it reads into its pads, a bias into a product with one matrix, other sums and the activation behind a sum or
a batch normalization into a product of two matrices, and a transposition or a scalar factor, before it or behind it,
into any product. A unit is such a group, a region of light operators that the runtime may fuse as a whole (see
`regions`), or a single operator; its cost is measured as a small model under all optimizations, so that a fusion that
the runtime does not make after all costs what its parts cost. Constant scales and shifts of the channels that a
convolution gives, batch normalizations among them, go into its filters and its bias, in each runtime: units that differ
in these alone have one key. So have convolutions that add up many products, with a bias and without, where a bias is no
kernel of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from taso_opt.core.literal import literal_value
from taso_opt.core.term import OPAQUE, Apply, Const, Term, bottom_up, is_constant
from taso_opt.core.types import FLOATS, TensorType
from taso_opt.cost.kernels.regions import MOST_MEMBERS, regions
from taso_opt.cost.kernels.unit_text import UnitText
from taso_opt.spec.builder import Builder

ACTIVATIONS = frozenset({"Clamp", "Clip", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh"})
GEMM_ACTIVATIONS = ACTIVATIONS - {"Clamp", "Clip"}
SHAPES = frozenset({"Reshape", "Squeeze", "Unsqueeze"})
"""Operators that give the elements of their operand another shape: that moves nothing, and is free on a CPU."""

SHAPED = "another shape of the same elements"
"""The key of all such operators where they take time, since each is a step of the runtime's."""

FILTERED = frozenset({"Add", "BatchNormalization", "Mul"})
"""Operators that scale and shift channels where their other operands are constants of the right shapes."""

MANY_PRODUCTS = 128
"""Of so many a number of a convolution's result is the sum for a bias to take no time that a measurement shows."""

SWAP = (("perm", (-1, -2)),)
PIXEL_AXES = 2


ValueOf = Callable[[Term], Fraction | None]


@dataclass(frozen=True)
class Unit:
    """Operators that run as one kernel or are fused together; `key` says all that their cost depends on.

    `roots` are the members that others use, `inputs` what they take from outside but for constants, each once, both in
    the order in which the key says them. `is_given` says that the model gives one of the roots, behind which the
    runtime may fuse less.
    """

    key: str
    roots: tuple[Apply, ...] = field(compare=False)
    members: frozenset[Term] = field(compare=False)
    inputs: tuple[Term, ...] = field(default=(), compare=False)
    is_given: bool = field(default=False, compare=False)

    @property
    def has_convolution(self) -> bool:
        """Whether one of the operators is a convolution."""
        return self.computes("Conv")

    def computes(self, operator: str) -> bool:
        """Whether one of the members applies an operator."""
        return any(isinstance(member, Apply) and member.operator == operator for member in self.members)


def operands(unit: Unit) -> list[Term]:
    """What the unit takes from outside, each once."""
    return _operands(unit.roots, unit.members)


def _operands(roots: Sequence[Term], members: Collection[Term]) -> list[Term]:
    outside: dict[Term, None] = {}
    seen: set[Term] = set()
    stack: list[Term] = list(reversed(roots))
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if term not in members:
            outside[term] = None
        elif isinstance(term, Apply):
            stack.extend(reversed(term.args))
    return list(outside)


class UnitFinder:
    """Finds the units of graphs over one builder, whose bindings must give every size a number."""

    def __init__(self, builder: Builder, value_of: ValueOf = literal_value, launches: bool = False) -> None:
        """`value_of` tells the value of a constant of one element: what is fused may depend on it.

        `launches` says that each operator is launched on a device: then nothing is fused behind a convolution or a
        product, a constant bias is a kernel of its own, and what only gives another shape is a step all the same.
        """
        self.builder, self.launches, self._value_of = builder, launches, value_of
        self.is_constant = is_constant
        self._costed: dict[Apply, bool] = {}
        self._depth: dict[Term, int] = {}
        self._units: dict[tuple[tuple[Apply, ...], tuple[Term, ...]], Unit] = {}

    def units(self, outputs: Sequence[Term], boundary: Collection[Term] = ()) -> list[Unit]:
        """The units of what the outputs need, down to the boundary, in a fixed order."""
        live, uses = self._live(outputs, boundary)
        group: dict[Term, list[Term]] = {}
        for term in reversed(live):
            group[term] = self._joined(term, uses, group)
        found: dict[int, list[Term]] = {id(members): members for members in group.values()}
        merged = regions(
            list(reversed(live)),
            list(found.values()),
            self.builder,
            below=lambda term: self.depth_of(term) if term in boundary else None,
        )
        return [self._unit(members, uses) for members in self._with_factors(merged, uses)]

    def depth_of(self, term: Term) -> int:
        """How many operators lie on the longest way up to a term, itself included."""

        def found(top: Term) -> int:
            return isinstance(top, Apply) + max((self._depth[child] for child in top.children), default=0)

        return bottom_up(self._depth, term, found)

    def _live(self, outputs: Sequence[Term], boundary: Collection[Term]) -> tuple[list[Apply], dict[Term, int]]:
        """Costed applications, users before what they use, and how often each term is used."""
        order, uses = self._reached(outputs, boundary)
        return [term for term in order if self._is_costed(term)], uses

    def _reached(self, outputs: Sequence[Term], boundary: Collection[Term]) -> tuple[list[Apply], dict[Term, int]]:
        """All applications, users before what they use, and how often each term is used."""
        uses: dict[Term, int] = dict.fromkeys(outputs, 1)
        order: list[Apply] = []
        seen: set[Term] = set()
        stack: list[tuple[Term, bool]] = [(output, False) for output in outputs]
        while stack:
            term, done = stack.pop()
            if done:
                assert isinstance(term, Apply)
                order.append(term)
                continue
            if term in seen or term in boundary or self.is_constant(term):
                continue
            seen.add(term)
            if isinstance(term, Apply):
                stack.append((term, True))
            for child in term.children:
                uses[child] = uses.get(child, 0) + 1
                stack.append((child, False))
        order.reverse()
        return order, uses

    def _joined(self, term: Apply, uses: dict[Term, int], group: dict[Term, list[Term]]) -> list[Term]:
        """The group of a term: that of an operand which the runtime fuses with it, or one of its own."""
        members: list[Term] = [term]
        for operand in sorted(term.args, key=lambda one: self._precedence(one, group.get(one, ())), reverse=True):
            before = group.get(operand)
            if before is None or uses[operand] != 1:
                continue
            if len(before) < MOST_MEMBERS and _fuses(term, before, self):
                before.append(term)
                return before
            if before[-1] is operand and _is_taken_in(operand, term):
                members = [*before, *members]
        group.update((member, members) for member in members)
        return members

    def _with_factors(self, groups: list[list[Term]], uses: Mapping[Term, int]) -> list[list[Term]]:
        """The groups, where products have taken in the factors of their operands that are in no group with others."""
        alone = {group[0] for group in groups if len(group) == 1 and _multiplied(group[0], self) is not None}
        if not alone:
            return groups
        taken = {id(group): [one for one in _read(group) if one in alone and uses[one] == 1] for group in groups}
        gone = {factor for factors in taken.values() for factor in factors}
        return [[*taken[id(group)], *group] for group in groups if group[0] not in gone]

    def _precedence(self, operand: Term, group: Sequence[Term]) -> int:
        """Which of two operands a sum goes to, in whatever order they stand: to the higher one.

        That is the convolution with more filters, or the product that is computed last.
        """
        anchor = _anchor(group)
        if anchor is None:
            return 0
        return (self.elements(anchor.args[1]) or 0) if anchor.operator == "Conv" else self.depth_of(operand)

    def _unit(self, members: Sequence[Term], uses: Mapping[Term, int]) -> Unit:
        inside = Counter(operand for member in members for operand in member.children)
        roots = tuple(one for one in members if isinstance(one, Apply) and uses[one] > inside[one])
        place = roots, tuple(members)
        if place not in self._units:
            loaded = self._loaded(members)
            text = UnitText(self, frozenset(loaded.values()))
            roots = tuple(sorted(roots, key=lambda root: text.shape(loaded[root])))
            key = SHAPED if _is_shaped(members) else text.of([loaded[root] for root in roots])
            inputs = tuple(term for term in text.operands if not self.is_constant(term))
            self._units[place] = Unit(key, roots, frozenset(members), inputs)
        return self._units[place]

    def _loaded(self, members: Sequence[Term]) -> dict[Term, Term]:
        """The members of a unit where filters have taken up what the runtime folds into them."""
        loaded: dict[Term, Term] = {}
        for member in members:
            new = tuple(loaded.get(operand, operand) for operand in member.children)
            filtered = _filtered(member, members, self)
            if filtered is not None:
                conv = loaded[filtered]
                assert isinstance(conv, Apply), f"filters take up scales and shifts, found {conv!r}"
                bias = Const("bias", TensorType(self.builder.type(conv).dtype, self.builder.type(conv).shape[1:2]))
                args = conv.args if isinstance(member, Apply) and member.operator == "Mul" else (*conv.args[:2], bias)
                term: Term = self.builder.rebuild(conv, args)
            else:
                term = self.builder.rebuild(member, new) if new != member.children else member
            loaded[member] = self._without_light_bias(term)
        return loaded

    def _without_light_bias(self, term: Term) -> Term:
        """A convolution without its constant bias, where that is one number more to sums of many products."""
        if not isinstance(term, Apply) or term.operator != "Conv" or len(term.args) < 3:
            return term
        _, filters, bias = term.args
        products = prod(size for size in self.builder.type(filters).shape[1:] if isinstance(size, int))
        is_light = not self.launches and self.is_constant(bias) and products >= MANY_PRODUCTS
        return self.builder.rebuild(term, term.args[:2]) if is_light else term

    def uncosted(self, outputs: Sequence[Term], boundary: Collection[Term] = ()) -> list[Apply]:
        """What the outputs need down to the boundary and no unit has.

        These take no time of their own, or are opaque and so the same in every plan.
        """
        return [term for term in self._reached(outputs, boundary)[0] if not self._is_costed(term)]

    def number(self, term: Term) -> Fraction | None:
        """The value of a constant of one element and at most one axis, None where it is not known."""
        return self._value_of(term) if self.is_constant(term) and self.rank(term) <= 1 else None

    def rank(self, term: Term) -> int:
        """The number of axes of a term."""
        return self.builder.type(term).rank

    def elements(self, term: Term) -> int | None:
        """The number of elements of a term."""
        return self.builder.type(term).elements

    def _is_costed(self, term: Apply) -> bool:
        known = self._costed.get(term)
        if known is None:
            is_free = term.operator == OPAQUE or (term.operator in SHAPES and not self.launches)
            types = () if is_free else self.builder.types(term)
            known = bool(types) and all(kind.is_static and kind.dtype in FLOATS for kind in types)
            self._costed[term] = known
        return known


def _fuses(term: Apply, before: Sequence[Term], finder: UnitFinder) -> bool:
    """Whether the runtime fuses a term into the group that computes its operand."""
    anchor, last = _anchor(before), before[-1]
    if anchor is None or last not in term.args or (finder.launches and term.operator in ACTIVATIONS):
        return False
    others = [operand for operand in term.args if operand is not last]
    if anchor.operator == "Conv":
        if last is anchor or _filtered(last, before, finder) is not None:
            is_sum = term.operator == "Add" and len(others) == 1
            is_light = term.operator in ACTIVATIONS or (is_sum and not finder.launches)
            return is_light or _filtered(term, before, finder) is not None
        return term.operator in ACTIVATIONS and not (isinstance(last, Apply) and last.operator in ACTIVATIONS)
    if last is not anchor:
        return _is_sum(last) and term.operator in GEMM_ACTIVATIONS and finder.rank(anchor) == 2
    if term.operator == "Add":
        return len(others) == 1 and _is_gemm_sum(anchor, others[0], finder.builder)
    if term.operator == "BatchNormalization":
        return finder.rank(anchor) == 2 and all(map(finder.is_constant, others))
    return _multiplied(term, finder) is last


def _multiplied(term: Term, finder: UnitFinder) -> Term | None:
    """What a term multiplies, or divides, by one constant number; None where it does something else."""
    if not isinstance(term, Apply) or term.operator not in ("Div", "Mul"):
        return None
    value, number = term.args
    if term.operator == "Mul" and finder.is_constant(value):
        value, number = number, value
    is_factor = finder.is_constant(number) and finder.elements(number) == 1
    return value if is_factor and finder.rank(number) <= finder.rank(value) else None


def _read(group: Sequence[Term]) -> list[Term]:
    """What a product reads, turned by itself or not; nothing where a sum is fused with it: that takes in no factors."""
    anchor = _anchor(group)
    if anchor is None or anchor.operator != "MatMul" or any(_is_sum(member) for member in group):
        return []
    return [one.args[0] if isinstance(one, Apply) and one in group else one for one in anchor.args]


def _is_sum(term: Term) -> bool:
    return isinstance(term, Apply) and term.operator == "Add"


def _is_gemm_sum(product: Apply, added: Term, builder: Builder) -> bool:
    """Whether one Gemm computes a product and what is added to it.

    Of a product of two matrices that is what broadcasts to it; of rows on several axes, which one matrix multiplies,
    it is what has a number for each column.
    """
    left, right = (builder.type(operand) for operand in product.args)
    other = builder.type(added).shape
    if right.rank != 2:
        return False
    columns = right.shape[1]
    if other == (columns,):
        return True
    rows = left.shape[0]
    return left.rank == 2 and other in ((1, columns), (rows, 1), (rows, columns))


def _filtered(term: Term, group: Collection[Term], finder: UnitFinder) -> Term | None:
    """What a term scales or shifts by constants, one for each channel, where filters can do that; else None.

    That is the convolution of its group, with constant filters, or another such term.
    """
    conv = _anchor(group)
    if not isinstance(term, Apply) or term.operator not in FILTERED or conv is None or conv.operator != "Conv":
        return None
    data = [operand for operand in term.args if not finder.is_constant(operand)]
    if len(data) != 1 or not all(map(finder.is_constant, conv.args[1:])):
        return None
    if data[0] is not conv and (data[0] not in group or _filtered(data[0], group, finder) is None):
        return None
    return data[0] if _is_of_channels(term, data[0], finder.builder) else None


def _is_of_channels(term: Apply, image: Term, builder: Builder) -> bool:
    """Whether a term does the same to all pixels of a channel of an image, with constants."""
    if term.operator == "BatchNormalization":
        return term.args[0] is image
    (constant,) = (builder.type(operand) for operand in term.args if operand is not image)
    channels, *pixel = builder.type(image).shape[1:]
    if constant.rank == 0:
        return term.operator == "Mul"
    return constant.shape in ((channels, *(1 for _ in pixel)), (1, channels, *(1 for _ in pixel)))


def _anchor(members: Iterable[Term]) -> Apply | None:
    """The convolution or matrix product that a group grew around."""
    for member in members:
        if isinstance(member, Apply) and member.operator in ("Conv", "MatMul"):
            return member
    return None


def _is_taken_in(operand: Term, term: Apply) -> bool:
    """Whether the runtime computes an operand within what reads it: rows turned for a product, zeros around pixels."""
    if not isinstance(operand, Apply):
        return False
    if term.operator == "Conv" and operand.operator == "Pad":
        return operand is term.args[0] and _is_around_pixels(operand)
    return term.operator == "MatMul" and operand.operator == "Transpose" and operand.attributes == SWAP


def _is_around_pixels(pad: Apply) -> bool:
    """Whether zeros are put around the two axes of an image alone."""
    pads = pad.attribute("pads")
    return isinstance(pads, tuple) and len(pads) == 2 * PIXEL_AXES


def _is_shaped(members: Sequence[Term]) -> bool:
    return any(isinstance(member, Apply) and member.operator in SHAPES for member in members)
