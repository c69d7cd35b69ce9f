"""Drops proved rules that smaller kept ones already give, so that the library stays small and the search fast.

A rule is dropped when it follows from commutativity and kept rules. Each step of such a derivation is a kept rule, so a
search that applies rules one after the other can take the same way. Some things need care:

- Together with the laws that undo a split of a concatenation, rules with one output derive every merge, but by first
  joining tensors that nothing in the graph asks to join, which a search never does: a rule with two outputs is how it
  finds that join. So those laws do not count for rules with two outputs. What goes is an instance of a smaller merge,
  or one that other rules turn into a smaller merge, such as that of two activations behind a merged product.
- Nor do those that take an operand off an operator, as the bias of a convolution, which is added apart then. All merges
  of biased convolutions are merges of convolutions and of sums so, by a way on which every step but the last one loses.
  The same goes for a sum that becomes one, as of biased convolutions: of many operands each takes such a step.
- What a rule with two outputs says of each output alone is no rule of its own.
- A merge of two tensors that have no operand in common joins what nothing in the graph brings together; no search
  tries all pairs, so nothing with one output follows from it.
- What one scalar operator is in other words is kept, whatever it follows from, and so is what scalar functions are
  under conditions: the way there leads through terms that cost more, at which a search may stop.
- What moves elements passes a map by a rule of its own, though some maps are others in other words: a sequence that
  takes it past all that lies between two products would have to spell these out.
- So does what looks rows up or repeats them pass any operator: what is done to all of them is done once by a sequence
  of such rules, one for each operator.
- A rule that makes a tensor up, as x = Conv(x, the identity kernel like f), says nothing to a search that does not know
  f yet: nothing follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from taso_opt.core.dims import Size
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Item, Term, Var, postorder, variables
from taso_opt.spec import load_specs
from taso_opt.spec.shared.shapes import any_shape
from taso_opt.spec.text import format_rule
from taso_opt.verify.processes.child import Child, Stopped
from taso_opt.verify.processes.crew import Crew
from taso_opt.verify.processes.worker import Derive, Learn

Progress = Callable[[str], None]

JOIN, SUM = "Concat", "Add"
MOVEMENTS = ("Reshape", "Transpose")
REPEATING = ("Expand", "Gather")

CHUNK = 250
"""Equations that one process derives in a row. Fixed, so that what a solver has learnt never depends on the jobs."""

LEARNT_AT_ONCE = 10
"""Laws that a child learns by one question: of the definitions of recurrent cells one takes Z3 up to two seconds."""


def prune(
    crew: Crew, rules: Iterable[Rule], progress: Progress = lambda message: None, given: Sequence[Rule] = ()
) -> list[Rule]:
    """The rules that follow neither from smaller ones among them nor from given ones, in order of size."""
    ordered = sorted({format_rule(rule): rule for rule in rules}.values(), key=_order)
    (single, several), (others, merges) = (
        _parted(ordered),
        _parted(filter(_is_law, given)),
    )
    # 1. Merges among themselves, so that step 2 has them instead of their halves.
    several = _Pruning(crew, _for_several([*others, *merges]), progress).kept(several)
    # 2. Rules with one output.
    sums = [rule for rule in single if _adds_up(rule)]
    single = _Pruning(crew, _for_one_output(others, [*merges, *several]), progress).kept(single)
    sums = [rule for rule in sums if rule not in single]
    single += _Pruning(crew, _for_sums([*others, *single], [*merges, *several]), progress).kept(sums)
    # 3. Merges that rules with one output turn into others.
    several = _Pruning(crew, _for_several([*others, *single, *merges]), progress).kept(several)
    return single + several


def underived(
    crew: Crew, rules: Sequence[Rule], given: Sequence[Rule], progress: Progress = lambda message: None
) -> list[Rule]:
    """The equations, proved or not, that given rules leave open; what follows from them needs no proof of its own.

    What takes a movement past a map, or rows past an operator before they are repeated, is left open always, since such
    a rule is kept whatever it follows from.
    """
    others, merges = _parted(given)
    single, several = _parted(rules)
    sums, apart = ([rule for rule in single if _adds_up(rule) is adds] for adds in (True, False))
    pieces = [(_for_one_output(others, merges), piece) for piece in _pieces(apart)]
    pieces += [(_for_sums(others, merges), piece) for piece in _pieces(sums)]
    pieces += [(_for_several([*others, *merges]), piece) for piece in _pieces(several)]
    left: set[Rule] = set()
    done = 0
    for (_, piece), found in zip(pieces, crew.threads.map(partial(_open, crew), pieces), strict=True):
        left.update(found)
        done += len(piece)
        progress(f"derived {done} of {len(rules)} equations, {len(left)} left")
    return [rule for rule in rules if rule in left]


def _open(crew: Crew, piece: tuple[Sequence[Rule], Sequence[Rule]]) -> list[Rule]:
    """Those of some equations that do not follow from laws."""
    laws, rules = piece
    left: list[Rule] = []
    learnt = False
    with crew.child() as child:
        for rule in rules:
            try:
                if not learnt:
                    _teach(child, laws, afresh=True)
                    learnt = True
                if not _moves_past(rule) and child.ask(Derive(rule)):
                    continue
            except Stopped:
                learnt = False  # the next process has to learn everything again
            left.append(rule)
    return left


def _teach(child: Child, laws: Sequence[Rule], afresh: bool) -> None:
    """Let a child know laws, some at a time: thousands at once take it longer than it may work on one question."""
    for start in range(0, max(1, len(laws)), LEARNT_AT_ONCE):
        child.ask(Learn(tuple(laws[start : start + LEARNT_AT_ONCE]), afresh and start == 0))


def _pieces(rules: Sequence[Rule]) -> list[Sequence[Rule]]:
    return [rules[start : start + CHUNK] for start in range(0, len(rules), CHUNK)]


def _parted(rules: Iterable[Rule]) -> tuple[list[Rule], list[Rule]]:
    """Rules with one output, and those with several."""
    found: tuple[list[Rule], list[Rule]] = ([], [])
    for rule in rules:
        found[len(rule.source) > 1].append(rule)
    return found


def _for_one_output(single: Sequence[Rule], several: Sequence[Rule]) -> list[Rule]:
    """What a rule with one output may follow from."""
    shared = [rule for rule in _without_undoing(several) if not rule.conditions and _shares(rule)]
    return [*shared, *filter(_is_law, single)]


def _for_sums(single: Sequence[Rule], several: Sequence[Rule]) -> list[Rule]:
    """What a rule about a sum that becomes one may follow from."""
    return [rule for rule in _for_one_output(single, several) if not _takes_operand_off(rule)]


@dataclass(frozen=True)
class _Pruning:
    """One pass over rules in order, with others that are known from the start."""

    crew: Crew
    known: Sequence[Rule]
    progress: Progress

    def kept(self, rules: Sequence[Rule]) -> list[Rule]:
        kept: list[Rule] = []
        laws = list(self.known)
        learnt = 0
        with self.crew.child() as child:
            for at, rule in enumerate(rules):
                self.progress(f"pruned {at} of {len(rules)} rules, kept {len(kept)}")
                try:
                    _teach(child, laws[learnt:], afresh=at == 0 or learnt == 0)
                    learnt = len(laws)
                    if not _says_scalars(rule) and not _moves_past(rule) and child.ask(Derive(rule)):
                        continue
                except Stopped:
                    learnt = 0  # the next process has to learn everything again
                kept.append(rule)
                if _is_law(rule) and (len(rule.source) == 1 or _for_several([rule])):
                    laws.append(rule)
        return kept


def _says_scalars(rule: Rule) -> bool:
    """Whether a rule is about numbers, at any shapes, under conditions or with one operator on one side."""
    operators = load_specs().operators
    of_any_shape = any(variable.type.shape == (any_shape(variable.name),) for variable in rule.variables)
    if not of_any_shape or len(rule.source) > 1:
        return False
    if not all(operators[term.operator].elementwise for term in rule.applications):
        return False
    sides = [root for root in rule.roots if isinstance(root, Apply)]
    operands = [side.args[:1] if operators[side.operator].is_map else side.args for side in sides]
    return bool(rule.conditions) or any(not any(isinstance(one, Apply) for one in several) for several in operands)


def _moves_past(rule: Rule) -> bool:
    """Whether a rule is one of those that sequences need one by one."""
    return _passes_a_map(rule) or _repeats_later(rule)


def _repeats_later(rule: Rule) -> bool:
    """Whether one side repeats what an operator gives and the other the operands of this."""
    if len(rule.source) > 1:
        return False
    sides = rule.source[0], rule.target[0]
    return any(
        isinstance(outer, Apply)
        and isinstance(inner, Apply)
        and outer.operator in REPEATING
        and _is(outer.args[0], inner.operator)
        and any(_is(one, outer.operator) for one in inner.args)
        for outer, inner in (sides, sides[::-1])
    )


def _is(term: Term, operator: str) -> bool:
    return isinstance(term, Apply) and term.operator == operator


def _passes_a_map(rule: Rule) -> bool:
    """Whether a rule takes a transposition or a reshape past an operator on one tensor and numbers."""
    (source, *others), (target, *_) = rule.source, rule.target
    tensors = [variable for variable in rule.variables if variable.type.rank]
    if others or len(tensors) > 1:
        return False
    names = [_names_down(side) for side in (source, target)]
    return names[0] == names[1][::-1] and len(names[0]) == 2 and sum(name in MOVEMENTS for name in names[0]) == 1


def _names_down(term: Term) -> list[str]:
    """The operators from a term down to a variable, as long as each has one operand that is no variable itself."""
    found: list[str] = []
    while isinstance(term, Apply):
        found.append(term.operator)
        term = next((one for one in term.args if not isinstance(one, Var)), term.args[0])
    return found


def _for_several(rules: Iterable[Rule]) -> list[Rule]:
    """What a rule with several outputs may follow from."""
    return [rule for rule in _without_undoing(rules) if not (rule.conditions or _takes_operand_off(rule))]


def _without_undoing(rules: Iterable[Rule]) -> list[Rule]:
    """Without the laws that give back the parts of a concatenation."""
    return [rule for rule in rules if not _undoes_concatenation(rule)]


def _undoes_concatenation(rule: Rule) -> bool:
    variables = any(isinstance(term, Var) for term in rule.roots)
    return variables and any(isinstance(term, Item) for term in rule.roots)


def _takes_operand_off(rule: Rule) -> bool:
    """Whether an operator has more operands on one side than on the other, but for joins, which have any number."""
    source, target = (_operand_counts(side) for side in (rule.source, rule.target))
    return any(source[name] != target[name] for name in source.keys() & target.keys())


def _operand_counts(roots: Iterable[Term]) -> dict[str, set[int]]:
    """With how many operands each operator stands in some terms."""
    counts: dict[str, set[int]] = {}
    for term in postorder(roots):
        if isinstance(term, Apply) and term.operator != JOIN:
            counts.setdefault(term.operator, set()).add(len(term.args))
    return counts


def _adds_up(rule: Rule) -> bool:
    """Whether a sum of what an operator gives is what it gives at once, with as many operands."""
    if len(rule.source) > 1:
        return False
    (one,), (other,) = rule.source, rule.target
    return any(_is_sum_of(top, whole) for top, whole in ((one, other), (other, one)))


def _is_sum_of(top: Term, whole: Term) -> bool:
    if not isinstance(top, Apply) or not isinstance(whole, Apply) or len(top.args) != 2:
        return False
    alike = [isinstance(part, Apply) and part.operator == whole.operator for part in top.args]
    return top.operator == SUM and all(alike) and all(len(part.children) == len(whole.args) for part in top.args)


def _shares(rule: Rule) -> bool:
    """Whether the sources of a merge have a variable in common."""
    first, second, *_ = rule.source
    return not set(variables((first,))).isdisjoint(variables((second,)))


def _is_law(rule: Rule) -> bool:
    """Whether others may follow from a rule: it holds of all values, and makes up no weights."""
    return not rule.conditions and not _makes_something_up(rule)


def _makes_something_up(rule: Rule) -> bool:
    operators = load_specs().operators
    apart = set(variables(rule.source)) != set(variables(rule.target))
    return apart and any(operators[term.operator].weights_only for term in rule.applications)


def _order(rule: Rule) -> tuple[int, int, int, int, int, str]:
    """Small rules first, among them general ones: few literal sizes, many variables, many stars, few sizes."""
    total = _tree_size(rule.roots)
    dims = [dim for variable in rule.variables for dim in variable.type.shape]
    for term in rule.applications:
        for _, value in term.attributes:
            dims += [part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, int | Size)]
    literals = sum(isinstance(dim, int) for dim in dims)
    stars = sum(isinstance(dim, Size) and dim.is_star for dim in dims)
    return total, literals, -len(rule.variables), -stars, len(dims), format_rule(rule)


def _tree_size(roots: Sequence[Term]) -> int:
    """How many operators there are, shared ones counted each time, so that an instance is never the smaller one."""
    sizes: dict[Term, int] = {}
    for term in postorder(roots):
        sizes[term] = isinstance(term, Apply) + sum(sizes[child] for child in term.children)
    return sum(sizes[root] for root in roots)
