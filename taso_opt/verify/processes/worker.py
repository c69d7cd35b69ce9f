"""The child process that proves and evaluates: answers questions until its parent closes the pipe or kills it."""

from __future__ import annotations

import resource
import signal
import traceback
from dataclasses import dataclass
from functools import cached_property, partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, TypeAlias

from taso_opt.core.rule import Rule
from taso_opt.spec.library import load_specs
from taso_opt.verify.evaluation.witness import Witness
from taso_opt.verify.verdict import Contradiction, Verdict

if TYPE_CHECKING:  # Z3 is imported in the child only
    from taso_opt.verify.conditions.widen import Symbolic
    from taso_opt.verify.derivation.prove import Derivation, Prover

MEMORY_LIMIT = 4 * 2**30
"""Bytes of address space: an equation with huge literal sizes must fail here and not take the machine along."""


@dataclass(frozen=True)
class Examine:
    """Prove and evaluate an equation, from the given axioms first; answered by a Verdict.

    `proved` tells that its chain was followed already, so that Z3 need not prove it again; a witness is replayed. With
    `infer` an equation that is not true in general is proved under conditions where there are such.
    """

    rule: Rule
    axioms: tuple[str, ...] | None = None
    proved: bool = False
    witness: Witness | None = None
    infer: bool = False


@dataclass(frozen=True)
class Explain:
    """Which axioms a proved equation follows from; answered by their names."""

    rule: Rule


@dataclass(frozen=True)
class Widen:
    """More general forms of a proved equation that hold as well; answered by a tuple of rules."""

    rule: Rule


@dataclass(frozen=True)
class Restart:
    """Forget what earlier proofs left behind; answered by None."""


@dataclass(frozen=True)
class Learn:
    """Let later derivations use these equations, and only these if `afresh`; answered by None."""

    rules: tuple[Rule, ...]
    afresh: bool


@dataclass(frozen=True)
class Derive:
    """Whether an equation follows from those learnt; answered by a bool."""

    rule: Rule


@dataclass(frozen=True)
class OutOfMemory:
    """The question needs more than the memory limit."""


@dataclass(frozen=True)
class Contradicted:
    """Proof and evaluation do not agree, and in what."""

    message: str


@dataclass(frozen=True)
class Broken:
    """The child's own code failed: a fault of this package, with the traceback."""

    trace: str


Question: TypeAlias = Examine | Explain | Widen | Restart | Learn | Derive
Answer: TypeAlias = Verdict | tuple[str, ...] | tuple[Rule, ...] | bool | None


def serve(pipe: int) -> None:
    """Answer the questions that come on the pipe (a file descriptor) until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the parent, which then ends this process
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    connection = Connection(pipe)
    desk = Desk()
    try:
        while True:
            connection.send(_reply(desk, connection.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


class Desk:
    """Answers questions; the provers are made when the first question needs them."""

    def __init__(self) -> None:
        self._library = load_specs()
        self._derivation: Derivation | None = None

    def answer(self, question: Question) -> Answer:
        """The answer to one question, of the type that the question names."""
        from taso_opt.verify import examine
        from taso_opt.verify.conditions import infer, widen

        match question:
            case Examine(rule, infer=True):
                return examine.examine_under_conditions(self._library, self._prover, rule)
            case Examine(rule, axioms, proved, witness):
                return examine.examine(self._library, self._prover, rule, axioms, proved, witness)
            case Explain(rule):
                return self._prover.axioms_used(rule)
            case Widen(rule) if rule.conditions:
                return (infer.weakest(self._library.builder(), rule),)
            case Widen(rule):
                holds = partial(examine.holds, self._library, self._prover)
                return tuple(widen.widen(self._library.builder(), self._symbolic, rule, holds))
            case Restart():
                self._prover.restart()
            case Learn(rules, afresh):
                self._learn(rules, afresh)
            case Derive(rule):
                assert self._derivation is not None, "expected Learn before Derive"
                return self._derivation.derives(rule)
        return None

    @cached_property
    def _prover(self) -> Prover:
        from taso_opt.verify.derivation import prove

        return prove.Prover(self._library)

    @cached_property
    def _symbolic(self) -> Symbolic:
        from taso_opt.verify.conditions import widen

        return widen.stated_with_symbols(self._library)

    def _learn(self, rules: tuple[Rule, ...], afresh: bool) -> None:
        from taso_opt.verify.derivation import prove

        if afresh or self._derivation is None:
            self._derivation = prove.Derivation(self._library)
        for rule in rules:
            self._derivation.add(rule)
        if len(rules) > 1:
            self._derivation.settle()


def _reply(desk: Desk, question: Question) -> Answer | OutOfMemory | Contradicted | Broken:
    try:
        return desk.answer(question)
    except MemoryError:
        return OutOfMemory()
    except Contradiction as found:
        return Contradicted(str(found))
    except Exception:  # noqa: BLE001 - the boundary of the process: everything must reach the parent
        return Broken(traceback.format_exc())
