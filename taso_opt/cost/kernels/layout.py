"""Follows which values the runtime keeps in its blocked layout, and where it converts between that and the plain one.

The CPU provider of ONNX Runtime computes convolutions on channels in blocks (NCHWc), and what follows stays in that
layout as long as it can read it. How a unit behaves between convolutions is its form, such as `b>b`: a letter for each
operand and, behind `>`, for each result, b for blocked and p for plain; no form means that all is plain. Forms are
asked of the runtime (see `measure`); here they are put together. A conversion is a unit of its own, and is paid once
for all that reads a value in the other layout.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from taso_opt.core.term import OPAQUE, Apply, Term
from taso_opt.core.types import TensorType
from taso_opt.cost.kernels.regions import has_seed
from taso_opt.cost.kernels.units import Unit
from taso_opt.onnx_io import BLOCKED, FROM_BLOCKED, PLAIN, TO_BLOCKED
from taso_opt.spec.builder import Builder

FormOf = Callable[[Unit], str]
TypesOf = Callable[[Term], Sequence[TensorType]]
IMAGE_RANK = 4
GIVEN = " as an output"
"""Ends the key of what the model gives, where that may have another cost than in front of other kernels."""

MOST_CHANNELS = 1 << 16
"""Of an image that may be blocked: asking the runtime takes filters of as many channels, and minutes for millions."""


@dataclass(frozen=True)
class Around:
    """What lies around a part of a graph.

    Which of its operands are blocked, which layouts of a value there are anyway, which are wanted by what stays, and
    which of its results the model gives.
    """

    blocked: frozenset[Term] = frozenset()
    there: frozenset[tuple[Term, str]] = frozenset()
    wanted: frozenset[tuple[Term, str]] = frozenset()
    given: frozenset[Term] = frozenset()

    @classmethod
    def of_model(cls, outputs: Collection[Term]) -> Around:
        """What lies around a whole model."""
        return cls(wanted=frozenset((output, PLAIN) for output in outputs), given=frozenset(outputs))

    @property
    def asks_for_blocks(self) -> bool:
        """Whether something blocked goes in or is wanted."""
        return bool(self.blocked) or any(layout == BLOCKED for _, layout in self.wanted)


NOTHING = Around()


@dataclass(frozen=True)
class Layouts:
    """The values that a graph keeps in the blocked layout, and in which layout each user reads a value.

    Who uses the outputs of a graph is None.
    """

    blocked: frozenset[Term] = frozenset()
    readers: Mapping[Term, Mapping[Term | None, str]] = field(default_factory=dict)

    @property
    def converted(self) -> frozenset[Term]:
        """The values that something in the graph reads in the other layout than the one that they have."""
        return frozenset(
            term
            for term, by in self.readers.items()
            if any(reader is not None and (read == BLOCKED) != (term in self.blocked) for reader, read in by.items())
        )

    def around(self, dead: Collection[Term], born: Collection[Term], roots: Iterable[tuple[Term, Term]]) -> Around:
        """What lies around a change that removes and adds terms and puts others in the place of some roots."""
        roots = list(roots)
        given = frozenset(side for pair in roots if None in self.readers.get(pair[0], {}) for side in pair)
        if not self.blocked:
            return Around(given=given) if given else NOTHING
        changed = frozenset(dead) | frozenset(born)
        operands = {child for term in changed for child in term.children} - changed
        wanted = frozenset((side, layout) for pair in roots for layout in self._read(pair[0], dead) for side in pair)
        there = frozenset((operand, layout) for operand in operands for layout in self._read(operand, dead))
        return Around(self.blocked & operands, there, wanted, given)

    def with_outputs(self, outputs: Iterable[Term]) -> Layouts:
        """The same, with what is outside of the graph reading its outputs."""
        read = {output: {**self.readers.get(output, {}), None: PLAIN} for output in outputs}
        return replace(self, readers={**self.readers, **read})

    def _read(self, term: Term, dead: Collection[Term]) -> set[str]:
        """The layouts in which a value is read by what stays."""
        return {layout for reader, layout in self.readers.get(term, {}).items() if reader not in dead}


def is_conversion(unit: Unit) -> bool:
    """Whether a unit converts its only input from one layout to the other."""
    return not unit.members


def is_of_images(unit: Unit, builder: Builder) -> bool:
    """Whether all that a unit takes and gives are images, so that it may run on blocked values."""
    values = (*unit.inputs, *unit.roots)
    return bool(unit.inputs) and all(_is_image(builder.types(value)) for value in values)


def _is_image(types: Sequence[TensorType]) -> bool:
    """Whether there is one value, of four axes, that is not empty."""
    if len(types) != 1 or types[0].rank != IMAGE_RANK or types[0].dtype != "float32" or not types[0].elements:
        return False
    channels = types[0].shape[1]
    return isinstance(channels, int) and channels <= MOST_CHANNELS


def form_key(unit: Unit, form: str) -> str:
    """The key of the cost of a unit that runs by a form."""
    return f"{unit.key} [{form}]"


def as_output(unit: Unit, given: frozenset[Term]) -> Unit:
    """A unit as it runs in its place: where it is a region around a fusion that the model gives, that has a cost apart.

    What runs on blocked values is never given, and what is one operator is fused with nothing.
    """
    if len(unit.members) == 1 or given.isdisjoint(unit.roots) or split_form(unit.key) or not has_seed(unit.members):
        return unit
    return replace(unit, key=f"{unit.key}{GIVEN}", is_given=True)


def split_form(key: str) -> tuple[str, str] | None:
    """The key of a unit and its form, of a key that says both."""
    unit, bracket, rest = key.rpartition(" [")
    form = rest.removesuffix("]")
    return (unit, form) if bracket and rest.endswith("]") and set(form) <= {BLOCKED, PLAIN, ">"} else None


def conversion_key(kind: TensorType, layout: str) -> str:
    """The key of the cost of converting an image to a layout."""
    return f"{TO_BLOCKED if layout == BLOCKED else FROM_BLOCKED}({kind.dtype}{kind})"


def lay_out(
    units: Sequence[Unit],
    outputs: Collection[Term],
    others: Collection[Apply],
    around: Around,
    form_of: FormOf,
    types_of: TypesOf,
) -> tuple[list[Unit], Layouts]:
    """The units that compute the outputs as they run in that place, the conversions, and the layouts of all values.

    Units stand in the order of the data; `others` are operators that are not costed.
    """
    keep, blocked = _keepers(others, types_of), set(around.blocked)
    readers: dict[Term, dict[Term | None, str]] = {}
    found = dict(enumerate(units))
    # 1. What a convolution reads and gives does not depend on what is around it; the rest follows its operands.
    for place, unit in sorted(found.items(), key=lambda entry: not entry[1].has_convolution):
        form = form_of(unit)
        reads, _, gives = form.partition(">")
        wanted: Mapping[Term, str] = dict(zip(unit.inputs, reads, strict=True)) if form else {}
        follows = all(_kept_from(one, keep) in blocked for one, layout in wanted.items() if layout == BLOCKED)
        if form and (unit.has_convolution or follows):
            found[place] = replace(unit, key=form_key(unit, form))
            blocked.update(root for root, layout in zip(unit.roots, gives, strict=True) if layout == BLOCKED)
        else:
            wanted = {}
        for member, operand in _taken(unit):
            readers.setdefault(operand, {})[member] = wanted.get(operand, PLAIN)
    blocked.update(term for term in keep if _kept_from(term, keep) in blocked)
    # 2. Whoever reads a value in another layout than it has waits for a conversion, the first one only.
    for term in others:
        for operand in term.args if term not in keep else ():
            readers.setdefault(operand, {})[term] = PLAIN
    asked = {(term, layout) for term, by in readers.items() for layout in by.values()}
    asked |= {(term, layout) for term, layout in around.wanted if term in outputs}
    missing = [(term, layout) for term, layout in asked - around.there if (layout == BLOCKED) != (term in blocked)]
    conversions = [Unit(conversion_key(types_of(one)[0], layout), (), frozenset(), (one,)) for one, layout in missing]
    conversions.sort(key=lambda unit: unit.key)
    return [*found.values(), *conversions], Layouts(frozenset(blocked), readers)


def _taken(unit: Unit) -> Iterator[tuple[Term, Term]]:
    """Each member with each operand that it takes from outside."""
    return ((member, one) for member in unit.members for one in member.children if one not in unit.members)


def _keepers(others: Iterable[Apply], types_of: TypesOf) -> dict[Term, Term]:
    """Operators that are not known but take one image to another of as many channels, with that image.

    They are taken to keep the layout, as batch normalization and resizing do.
    """
    found: dict[Term, Term] = {}
    for term in others:
        images = [operand for operand in term.args if _is_image(types_of(operand))]
        if term.operator == OPAQUE and len(images) == 1 and _is_image(types_of(term)):
            (image,), (result,) = types_of(images[0]), types_of(term)
            if image.shape[:2] == result.shape[:2]:
                found[term] = images[0]
    return found


def _kept_from(term: Term, keep: Mapping[Term, Term]) -> Term:
    """The value that decides in which layout a value is."""
    while term in keep:
        term = keep[term]
    return term
