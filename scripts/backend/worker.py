"""Runs the backend suite's models through the optimizer, each as given and forcibly rewritten, in one process."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, checker, helper
from onnx.backend.test.runner import Runner

from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.api.forced import force_rewriting
from taso_opt.core.term import Apply, Item, Term
from taso_opt.errors import TasoError
from taso_opt.onnx_io import read_model, save_atomically, seeded
from taso_opt.onnx_io.nodes import spelled
from taso_opt.onnx_io.reading.model import Model
from taso_opt.onnx_io.writing.patch import Patch
from taso_opt.runtime import RuntimeProcess
from taso_opt.spec import OPAQUE, load_specs

from .models import UNREADABLE, Case, DataSet, dressed, load_cases, readable, restamped

MODES = ("optimized", "respelled", "shrunk", "wandered")
"""As a user does it; every known node written anew; dressed, and every rule applied that removes something; dressed,
and random rules applied."""

BUDGET_S = 0.3
CASE_LIMIT_S = 120.0
NEWEST_OPSET, NEWEST_IR = 26, 13
"""What the runtime loads at most; the onnx package stamps newer ones, mostly without need."""

BFLOAT_ULPS = 2**-6
EXOTIC = frozenset(helper.tensor_dtype_to_np_dtype(code).name for code in UNREADABLE)
"""NumPy's names of the element types that come from a package of their own."""

FINE = (
    "agrees",
    "agrees with the runtime",
    "agrees without the runtime's optimizations",
    "unchanged, fails when run",
    "refused",
    "not run",
    "nothing to rewrite",
)
"""Results that are no fault of ours."""


@dataclass(frozen=True)
class Outcome:
    """What became of one model in one mode: a short result, and one line of detail."""

    case: str
    mode: str
    result: str
    detail: str = ""
    rewritten: bool = False
    exit_code: int = 0


class Suite:
    """One long-lived worker process, replaced when it dies; ask it for the outcomes of one model."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def outcomes(self, name: str) -> list[Outcome]:
        """One outcome for each mode; a death or a hang of the worker is a crash in every mode."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        try:
            return self._pool.submit(examine, name).result(CASE_LIMIT_S)
        except (BrokenProcessPool, TimeoutError) as error:
            self.close()
            return [Outcome(name, mode, "crash", f"the worker was lost: {type(error).__name__}") for mode in MODES]

    def close(self) -> None:
        """End the worker if there is one."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.kill()
            self._pool.shutdown(cancel_futures=True)
        self._pool = None


@cache
def _cases() -> dict[str, Case]:
    return load_cases()


@cache
def _process() -> RuntimeProcess:
    return RuntimeProcess()


def examine(name: str) -> list[Outcome]:
    """All modes for one model, in this process."""
    case = _cases()[name]
    with TemporaryDirectory(prefix="tasoopt-") as folder:
        return [_outcome(case, mode, Path(folder)) for mode in MODES]


def _outcome(case: Case, mode: str, folder: Path) -> Outcome:
    proto = _proto(case, mode)
    if proto is None:
        return Outcome(case.name, mode, "nothing to rewrite")
    if mode != "optimized":
        proto = seeded(proto) or proto
    path, output = folder / f"{mode}.onnx", folder / f"{mode}.out.onnx"
    content = proto.SerializeToString()
    path.write_bytes(content)
    try:
        rewritten = _rewrite(mode, path, output)
    except TasoError as error:
        return _refused(case, mode, path, output, content, error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what this suite looks for
        return Outcome(case.name, mode, "crash", f"{type(error).__name__}: {error}")
    if path.read_bytes() != content:
        return Outcome(case.name, mode, "wrong", "the original was changed")
    result, detail = _judged(case, path, output)
    if result == "not run" and mode == "optimized":
        result = "unchanged, fails when run" if output.read_bytes() == content else "wrong"
    return Outcome(case.name, mode, result, detail, rewritten)


def _proto(case: Case, mode: str) -> ModelProto | None:
    """The model for one mode; what is forcibly rewritten is stamped with an opset that the runtime loads."""
    if mode == "optimized":
        return case.model
    stamped = restamped(case.model, NEWEST_OPSET, NEWEST_IR)
    return stamped if mode == "respelled" else dressed(stamped)


def _rewrite(mode: str, path: Path, output: Path) -> bool:
    """Write the result of one mode; whether anything in it was rewritten."""
    match mode:
        case "optimized":
            settings = OptimizeSettings(output=output, budget=BUDGET_S)
            return optimize_file(path, settings, process=_process()).result == "improved"
        case "respelled":
            return respell(path, output)
        case "shrunk":
            return bool(force_rewriting(path, output, steps=30, shrink=True).rules)
    return bool(force_rewriting(path, output, seed=len(path.read_bytes()), steps=6).rules)


def respell(path: Path, output: Path) -> bool:
    """Write a model as if every node that a specification covers had been made by rewriting."""
    model = read_model(path, load_specs())
    kept = {term: origin for term, origin in model.origin.items() if not _is_written_anew(model, term)}

    patch = Patch(dataclasses.replace(model, origin=kept), model.graph.outputs)
    save_atomically(patch.model(), output, original=path)
    return len(kept) < len(model.origin)


def _is_written_anew(model: Model, term: Term) -> bool:
    """Whether a term is an operator that is known and can be written: no rewriting makes what cannot."""
    whole = term.term if isinstance(term, Item) else term
    if not isinstance(whole, Apply) or whole.operator == OPAQUE:
        return False
    return spelled(model.builder, whole, model.opset, model.number) is not None


def _refused(case: Case, mode: str, path: Path, output: Path, content: bytes, error: TasoError) -> Outcome:
    line = str(error)
    if "\n" in line or error.exit_code not in (1, 2, 3, 4) or error.exit_code == 1:
        return Outcome(case.name, mode, "wrong", f"exit code {error.exit_code}: {line}")
    if output.exists() or path.read_bytes() != content:
        return Outcome(case.name, mode, "wrong", f"a refusal left traces: {line}")
    reference, _ = _run_all(case, path)
    if reference is not None:
        return Outcome(case.name, mode, "wrong", f"refused, though the runtime runs it: {line}")
    return Outcome(case.name, mode, "refused", line, exit_code=error.exit_code)


def _judged(case: Case, path: Path, output: Path) -> tuple[str, str]:
    """Whether a written model is valid and gives the outputs of the suite, or those of the original."""
    try:
        checker.check_model(ModelProto.FromString(output.read_bytes()))
    except checker.ValidationError as error:
        if not _invalid_itself(path):
            return "wrong", f"the result is not valid: {error}"
    reference, why = _run_all(case, path)
    if reference is None:
        return "not run", f"the runtime does not run it: {why}"
    found, why = _run_all(case, output)
    if found is None:
        return "wrong", f"the result does not run: {why}"
    expected = [data.outputs for data in case.data_sets]
    if not _difference(case, expected, found):
        return "agrees", ""
    if not _difference(case, expected, reference):
        return "wrong", _difference(case, expected, found)
    different = _difference(case, reference, found)
    if not different:
        return "agrees with the runtime", _difference(case, expected, found)
    plain, _ = _run_all(case, path, optimized=False)
    other, _ = _run_all(case, output, optimized=False)
    if plain is not None and other is not None and not _difference(case, plain, other):
        return "agrees without the runtime's optimizations", different
    return "wrong", different


def _invalid_itself(path: Path) -> bool:
    try:
        checker.check_model(ModelProto.FromString(path.read_bytes()))
    except checker.ValidationError:
        return True
    return False


def _difference(case: Case, expected: Sequence[Sequence[Any]], found: Sequence[Sequence[Any]]) -> str:
    """Why outputs differ, by the tolerances of the suite; empty when they agree."""
    for mine, other in zip(expected, found, strict=True):
        try:
            assert len(mine) == len(other), f"expected {len(mine)} outputs, found {len(other)}"
            for first, second in zip(mine, other, strict=True):
                _assert_similar(case, first, second)
        except AssertionError as error:
            return " ".join(str(error).split())[:200]
    return ""


def _assert_similar(case: Case, expected: Any, found: Any) -> None:
    """As the suite's own runner compares, elements of sequences one by one."""
    if isinstance(expected, list | tuple):
        assert isinstance(found, list | tuple) and len(found) == len(expected), f"expected {expected}, found {found}"
        for first, second in zip(expected, found, strict=True):
            _assert_similar(case, first, second)
    elif expected is None or found is None:
        assert expected is found, f"expected {expected}, found {found}"
    elif isinstance(expected, dict):
        assert expected == found, f"expected {expected}, found {found}"
    else:
        first, second = np.asarray(expected), np.asarray(found)
        if first.dtype.name in EXOTIC and second.dtype == np.float32:
            first = first.astype(np.float32)
        rtol = max(case.rtol, BFLOAT_ULPS) if np.asarray(expected).dtype.name == "bfloat16" else case.rtol
        Runner.assert_similar_outputs([first], [second], rtol, case.atol)


def _run_all(case: Case, path: Path, optimized: bool = True) -> tuple[list[list[Any]] | None, str]:
    """The outputs of a model file on every data set; None and the reason where the runtime does not run it."""
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    proto = ModelProto.FromString(path.read_bytes())
    try:
        source = readable(proto).SerializeToString() if _has_unreadable(proto) else str(path)
        session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        return [_run(session, data) for data in case.data_sets], ""
    except Exception as error:  # noqa: BLE001 - the runtime's exceptions have no common base but Exception
        return None, " ".join(str(error).split())[:200]


def _has_unreadable(proto: ModelProto) -> bool:
    return any(value.type.tensor_type.elem_type in UNREADABLE for value in proto.graph.output)


def _run(session: ort.InferenceSession, data: DataSet) -> list[Any]:
    """One run on copies of the inputs, since kernels that work in place have been seen to write into them."""
    names = [value.name for value in session.get_inputs()]
    feed = {name: _fed(deepcopy(value)) for name, value in zip(names, data.inputs, strict=False)}
    if not any(isinstance(value, ort.OrtValue) for value in feed.values()):
        return list(session.run(None, feed))
    whole = {name: _as_ort(value) for name, value in feed.items()}
    outputs = [value.name for value in session.get_outputs()]
    return [value.numpy() for value in session.run_with_ort_values(outputs, whole)]


def _fed(value: Any) -> Any:
    """An input as the runtime takes it; element types that NumPy lacks go in by their ONNX number."""
    if not isinstance(value, np.ndarray) or value.dtype.name not in EXOTIC:
        return value
    code = helper.np_dtype_to_tensor_dtype(value.dtype)
    raw = value.view(np.uint16 if value.dtype.itemsize == 2 else np.uint8)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, code)


def _as_ort(value: Any) -> ort.OrtValue:
    return value if isinstance(value, ort.OrtValue) else ort.OrtValue.ortvalue_from_numpy(np.asarray(value))
