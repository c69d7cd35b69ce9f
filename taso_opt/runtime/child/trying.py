"""Runs a model on inputs of several shapes, to find out which of them it takes."""

import time
from contextlib import suppress

from taso_opt.errors import TasoError
from taso_opt.runtime.child.engine import engine
from taso_opt.runtime.inputs import ENOUGH_DIFFERENT, random_inputs
from taso_opt.runtime.requests import FindSizes


def find_sizes(request: FindSizes) -> int | None:
    """The number of the first candidate that the model runs on; raises as `create_session` does."""
    started, runtime = time.monotonic(), engine(request.settings)
    session = runtime.create_session(request.model, request.settings, "none")
    for number, specs in enumerate(request.candidates):
        if number and time.monotonic() - started > request.limit_s:
            return None
        with suppress(TasoError):
            runtime.run_outputs(session, request.model, random_inputs(specs, request.settings.seed, ENOUGH_DIFFERENT))
            return number
    return None
