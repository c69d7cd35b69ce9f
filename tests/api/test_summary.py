"""What a report says of each output, also where outputs are sequences, which are compared as any number of tensors."""

import io
from dataclasses import replace
from types import SimpleNamespace

import onnx
import pytest
from onnx import helper
from rich.console import Console

from documentation.sample_reports import improved
from taso_opt.api import OptimizeSettings, optimize_file
from taso_opt.api.finals.contest import CheckedOutput
from taso_opt.api.reporting.summary import output_errors, with_measurement
from taso_opt.report.page import headline
from taso_opt.report.record import ObjectivePart
from taso_opt.report.text import print_report
from taso_opt.runtime import Contestant, Latency, LatencyComparison, Ratio, Timing
from taso_opt.runtime.accuracy import OutputComparison, OutputDifference
from taso_opt.search.judging.agreement import Agreement

TENSOR, SEQUENCE = True, False


def outputs(**kinds):
    return [CheckedOutput(*item) for item in kinds.items()]


def agreeing(*errors):
    differences = tuple(OutputDifference(at, error, error / 2, 0.1, "") for at, error in enumerate(errors))
    return OutputComparison(differences)


@pytest.mark.parametrize(
    ("kinds", "errors", "expected"),
    [
        ({"a": TENSOR, "b": TENSOR}, (1, 2), {"a": 1, "b": 2}),
        ({"a": SEQUENCE}, (1, 5, 2), {"a": 5}),
        ({"a": SEQUENCE}, (), {}),
        ({"a": TENSOR, "s": SEQUENCE, "b": TENSOR}, (1, 2, 3, 4), {"a": 1, "s": 3, "b": 4}),
        ({"a": TENSOR, "s": SEQUENCE, "b": TENSOR}, (1, 4), {"a": 1, "b": 4}),
        ({"s": SEQUENCE, "a": TENSOR, "t": SEQUENCE, "b": TENSOR}, (1, 7, 3, 4), {"s, a, t": 7, "b": 4}),
    ],
)
def test_each_output_has_the_largest_error_of_its_tensors(kinds, errors, expected):
    found = output_errors(Agreement((agreeing(*errors),), ()), outputs(**kinds))
    assert {error.name: error.max_abs for error in found} == expected


def test_errors_are_the_largest_over_all_inputs():
    found = output_errors(Agreement((agreeing(1, 4), agreeing(2, 3)), ()), outputs(a=TENSOR, b=TENSOR))
    assert [(error.max_abs, error.max_rel) for error in found] == [(2, 1), (4, 2)]


def test_the_tolerance_is_the_strictest_over_all_inputs():
    strict, loose = (OutputComparison((OutputDifference(0, 0, 0, allowed, ""),)) for allowed in (1e-5, 1e-4))
    (found,) = output_errors(Agreement((loose, strict), ()), outputs(a=TENSOR))
    assert found.tolerance == 1e-5


@pytest.mark.parametrize("is_ahead", [True, False])
def test_a_decision_that_is_recalled_is_told_where_what_is_measured_now_does_not_tell(is_ahead):
    time = Latency(Timing(0.1, 0.0, 30, 0.1), Timing(0.1, 0.0, 30, 0.1))
    winner = Contestant(time, *[Ratio(1.1, 1.05 if is_ahead else 0.9, 1.2)] * 4)
    latency = LatencyComparison("cpu", time, Contestant(time, *[Ratio(1.0, 0.99, 1.01)] * 4), (winner,), 30, 6)
    finals = SimpleNamespace(
        dropped=(),
        finalist=SimpleNamespace(latency=latency, contestant=winner, agreement=Agreement((), ())),
    )
    contest = SimpleNamespace(finals=finals, recalled=SimpleNamespace(decided_at="yesterday"))
    told = with_measurement(improved(), contest, [])
    assert told.reason == ("" if is_ahead else "it won at yesterday, and the measurement of now alone does not tell")
    lines = io.StringIO()
    print_report(told, Console(file=lines, width=200))
    assert ("1.10x faster: wrote" in lines.getvalue()) is is_ahead
    assert ("kept, 1.10x now: it won at yesterday" in lines.getvalue()) is not is_ahead
    assert headline(told) == ("1.10 times as fast" if is_ahead else "kept")
    by_objective = replace(improved(), objective=(ObjectivePart("launches", 1.0, 3, 2),))
    assert with_measurement(by_objective, contest, []).reason == ""


def test_a_model_that_gives_a_sequence_is_optimized_and_reported(stackable, tmp_path, process, first_wins):
    graph = stackable.graph
    graph.node.append(helper.make_node("SplitToSequence", [graph.output[0].name], ["parts"], keepdims=1))
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None))
    graph.output.append(helper.make_value_info("parts", kind))
    onnx.save(stackable, tmp_path / "model.onnx")
    record = optimize_file(tmp_path / "model.onnx", OptimizeSettings(budget=20.0), process=process)
    assert record.result == "improved"
    assert [error.name for error in record.outputs] == [graph.output[0].name, "parts"]
