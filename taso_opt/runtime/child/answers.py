"""What answers each request; it imports the runtime, which the worker has to find out about first."""

from pathlib import Path

from taso_opt.onnx_io import load_model
from taso_opt.onnx_io.tidying.tidy import tidied
from taso_opt.runtime.child import batch, capabilities, contest, reference, trying
from taso_opt.runtime.child.engine import engine
from taso_opt.runtime.requests import (
    CompareLatency,
    Describe,
    FindSizes,
    MeasureMany,
    Probe,
    Request,
    RunDoubles,
    RunOutputs,
    Tidy,
)


def answer(request: Request) -> object:
    """The answer to one request; raises a TasoError for what the user or the runtime has to answer for."""
    match request:
        case Probe(runtime):
            return capabilities.capabilities(runtime)
        case Describe(model, settings, optimization):
            runs = engine(settings)
            return runs.describe_session(runs.create_session(model, settings, optimization))
        case RunOutputs(model, feeds, optimization, settings):
            runs = engine(settings)
            session = runs.create_session(model, settings.uncaptured, optimization)
            return [runs.run_outputs(session, model, feed) for feed in feeds]
        case RunDoubles(model, feeds, settings):
            return reference.run_in_doubles(Path(model), feeds, settings)
        case FindSizes():
            return trying.find_sizes(request)
        case Tidy(model):
            return tidied(load_model(Path(model)))
        case MeasureMany():
            return batch.measure_many(request)
        case CompareLatency():
            return contest.compare_latency(request)
    raise AssertionError(f"expected a request, found {type(request).__name__}")
