"""The parent's side of the proving child process: starting, asking, and killing by its own clock."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

from taso_opt.verify.processes.worker import MEMORY_LIMIT, Answer, Broken, Contradicted, OutOfMemory, Question
from taso_opt.verify.verdict import Contradiction

CPU_TIME = 2
"""In the number of a process' clock on Linux: what the scheduler gave it."""

BOOTSTRAP = """
import json, sys
pipe, sys.path[:] = json.loads(sys.argv[1])
from taso_opt.verify.processes.worker import serve
serve(pipe)
"""
TIME_LIMIT_S = 30.0
"""How long the processor may work on one question. Z3's own limit ends nearly all earlier; this one does not trust it.

It is the child's processor time, so that answers, and with them libraries, do not depend on what else a machine does.
"""

PATIENCE = 20
"""A question may wait so many times as long for the processor before the child is taken to hang."""

GLANCE_S = 0.1
"""How often at most the clock of the child is read."""


class Stopped(Exception):
    """The child took too long, wanted too much memory or died; the message says which."""


class Child:
    """A process that answers questions; starts at the first one, and again after it was killed or died."""

    def __init__(self, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._time_limit_s = time_limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, question: Question) -> Answer:
        """The answer, of the type that the question's docstring names; Stopped when there is none.

        Contradiction when proof and evaluation do not agree.
        """
        self.start()
        assert self._connection is not None
        try:
            self._connection.send(question)
            if not self._is_answered(self._connection):
                raise Stopped(f"stopped after {self._time_limit_s:g} s")
            reply = self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            raise Stopped("the proving process died") from error
        except BaseException:  # also Ctrl-C: an unread answer would be taken for the next question's
            self.close()
            raise
        if isinstance(reply, Broken):
            raise AssertionError(f"the proving process failed:\n{reply.trace}")
        if isinstance(reply, Contradicted):
            raise Contradiction(reply.message)
        if isinstance(reply, OutOfMemory):
            raise Stopped(f"stopped at {MEMORY_LIMIT // 2**30} GiB of memory")
        answer: Answer = reply
        return answer

    def _is_answered(self, connection: Connection) -> bool:
        """Wait for an answer until the child has used up its time."""
        begun, left = self._clock(), self._time_limit_s
        hangs_at = time.monotonic() + PATIENCE * self._time_limit_s
        while left > 0 and time.monotonic() < hangs_at:
            if connection.poll(max(left, GLANCE_S)):
                return True
            left = self._time_limit_s - (self._clock() - begun)
        return False

    def _clock(self) -> float:
        """Seconds for which the processor has worked for the child, dead or alive as long as it is not reaped."""
        assert self._process is not None
        return time.clock_gettime(~self._process.pid << 3 | CPU_TIME)

    def close(self) -> None:
        """End the process if there is one."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._connection = None

    def start(self) -> None:
        """Start the process if there is none."""
        if self._process is not None:
            return
        ours, theirs = multiprocessing.Pipe()
        path = [str(entry) or os.getcwd() for entry in sys.path]
        # A fresh interpreter, not multiprocessing's spawn, which would import the caller's main script again.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", BOOTSTRAP, json.dumps([theirs.fileno(), path])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        theirs.close()
        self._connection = ours
