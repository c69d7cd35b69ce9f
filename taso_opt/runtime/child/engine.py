"""What every runtime that measures has to offer, and which one settings mean."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from taso_opt.core.printable import cut_short
from taso_opt.errors import RuntimeFailure, TasoError
from taso_opt.runtime.inputs import FEW_INTEGERS, MOST_ELEMENTS, Array, random_inputs, with_sizes
from taso_opt.runtime.requests import Model, name_of
from taso_opt.runtime.results import ModelDescription
from taso_opt.runtime.settings import OPENVINO, TITLES, RunSettings

LONGEST_REASON = 300

Run = Callable[[], object]
Weights = Mapping[str, Array]
NO_WEIGHTS: Weights = MappingProxyType({})


class Engine(Protocol):
    """The functions of a module that runs models; what `create_session` answers, only the others understand."""

    def create_session(
        self, model: Model, settings: RunSettings, optimization: str, weights: Weights = NO_WEIGHTS
    ) -> Any:
        """A model ready to run, with the weights that it says lie elsewhere; only ONNX Runtime takes such.

        Raises RuntimeFailure, and UnsupportedError for a device that does not answer.
        """

    def describe_session(self, session: Any) -> ModelDescription:
        """Inputs and outputs of a session."""

    def run_outputs(self, session: Any, model: Model, feed: Mapping[str, Array]) -> list[Array]:
        """The outputs as arrays, in the order of the model; raises RuntimeFailure."""

    def bound_runs(self, session: Any, feeds: Sequence[Mapping[str, Array]], settings: RunSettings) -> list[Run]:
        """A call for each feed that runs the session on it, with the tensors bound beforehand where that can be.

        One call in all where a run does not depend on what its feed holds and each feed would cost.
        """


def engine(settings: RunSettings) -> Engine:
    """The runtime that the settings name, imported now; raises UnsupportedError where it does not import."""
    if settings.runtime == OPENVINO:
        from taso_opt.runtime.child import openvino

        return openvino
    from taso_opt.runtime.child import sessions

    return sessions


class Turns:
    """Runs that take turns, as those of one model on several feeds do."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = list(runs)
        self._next = cycle(self._runs).__next__

    def begin_at(self, place: int) -> None:
        """Go on from the run at this place, counted round and round."""
        first = place % len(self._runs)
        self._next = cycle(self._runs[first:] + self._runs[:first]).__next__

    def __call__(self) -> object:
        """Make the next run."""
        return self._next()()


def bound_runs(
    model: Model,
    feeds: Sequence[Mapping[str, Array] | None],
    settings: RunSettings,
    optimization: str,
    different: int = MOST_ELEMENTS,
    weights: Weights = NO_WEIGHTS,
    below: int = FEW_INTEGERS,
) -> list[Run]:
    """A call for each feed that runs the model on it, with weights beside it.

    In place of None stand seeded random inputs of so many `different` numbers, whole ones `below` a bound, free dims
    set to 1. Raises as `create_session` does.
    """
    runtime = engine(settings)
    session = runtime.create_session(model, settings, optimization, weights)
    description = runtime.describe_session(session)
    inputs = [inputs_for(description, feed, settings, different, below) for feed in feeds]
    with refusals("run", model, settings.runtime):
        return runtime.bound_runs(session, inputs, settings)


def inputs_for(
    description: ModelDescription,
    inputs: Mapping[str, Array] | None,
    settings: RunSettings,
    different: int,
    below: int = FEW_INTEGERS,
) -> dict[str, Array]:
    """The given inputs, or seeded random ones for those that a model has, with every free dim set to 1."""
    if inputs is not None:
        return {name: np.asarray(value) for name, value in inputs.items()}
    specs = [replace(spec, below=below) for spec in with_sizes(description.inputs)]
    return random_inputs(specs, settings.seed, different)


@contextmanager
def refusals(action: str, model: Model, runtime: str) -> Iterator[None]:
    """Turn whatever a runtime raises inside the block into a RuntimeFailure of one sentence."""
    try:
        yield
    except TasoError:
        raise
    except Exception as error:  # the runtimes' exceptions have no common base but Exception
        message = f"expected {TITLES[runtime]} to {action} {name_of(model)}, found: {one_line(error)}"
        raise RuntimeFailure(message) from error


def one_line(error: BaseException) -> str:
    """A runtime's message without its numbers, C++ places and line breaks."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : ", "", text)
    text = re.sub(r"/onnxruntime_src/\S+:\d+ ", "", text)
    text = re.sub(r"Exception from src/\S+:\d+: ", "", text)
    return cut_short(re.sub(r" at src/\S+:\d+:", ":", text), LONGEST_REASON)
