"""The parent's side of the runtime's child process: starting, asking, time limits, crashes, restarts.

`RuntimeProcess.request` sends any message of requests.py; the functions of questions.py are the convenient way.

The child is a fresh interpreter, not a fork and not multiprocessing's spawn, which would import the caller's main
script again: a program that uses this package as a library needs no `if __name__ == "__main__"` guard.
"""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
from multiprocessing.connection import Connection
from types import TracebackType
from typing import IO, Self

from taso_opt.errors import RuntimeFailure
from taso_opt.runtime.installed import require_runtime
from taso_opt.runtime.requests import Answer, Broken, Ready, Refusal, Reply, Request, runtime_of, subject_of
from taso_opt.runtime.settings import ONNXRUNTIME, TITLES

BOOTSTRAP = (
    "import json, sys; "
    "pipe, parent, die, sys.path[:] = json.loads(sys.argv[1]); "
    "from taso_opt.runtime.child.worker import serve; "
    "serve(pipe, parent, die)"
)
START_LIMIT_S = 120.0
END_LIMIT_S = 5.0
LONGEST_QUOTE = 200


class RuntimeProcess:
    """A child process that runs models; starts when entered, and at the first request after a crash or a time-out.

    It imports the runtime while its user goes on. Use it as a context manager, from one thread at a time. The child
    dies with its parent and ignores Ctrl-C; what the runtime prints goes to a temporary file, of which only an error
    quotes the last line.
    """

    def __init__(self, start_limit_s: float = START_LIMIT_S) -> None:
        self._start_limit_s = start_limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._chatter: IO[bytes] | None = None
        self._is_ready = False

    def __enter__(self) -> Self:
        self._launch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The child's process id, None while there is no child."""
        return None if self._process is None else self._process.pid

    def request(self, message: Request, timeout_s: float) -> object:
        """The child's answer, of the type that the request's docstring names.

        Raises UnsupportedError if the runtime or a device is missing, RuntimeFailure if it refuses the model, crashes
        or takes longer than `timeout_s` seconds; after a crash or time-out the next request starts a new child.
        """
        task = f"{TITLES[runtime_of(message)]} to finish with {subject_of(message)}"
        if self._process is None or self._process.poll() is not None:
            self._launch()
        if not self._is_ready:
            self._await_ready()
        assert self._connection is not None
        try:
            self._clear_chatter()
            self._send(message, timeout_s)
            reply = self._receive(task, timeout_s)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise self._crash(task) from error
        except BaseException:  # also Ctrl-C: an unread answer would be taken for the next request's
            self.close()
            raise
        return _open(reply)

    def close(self) -> None:
        """End the child if there is one."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._chatter is not None:
            self._chatter.close()
        self._process = self._connection = self._chatter = None
        self._is_ready = False

    def _launch(self) -> None:
        """Start a child, which says itself when it is ready."""
        self.close()
        ours, theirs = multiprocessing.Pipe()
        self._connection = ours
        self._chatter = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child, see close
        in_main_thread = threading.current_thread() is threading.main_thread()
        path = [str(entry) or os.getcwd() for entry in sys.path]
        start = json.dumps([theirs.fileno(), os.getpid(), in_main_thread, path])
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", BOOTSTRAP, start],
                stdin=subprocess.DEVNULL,
                stdout=self._chatter,
                stderr=self._chatter,
                pass_fds=[theirs.fileno()],
            )
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()

    def _await_ready(self) -> None:
        try:
            require_runtime()
            _open(self._receive(f"{TITLES[ONNXRUNTIME]} to finish with its start", self._start_limit_s))
        except BaseException:
            self.close()
            raise
        self._is_ready = True

    def _send(self, message: Request, timeout_s: float) -> None:
        """Send a request; a child that does not even read it in time is ended, which ends the sending too."""
        assert self._connection is not None and self._process is not None
        watch = threading.Timer(timeout_s, self._process.kill)
        watch.daemon = True
        watch.start()
        try:
            self._connection.send(message)
        finally:
            watch.cancel()

    def _receive(self, task: str, timeout_s: float) -> Reply:
        assert self._connection is not None
        if not self._connection.poll(timeout_s):
            self.close()
            raise RuntimeFailure(f"expected {task} within {timeout_s:g} s, found it still busy; its process was ended")
        try:
            reply: Reply = self._connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise self._crash(task) from error
        return reply

    def _crash(self, task: str) -> RuntimeFailure:
        """What to raise for a child that ended by itself, with the last line that it wrote."""
        assert self._process is not None
        try:
            status = self._process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        quote = self._last_line()
        self.close()
        said = f"; it said: {quote}" if quote else ""
        return RuntimeFailure(f"expected {task}, found it {_ending(status)}{said}")

    def _clear_chatter(self) -> None:
        """Forget what the child wrote so far; both processes share the file's position."""
        assert self._chatter is not None
        self._chatter.seek(0)
        self._chatter.truncate()

    def _last_line(self) -> str:
        assert self._chatter is not None
        size = self._chatter.seek(0, os.SEEK_END)
        self._chatter.seek(max(0, size - 4096))
        lines = [line.strip() for line in self._chatter.read().decode(errors="replace").splitlines()]
        return next((line[:LONGEST_QUOTE] for line in reversed(lines) if line), "")


def _ending(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")


def _open(reply: Reply) -> object:
    """The value of an answer; raises what a refusal carries."""
    match reply:
        case Ready():
            return None
        case Answer(value):
            return value
        case Refusal(error, trace):
            if trace:
                error.add_note(trace)
            raise error
        case Broken(trace):
            raise AssertionError(f"the runtime's child process failed in this package's own code:\n{trace}")
