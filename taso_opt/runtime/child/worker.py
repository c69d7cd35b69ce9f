"""The child process: the only one that imports a runtime; answers requests until its parent closes the pipe."""

import ctypes
import gc
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection

from taso_opt.core.machine.memory import all_memory
from taso_opt.errors import RuntimeFailure, TasoError, UnsupportedError
from taso_opt.runtime.installed import INSTALL_COMMAND
from taso_opt.runtime.requests import (
    Answer,
    Broken,
    MeasureMany,
    Ready,
    Refusal,
    Reply,
    Request,
    subject_of,
)

PARENT_CHECK_S = 0.5
MEMORY_SHARE = 0.9
"""Of the memory of the machine or the container: what the child may take for data, mapped files not counted."""

PR_SET_PDEATHSIG = 1
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_KEPT = 32 << 20
"""The largest block of memory that glibc can be told to keep when it is freed, in bytes."""


def serve(pipe: int, parent: int, die_with_parent_thread: bool) -> None:
    """Answer requests on the pipe (a file descriptor) until it is closed or the process `parent` is gone.

    `die_with_parent_thread` asks Linux to kill this process when the thread that started it ends, which is right only
    if that is the parent's main thread; a watch on the parent's process id covers all other cases.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the parent, which then ends this process
    _die_with_parent(parent, die_with_parent_thread)
    connection = Connection(pipe)
    first = _import_runtime()
    _keep_memory()
    gc.freeze()  # what was imported is no garbage, and looking through it before each batch takes as long as a kernel
    try:
        connection.send(first)
        while isinstance(first, Ready):
            request = connection.recv()
            keeps = isinstance(request, MeasureMany)  # whose batches take memory of about one size, one after the other
            if not keeps:
                _return_memory()
            connection.send(reply_to(request))
            if not keeps:
                _return_memory()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def reply_to(request: Request) -> Reply:
    """The answer to one request; an error of the user or the runtime becomes a Refusal, one of our own Broken."""
    from taso_opt.runtime.child.answers import answer

    try:
        return Answer(answer(request))
    except TasoError as error:
        cause = "" if error.__cause__ is None else str(error.__cause__)
        return Refusal(error, cause)
    except MemoryError:
        return Refusal(RuntimeFailure(f"expected enough memory for {subject_of(request)}, found too little"))
    except Exception:  # noqa: BLE001 - the boundary of the process: everything must reach the parent
        return Broken(traceback.format_exc())


def _import_runtime() -> Ready | Refusal:
    try:
        import onnxruntime
    except ImportError as error:
        reason = " ".join(str(error).split())
        message = f"expected ONNX Runtime to import, found: {reason}; run: {INSTALL_COMMAND}"
        return Refusal(UnsupportedError(message), traceback.format_exc())
    onnxruntime.set_default_logger_severity(3)
    onnxruntime.disable_telemetry_events()
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():  # which reserves far more than it uses
        _bound_memory()
    import_module("taso_opt.runtime.child.answers")
    return Ready()


def _keep_memory() -> None:
    """Keep what is freed for what comes next: of a batch of kernels, half of the time went into new pages of memory."""
    option = _of_glibc("mallopt")
    if option is not None:
        option(M_MMAP_THRESHOLD, LARGEST_KEPT)
        option(M_TRIM_THRESHOLD, (1 << 31) - 1)


def _return_memory() -> None:
    """Give the system back what earlier requests left: hundreds of megabytes."""
    trim = _of_glibc("malloc_trim")
    if trim is not None:
        trim(0)


def _of_glibc(name: str) -> Callable[..., int] | None:
    """A function of the C library, None where it is another one."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


def _bound_memory() -> None:
    """Let a model that wants all memory fail here, before the system ends some other process."""
    if sys.platform == "linux":
        most = int(MEMORY_SHARE * all_memory())
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _die_with_parent(parent: int, ask_kernel: bool) -> None:
    if ask_kernel and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(1)
