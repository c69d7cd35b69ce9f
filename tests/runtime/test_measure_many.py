"""Timing many small models: results for each, failures apart, crashes isolated."""

from typing import cast

import numpy as np
import pytest

from taso_opt.errors import RuntimeFailure, UnsupportedError
from taso_opt.runtime import Failed, MeasureItem, MeasurePlan, RunSettings, RuntimeProcess, Timing, measure_many
from taso_opt.runtime.requests import MeasureMany

QUICK = MeasurePlan(rounds=5, sample_s=2e-4, batch_size=3)


class CrashingProcess:
    """Stands in for a RuntimeProcess whose child dies of certain models."""

    def __init__(self, fatal: set[str]) -> None:
        self.fatal = fatal
        self.batches: list[list[str]] = []

    def request(self, message: MeasureMany, timeout_s: float) -> dict[str, Timing | Failed]:
        keys = [item.key for item in message.items]
        self.batches.append(keys)
        if self.fatal & set(keys):
            raise RuntimeFailure("killed by SIGSEGV")
        return {key: Timing(1e-6, 0.0, 1, 1e-6) for key in keys}


def test_each_model_has_its_time_and_keys_keep_their_order(shared_process, unary):
    sizes = (512, 8, 64, 256)
    items = [MeasureItem(str(size), unary("Tanh", (size, size))) for size in sizes]
    results = measure_many(shared_process, items, plan=QUICK)
    assert list(results) == [str(size) for size in sizes]
    medians = {int(key): timing.median_s for key, timing in results.items() if isinstance(timing, Timing)}
    assert len(medians) == len(sizes) and medians[8] < medians[512]


def test_a_model_that_fails_does_not_disturb_the_others(shared_process, unary):
    wrong = {"x": np.ones((3, 3), np.float32)}
    items = [
        MeasureItem("good", unary("Relu"), {"x": np.ones((4, 4), np.float32)}),
        MeasureItem("unreadable", b"junk"),
        MeasureItem("wrong input", unary("Relu"), wrong),
        MeasureItem("free dims", unary("Relu", ("N", None, 3))),
    ]
    seen: list[tuple[int, int]] = []
    results = measure_many(shared_process, items, plan=QUICK, progress=lambda done, of: seen.append((done, of)))
    assert isinstance(results["good"], Timing)
    assert isinstance(results["free dims"], Timing)
    failures = {key: result.reason for key, result in results.items() if isinstance(result, Failed)}
    assert "INVALID_PROTOBUF" in failures["unreadable"]
    assert "invalid dimensions" in failures["wrong input"]
    assert len(failures) == 2
    assert seen == [(3, 4), (4, 4)]


def test_models_with_strings_and_sequences_and_scalars_are_timed(shared_process, unary, strings_and_sequence):
    items = [MeasureItem("mixed", strings_and_sequence), MeasureItem("scalar", unary("Relu", ()))]
    results = measure_many(shared_process, items, RunSettings(threads=2), plan=QUICK)
    assert all(isinstance(result, Timing) and result.median_s > 0 for result in results.values())


def test_a_model_beside_all_others_that_does_not_load_leaves_them_alone(shared_process, unary):
    items = [MeasureItem("good", unary("Relu", (8, 8)))]
    (result,) = measure_many(shared_process, items, plan=QUICK, beside=MeasureItem("junk", b"junk")).values()
    assert isinstance(result, Timing) and result.beside_s is None


def test_a_slow_model_gets_fewer_samples(shared_process, matmuls):
    plan = MeasurePlan(rounds=8, model_s=0.0)
    (result,) = measure_many(shared_process, [MeasureItem("slow", matmuls(1, 64))], plan=plan).values()
    assert isinstance(result, Timing)
    assert result.samples == 3


@pytest.mark.parametrize(("sample_s", "samples"), [(1e-9, 6), (5e-3, 5)])
def test_the_calibration_counts_as_a_sample_where_one_run_is_enough(shared_process, matmuls, sample_s, samples):
    plan = MeasurePlan(rounds=5, sample_s=sample_s, model_s=60.0)
    (result,) = measure_many(shared_process, [MeasureItem("any", matmuls(1, 64))], plan=plan).values()
    assert isinstance(result, Timing)
    assert result.samples == samples


def test_only_the_model_that_crashes_the_child_fails():
    process = CrashingProcess({"evil"})
    names = ["a", "b", "evil", "c", "d", "e", "f"]
    results = measure_many(cast(RuntimeProcess, process), [MeasureItem(name, b"") for name in names], plan=QUICK)
    assert list(results) == names
    assert {key for key, result in results.items() if isinstance(result, Failed)} == {"evil"}
    assert results["evil"] == Failed("killed by SIGSEGV")
    assert max(len(batch) for batch in process.batches) == 3


def test_batches_are_bounded_by_bytes_and_by_threads():
    def sizes(settings: RunSettings, plan: MeasurePlan, model_bytes: int, count: int, values: int = 0) -> list[int]:
        process = CrashingProcess(set())
        items = [MeasureItem(str(place), bytes(model_bytes), value_bytes=values) for place in range(count)]
        measure_many(cast(RuntimeProcess, process), items, settings, plan)
        return [len(batch) for batch in process.batches]

    plan = MeasurePlan(batch_size=20, batch_bytes=1000)
    assert sizes(RunSettings(), plan, 1, 45) == [20, 20, 5]
    assert sizes(RunSettings(), plan, 400, 5) == [2, 2, 1]
    assert sizes(RunSettings(), plan, 100, 5, values=300) == [2, 2, 1]
    assert sizes(RunSettings(), plan, 4000, 2) == [1, 1]
    assert sizes(RunSettings(threads=2), plan, 1, 20) == [8, 8, 4]


def test_nothing_is_measured_once_the_time_is_used_up():
    process = CrashingProcess(set())
    items = [MeasureItem("a", b""), MeasureItem("b", b"")]
    results = measure_many(cast(RuntimeProcess, process), items, plan=MeasurePlan(total_s=0.0))
    assert set(results.values()) == {Failed("not measured: the time for measuring is used up")}
    assert process.batches == []


def test_a_missing_device_is_not_mistaken_for_a_bad_model():
    class Deviceless(CrashingProcess):
        def request(self, message: MeasureMany, timeout_s: float) -> dict[str, Timing | Failed]:
            raise UnsupportedError("no CUDA")

    with pytest.raises(UnsupportedError):
        measure_many(cast(RuntimeProcess, Deviceless(set())), [MeasureItem("a", b"")])
