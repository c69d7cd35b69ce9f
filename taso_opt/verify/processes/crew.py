"""Shares questions out among several proving processes; no answer depends on how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from taso_opt.verify.processes.child import Child, Stopped
from taso_opt.verify.processes.worker import Answer, Question, Restart

CHUNK = 40
"""Questions that one solver sees in a row. Fixed, so that what a solver has learnt never depends on the jobs."""


class Crew:
    """Child processes, started when first needed and ended with the context; one thread drives each."""

    def __init__(self, jobs: int = 1) -> None:
        self._children = [Child() for _ in range(jobs)]
        self._idle: SimpleQueue[Child] = SimpleQueue()
        for child in self._children[::-1]:
            self._idle.put(child)
        self.threads = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.threads.shutdown(wait=False, cancel_futures=True)
        for child in self._children:
            child.close()

    def start(self) -> None:
        """Start all processes, so that they are ready when the first questions are."""
        for child in self._children:
            child.start()

    @contextmanager
    def child(self) -> Iterator[Child]:
        """One of the processes for a while; at most as many at a time as there are jobs."""
        child = self._idle.get()
        try:
            yield child
        finally:
            self._idle.put(child)

    def ask_all(self, questions: Sequence[Question], progress: Callable[[int], None]) -> list[Answer | Stopped]:
        """The answer to each question, or why there is none, in order; solvers start afresh every CHUNK questions."""
        chunks = [questions[start : start + CHUNK] for start in range(0, len(questions), CHUNK)]
        answers: list[Answer | Stopped] = []
        for chunk in self.threads.map(self._ask_chunk, chunks):
            answers += chunk
            progress(len(answers))
        return answers

    def _ask_chunk(self, chunk: Sequence[Question]) -> list[Answer | Stopped]:
        with self.child() as child:
            return [_ask(child, question) for question in (Restart(), *chunk)][1:]


def _ask(child: Child, question: Question) -> Answer | Stopped:
    try:
        return child.ask(question)
    except Stopped as reason:
        return reason
