"""Explains one node of a model: which rules fit there, what each would change, and why the others do not fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from taso_opt.api.reporting.names import Names
from taso_opt.api.session import Progress, require_loadable, running, silent
from taso_opt.api.settings import OptimizeSettings
from taso_opt.core.rule import FpClass
from taso_opt.core.term import OPAQUE, Apply, Item, Term
from taso_opt.cost import CostModel, CostTable, Measurer
from taso_opt.errors import UsageError
from taso_opt.onnx_io import Model, names_in_bodies, read_model, spellable
from taso_opt.report.explained import FITTING, REFUSED, Considered, Explanation
from taso_opt.rewrite.finding.step import Step
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.patterns.pattern import CompiledRule
from taso_opt.rewrite.patterns.refusal import refusal
from taso_opt.rewrite.steps import Rewriter
from taso_opt.runtime import RuntimeProcess, require_runtime
from taso_opt.search.neighbourhood import LocalChange, Neighbourhood
from taso_opt.search.prices import difference
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.text import format_rule

MOST_NAMES = 8
FEW_NAMES = 5


@dataclass(frozen=True)
class _Place:
    """The node that is explained: its number in the file and the terms that it stands for."""

    model: Model
    node: int
    terms: tuple[Term, ...]


def explain_node(
    model: str | Path, node: str, settings: OptimizeSettings | None = None, progress: Progress | None = None
) -> Explanation:
    """What the rules of the library can do at one node, named by its name or by a value that it gives.

    Costs that are not known yet are measured. Raises InvalidInputError for a model that cannot be read, UsageError for
    a node that it does not have, UnsupportedError when the runtime cannot run here.
    """
    chosen, tell = settings or OptimizeSettings(), progress or silent
    require_runtime(chosen.runtime)
    tell("reading the model")
    read = read_model(Path(model), load_specs(), chosen.bindings[0])
    place = _find(read, node)
    rewriter = Rewriter.of_model(read, read_rules(chosen.rules, read.builder))
    graph = read.graph.terms()
    live = [term for term in place.terms if term in set(graph) and not rewriter.is_constant(term)]
    note = _note(read, place, live)
    considered: list[Considered] = []
    if not note:
        tell("matching rules")
        steps = [step for step in rewriter.steps(graph) if any(old in live for old, _ in step.replacements)]
        with RuntimeProcess() as process, CostTable() as table:
            tell("measuring what is not known yet")
            cost = _costs(read, chosen, process, table)
            considered = _fitting(read, rewriter, steps, cost, chosen.fp_class)
        considered += _refused(read, rewriter, live, steps)
    proto = read.proto.graph.node[place.node]
    ordered = sorted(considered, key=_order)
    return Explanation(str(model), proto.name or node, proto.op_type, tuple(proto.output), tuple(ordered), note)


def _find(model: Model, node: str) -> _Place:
    nodes = model.proto.graph.node
    found = [at for at, proto in enumerate(nodes) if node == proto.name or node in proto.output]
    if len(found) != 1:
        hint = "" if found else _hint(model, node)
        raise UsageError(f"expected the name of one node or of its output, found {len(found)} nodes {node!r}{hint}")
    (at,) = found
    return _Place(model, at, tuple(_own_terms(model, at)))


def _hint(model: Model, node: str) -> str:
    """Names that are near to the one given, or the first few, for whom does not know any."""
    nodes = model.proto.graph.node
    around = next((proto for proto in nodes if node in names_in_bodies(proto)), None)
    if around is not None:
        return f" (it is in a body of {around.name or around.output[0]}, and bodies are not explained)"
    near = get_close_matches(node, [name for proto in nodes for name in (proto.name, *proto.output) if name], 3)
    if near:
        return f" (did you mean {', '.join(near)}?)"
    names = [proto.name or proto.output[0] for proto in nodes if proto.output]
    more = f" and {len(names) - FEW_NAMES} more" if len(names) > FEW_NAMES else ""
    return f" (names are {', '.join(names[:FEW_NAMES])}{more})" if names else ""


def _own_terms(model: Model, at: int) -> list[Term]:
    """The terms that one node of the file was read into, without its operands."""
    use = model.uses[at]
    found: dict[Term, None] = {}
    stack = [term for term in use.results if term is not None]
    while stack:
        term = stack.pop()
        if term not in found and term not in use.operands:
            found[term] = None
            stack.extend(term.children)
    return list(found)


def _note(model: Model, place: _Place, live: Sequence[Term]) -> str:
    """Why no rule can fit at the node; empty when one might."""
    whole = [term.term if isinstance(term, Item) else term for term in place.terms]
    if any(isinstance(term, Apply) and term.operator == OPAQUE for term in whole):
        kind = model.proto.graph.node[place.node].op_type
        return f"no specification covers this {kind}: the node stays as it is, and rules end at it"
    if not live:
        return "nothing is computed here at run time: the node depends on weights alone, or no output needs it"
    return ""


def _costs(model: Model, chosen: OptimizeSettings, process: RuntimeProcess, table: CostTable) -> CostModel:
    info, run = running(process, chosen)
    require_loadable(model, info)
    bound = load_specs().builder(model.bindings)
    return CostModel.of_model(model, bound, table, Measurer.of_model(process, run, info, model, bound))


def _fitting(
    model: Model, rewriter: Rewriter, steps: Sequence[Step], cost: CostModel, loosest: FpClass
) -> list[Considered]:
    """The best application of each rule that fits, with what becomes of it."""
    outputs = model.graph.outputs
    names, writable = Names(model), spellable(model)
    cost.learn(cost.units(outputs))
    groups, layouts = cost.execution(outputs)
    here = Neighbourhood(outputs, groups, model.builder.rebuild, layouts)
    changes = [here.local_change(*here.with_undone(step, rewriter)) for step in steps]
    sides = [
        (side, change)
        for change, step in zip(changes, steps, strict=True)
        if all(writable(new) for _, new in step.replacements)
        for side in (change.removed, change.added)
    ]
    cost.learn(unit for side, change in sides for unit in cost.units(side, change.kept))
    cost.prepare(kernel for side, change in sides for kernel in cost.kernels(side, change.kept, change.around))
    found: dict[str, Considered] = {}
    for step, change in zip(steps, changes, strict=True):
        rule, text = step.rule.rule, format_rule(step.rule.rule)
        verdict, change_ms = _verdict(model, step, change, cost, loosest, writable)
        olds = sorted((old for old, _ in step.replacements), key=names.rank)
        replaced = tuple(dict.fromkeys(names.node(old) for old in olds))[:MOST_NAMES]
        count = len(step.replacements)
        one = Considered(rule.name, text, str(rule.fp_class), verdict, "", change_ms, replaced, count)
        if text not in found or _order(one) < _order(found[text]):
            found[text] = one
    return list(found.values())


def _verdict(
    model: Model,
    step: Step,
    change: LocalChange,
    cost: CostModel,
    loosest: FpClass,
    writable: Callable[[Term], bool],
) -> tuple[str, float | None]:
    """What becomes of a step, as a key of FITTING, and its predicted change in milliseconds."""
    if not all(writable(new) for _, new in step.replacements):
        return "unwritable", None
    old, new = (
        sum(cost.known(kernel) or 0.0 for kernel in cost.kernels(side, change.kept, change.around))
        for side in (change.removed, change.added)
    )
    if not math.isfinite(new - old):
        return "refused", None
    change_ms = difference(old, new) * 1e3
    if step.rule.rule.fp_class > loosest:
        return "class", change_ms
    if substitute_terms(model.builder, model.graph.outputs, step.mapping) is None:
        return "cyclic", change_ms
    return ("gains" if change_ms < 0 else "loses"), change_ms


def _refused(model: Model, rewriter: Rewriter, live: Sequence[Term], steps: Sequence[Step]) -> list[Considered]:
    """The rules that end in an operator of the node and do not fit, each with the reason that is nearest to a fit."""
    fitting = {format_rule(step.rule.rule) for step in steps}
    found: dict[str, tuple[int, Considered]] = {}
    for term in live:
        for rule, matcher in rewriter.candidates(term):
            text = format_rule(rule.rule)
            if text in fitting:
                continue
            reason = refusal(rule, matcher, model.builder, term)
            depth = reason.depth if reason is not None else 100
            verdict, why = (reason.kind, reason.sentence) if reason is not None else _alone(rule)
            one = Considered(rule.rule.name, text, str(rule.rule.fp_class), verdict, why)
            if text not in found or depth > found[text][0]:
                found[text] = depth, one
    return [one for _, one in sorted(found.values(), key=lambda entry: (-entry[0], entry[1].text))]


def _alone(rule: CompiledRule) -> tuple[str, str]:
    """Why a rule that fits one node comes to nothing."""
    if rule.merges:
        return "alone", "expected another node that shares what the rule shares, found none"
    return "precondition", "expected a change, found a result that is there already or has another type"


def _order(one: Considered) -> tuple[int, float]:
    verdicts = [*FITTING, *REFUSED]
    return verdicts.index(one.verdict), one.change_ms or 0.0
