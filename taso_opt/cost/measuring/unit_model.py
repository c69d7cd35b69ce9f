"""The small model by which one unit is measured, and what is to be drawn for its inputs."""

from __future__ import annotations

from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, Const, Term, Var
from taso_opt.cost.kernels.units import Unit, UnitFinder, operands
from taso_opt.cost.kernels.work import lookups
from taso_opt.cost.measuring.overhead import framed_input, framed_outputs
from taso_opt.onnx_io import standalone_model
from taso_opt.runtime.inputs import FEW_INTEGERS
from taso_opt.spec.builder import Builder

IR_VERSION = 8


def unit_model(unit: Unit, builder: Builder, finder: UnitFinder, opset: int, framed: bool) -> bytes:
    """A model of one unit; what goes in and comes out is `framed` where the runtime asks for that (see `overhead`)."""
    leaves: dict[Term, Term] = {}
    channels = _of_channels(unit, builder)
    for place, operand in enumerate(operands(unit)):
        leaf = Const if finder.is_constant(operand) else Var
        fresh = leaf(f"operand{place}", builder.type(operand))
        number = None if operand in channels else finder.number(operand)
        leaves[operand] = fresh if number is None else literal(number, fresh.type.dtype)
    inputs = [leaves[operand] for operand in unit.inputs]
    if framed:
        leaves |= {operand: framed_input(builder, leaves[operand]) for operand in unit.inputs}
    outputs = [_copied(root, unit.members, leaves) for root in unit.roots]
    if framed:
        outputs = [one for output in outputs for one in framed_outputs(builder, output)]
    return standalone_model(builder, outputs, inputs, opset=opset, ir_version=IR_VERSION, hollow=True)


def places_in(unit: Unit, builder: Builder) -> int:
    """So many places there are where a unit looks some up; a few where whole numbers mean something else."""
    tables = ((builder.type(one.args[0]).shape, one.attribute("axis")) for one in lookups(unit))
    sizes = [shape[axis] for shape, axis in tables if isinstance(axis, int)]
    return min((size for size in sizes if isinstance(size, int)), default=FEW_INTEGERS)


def _of_channels(unit: Unit, builder: Builder) -> set[Term]:
    """The operands with an axis that some operator needs, as the bias of a convolution to a single channel."""
    others = (one for one in unit.members if isinstance(one, Apply) and not _is_light(one, builder))
    return {operand for one in others for operand in one.args if builder.type(operand).rank}


def is_elementwise(unit: Unit, builder: Builder) -> bool:
    """Whether every member computes each element from the elements at its place."""
    return all(_is_light(member, builder) for member in unit.members if isinstance(member, Apply))


def _is_light(term: Apply, builder: Builder) -> bool:
    operator = builder.operator(term)
    return operator is not None and operator.elementwise


def _copied(term: Term, members: frozenset[Term], leaves: dict[Term, Term]) -> Term:
    """The members of a unit over other operands, each copied once; a unit is at most some dozens of operators deep."""
    if term not in leaves:
        assert isinstance(term, Apply) and term in members, f"a unit consists of applications, found {term!r}"
        leaves[term] = Apply(
            term.operator, tuple(_copied(operand, members, leaves) for operand in term.args), term.attributes
        )
    return leaves[term]
