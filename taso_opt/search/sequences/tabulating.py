"""Sequences of steps that compute what rows go through before they are repeated, or once for each row of a table.

As an embedding of few words, or of the steps of a diffusion, with layers behind it that work row by row: f(T[i]) is
f(T)[i], and where T is constant nothing of f is left when the model runs. So it is with what is expanded. One step
alone may cost more than it saves, as where one operand of x sigmoid(x) is looked up and not the other, so that all of
it is one move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from taso_opt.core.term import Term
from taso_opt.rewrite.finding.step import Step, StepSequence
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.sequences.parting import is_repeated
from taso_opt.search.sequences.reaching import steps_at


def tabulated(
    terms: Sequence[Term], used_beyond: Callable[[Sequence[Term]], Sequence[Term]], rewriter: Rewriter
) -> Iterator[StepSequence]:
    """The sequence for all that rows go through, for each tensor of places in a graph and each that is expanded.

    The graph is given by its terms, children before parents. What is `used_beyond` others of them is replaced.
    """
    said: dict[Term, Term] = {}
    begun: dict[Term, Term] = {}
    joined: dict[Term, Term] = {}
    steps: dict[Term, Step] = {}

    def beginning(of: Term) -> Term:
        """What tells all that is one move: where it begins, the first place of several that meet."""
        place = begun[of]
        while place in joined:
            place = joined[place]
        return place

    for term in terms:
        if is_repeated(term):
            said[term], begun[term] = term, term.children[-1]
            continue
        rows = [child for child in term.children if not rewriter.is_constant(child)]
        if rewriter.is_constant(term) or not rows or not all(row in said for row in rows):
            continue
        new = rewriter.with_children(term, [said.get(child, child) for child in term.children])
        step = next((one for one in steps_at(new, rewriter) if is_repeated(one.image)), None)
        if step is not None:
            first, *others = dict.fromkeys(map(beginning, rows))
            joined.update(dict.fromkeys(others, first))
            said[term], begun[term], steps[term] = step.image, first, step
    moves: dict[Term, list[Term]] = {}
    for term in steps:
        moves.setdefault(beginning(term), []).append(term)
    for members in moves.values():
        yield tuple(map(steps.__getitem__, members)), tuple((end, said[end]) for end in used_beyond(members))
