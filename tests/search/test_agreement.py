"""Whether candidates agree with the original, from the outputs of both."""

from dataclasses import replace

import numpy as np
import pytest
from onnx import parser

from taso_opt.cost import CostTable
from taso_opt.errors import RuntimeFailure, UncheckableError, UnsupportedError
from taso_opt.runtime import OutputComparison, OutputDifference, RunSettings, RuntimeProcess
from taso_opt.search.judging import finals
from taso_opt.search.judging.agreement import CONTRADICTION, NOT_EVERYWHERE, Agreement, agreement
from taso_opt.search.judging.verdicts import RememberedVerdicts

BASE = np.linspace(-1, 1, 8).astype(np.float32)
FEEDS = [{"number": np.array(number, np.int8)} for number in (0, 9)]


@pytest.fixture
def judged(monkeypatch):
    """The agreement of models with the first one, given the outputs of each, None for one that does not run."""

    def judge(outputs, plain=None, singles=False, exact=None, computed=None, verdicts=None):
        computed = [] if computed is None else computed

        def run(process, model, feeds, settings, optimization, timeout_s):
            value = plain if optimization == "none" and plain is not None else outputs[model]
            if value is None:
                raise RuntimeFailure(f"expected ONNX Runtime to run {model}, found: trouble")
            return [[value + feed["number"]] for feed in feeds]

        def run_doubles(process, model, feeds, settings, timeout_s):
            if exact is None:
                raise UnsupportedError("expected at most some bytes of weights for a copy in float64, found more")
            computed.append([int(feed["number"]) for feed in feeds])
            return [[exact + feed["number"]] for feed in feeds]

        monkeypatch.setattr("taso_opt.search.judging.agreement.run_feeds", run)
        monkeypatch.setattr("taso_opt.search.judging.agreement.run_in_doubles", run_doubles)
        names = list(outputs)
        return [agreement(None, names[0], other, FEEDS, RunSettings(), singles, verdicts) for other in names[1:]]

    return judge


@pytest.fixture
def verdicts(tmp_path):
    with CostTable(tmp_path / "costs.sqlite") as table:
        yield RememberedVerdicts(table, "cpu", "model, inputs and version")


def test_the_same_outputs_get_the_same_verdict_without_values_in_float64(judged, verdicts):
    exact, computed = BASE.astype(np.float64), []
    first, second, third = (
        judged({"model": BASE + np.float32(4e-4), "candidate": BASE + error}, None, False, exact, computed, verdicts)[0]
        for error in (np.float32(-3e-4), np.float32(-3e-4), np.float32(-2e-4))
    )
    assert first == second and first.warnings and not first.reasons
    assert third.max_rel < first.max_rel
    assert computed == [[0], [0]]


def test_verdicts_on_other_models_and_those_that_refuse_are_not_remembered(judged, verdicts):
    wrong = {"model": BASE, "candidate": BASE + np.float32(0.01)}
    computed = []
    for _ in range(2):
        (found,) = judged(wrong, exact=BASE.astype(np.float64), computed=computed, verdicts=verdicts)
        assert found.reasons
    assert len(computed) == 2
    (agreed,) = judged({"model": BASE, "candidate": BASE}, verdicts=verdicts)
    outputs = [[BASE + feed["number"]] for feed in FEEDS]
    assert verdicts.recall([*outputs, *outputs]) == agreed
    assert replace(verdicts, question="another model").recall([*outputs, *outputs]) is None


def test_a_candidate_within_the_tolerance_agrees(judged):
    (found,) = judged({"model": BASE, "candidate": BASE + np.float32(1e-6)})
    assert not found.reasons and not found.failure
    assert 0 < found.max_abs < 2e-6


def test_a_candidate_beyond_it_does_not(judged):
    (found,) = judged({"model": BASE, "candidate": BASE + np.float32(0.01)})
    assert found.reasons[0].startswith("expected a relative error of at most 0.0001 at output 0, found ")


def test_each_output_is_named_once_with_its_largest_difference():
    def compared(*largest):
        found = (OutputDifference(at, one, one, 1e-4, f"{at}: {one}" if one else "") for at, one in enumerate(largest))
        return OutputComparison(tuple(found))

    agreed = Agreement((compared(0.0, 2.0, 1.0), compared(0.0, 3.0, 0.0), compared(0.0, 1.0, 4.0)), ())
    assert agreed.reasons == ("1: 3.0", "2: 4.0")


def test_a_candidate_that_fails_says_why_and_leaves_the_others_alone(judged):
    first, second = judged({"model": BASE, "broken": None, "candidate": BASE})
    assert first.failure == "expected ONNX Runtime to run broken, found: trouble"
    assert not second.failure and second.max_abs == 0


def test_an_original_that_fails_cannot_be_compared_with(judged):
    with pytest.raises(UncheckableError, match="expected ONNX Runtime to run model, found: trouble"):
        judged({"model": None, "candidate": BASE})


def test_where_the_runtime_contradicts_itself_a_candidate_that_differs_is_no_mismatch(judged):
    different, equal = judged({"model": BASE, "other": BASE * -9, "same": BASE}, plain=BASE * -9)
    assert different.failure == CONTRADICTION
    assert not equal.failure and not equal.reasons


def test_where_it_does_on_some_inputs_the_others_decide(judged):
    models = {"model": BASE, "as far": BASE * 0.5, "farther": BASE * -9}
    near, far = judged(models, plain=BASE * 0.5)
    assert not near.failure and not near.reasons and len(near.comparisons) == 1
    assert near.warnings[-1] == NOT_EVERYWHERE.format(1, 2)
    assert far.failure == CONTRADICTION


@pytest.fixture
def judged_by_feed(monkeypatch):
    """The agreement of a candidate with a model, from outputs on each feed, the model's also not optimized."""

    def judge(model, plain, candidate):
        outputs = {("model", "all"): model, ("model", "none"): plain, ("candidate", "all"): candidate}

        def run(process, name, feeds, settings, optimization, timeout_s):
            return outputs[name, optimization]

        def run_doubles(*_):
            raise UnsupportedError("expected float32 or less, found whole numbers")

        monkeypatch.setattr("taso_opt.search.judging.agreement.run_feeds", run)
        monkeypatch.setattr("taso_opt.search.judging.agreement.run_in_doubles", run_doubles)
        return agreement(None, "model", "candidate", FEEDS, RunSettings())

    return judge


@pytest.mark.parametrize(("error", "failure"), [(0.0, ""), (0.5, CONTRADICTION)])
def test_an_output_is_judged_beside_one_in_which_the_runtime_contradicts_itself(judged_by_feed, error, failure):
    ids, others = np.arange(8), np.arange(8)[::-1]
    found = judged_by_feed([[ids, BASE]] * 2, [[others, BASE], [ids, BASE]], [[others, BASE + error], [ids, BASE]])
    assert found.failure == failure
    assert (NOT_EVERYWHERE.format(1, 2) in found.warnings) == (not failure)


def test_a_sequence_whose_length_hangs_on_rounding_is_no_mismatch(judged_by_feed):
    found = judged_by_feed([[BASE] * 5, [BASE] * 4], [[BASE] * 4, [BASE] * 4], [[BASE] * 5, [BASE] * 4])
    assert found.failure == CONTRADICTION and not found.reasons


def test_inputs_that_are_possible_need_not_be_so_when_they_are_moved():
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[8] x, float[1] size) => (float[n] y)
    { shape = Cast <to = 7> (size)  y = Reshape(x, shape) }"""
    model = parser.parse_model(text).SerializeToString()
    feeds = [{"x": BASE * sign, "size": np.array([8], np.float32)} for sign in (1, -1)]
    with RuntimeProcess() as process:
        found = agreement(process, model, model, feeds, RunSettings())
    assert not found.failure and not found.reasons and len(found.comparisons) == 2


def test_what_is_no_number_where_the_original_has_some_is_not_left_out(judged):
    class NoNumberFirst:
        def __add__(self, number):
            return np.full_like(BASE, np.nan) if number == 0 else BASE + number

    (found,) = judged({"model": BASE, "candidate": NoNumberFirst()}, plain=BASE * 0.5)
    assert found.failure == CONTRADICTION


def test_doubles_made_of_singles_are_judged_as_singles(judged):
    models = {"model": BASE.astype(np.float64), "candidate": BASE.astype(np.float64) + 1e-6}
    (strict,) = judged(models)
    (lenient,) = judged(models, singles=True)
    assert strict.reasons and "at most 1e-09" in strict.reasons[0]
    assert not lenient.reasons


def test_a_candidate_that_is_about_as_near_to_exact_values_as_the_original_agrees_with_a_warning(judged):
    exact = BASE.astype(np.float64)
    models = {"model": BASE + np.float32(1e-3), "other side": BASE - np.float32(1.5e-3), "far": BASE - np.float32(9e-3)}
    near, far = judged(models, plain=BASE + np.float32(1e-3), exact=exact)
    assert not near.reasons and not near.failure
    assert near.max_abs == pytest.approx(2.5e-3, rel=1e-3)
    assert near.comparisons[0].outputs[0].tolerance >= near.max_rel
    assert near.warnings[-1].startswith("output 0 differs from the original's by more than the tolerance, but its ")
    assert far.reasons and far.warnings == near.warnings[:-1]


def test_exact_values_are_computed_for_the_feeds_where_outputs_differ_alone(judged):
    error = np.where(np.arange(8) == 0, np.float32(4e-4), np.float32(0))
    model, other = BASE + error, BASE - error  # relative to what the second feed gives, that is little
    computed = []
    (found,) = judged({"model": model, "candidate": other}, exact=BASE.astype(np.float64), computed=computed)
    assert not found.reasons and len(found.warnings) == 1
    assert computed == [[0]]


def test_exact_values_that_are_far_from_the_original_excuse_nothing(judged):
    models = {"model": BASE + np.float32(0.1), "candidate": BASE + np.float32(0.2)}
    (found,) = judged(models, exact=BASE.astype(np.float64))
    assert found.reasons


@pytest.fixture
def judged_elsewhere(monkeypatch):
    """The agreement of a model with the first one where OpenVINO measures, given what that computes of both."""

    def judge(outputs):
        def run(process, model, feeds, settings, optimization, timeout_s):
            value = BASE if settings.runtime == "onnxruntime" else outputs[model]
            if value is None:
                raise RuntimeFailure(f"expected OpenVINO to run {model}, found: trouble")
            return [[value] for _ in feeds]

        monkeypatch.setattr("taso_opt.search.judging.agreement.run_feeds", run)
        return agreement(None, "model", "candidate", [{}, {}], RunSettings(runtime="openvino"))

    return judge


def test_a_candidate_must_compute_the_same_in_the_runtime_that_measures_too(judged_elsewhere):
    assert not judged_elsewhere({"model": BASE, "candidate": BASE + np.float32(1e-6)}).elsewhere
    found = judged_elsewhere({"model": BASE, "candidate": BASE + np.float32(0.01)})
    assert not found.reasons, "in ONNX Runtime both are the same, so that no rule is to blame"
    assert len(found.elsewhere) == 2, "one for each feed"
    assert found.elsewhere[0].startswith("expected a relative error of at most 0.0001 at output 0, found ")
    assert found.elsewhere[0].endswith(", in OpenVINO")


def test_what_the_runtimes_make_of_the_original_is_how_far_a_candidate_may_be_off(judged_elsewhere):
    coarse = BASE + np.float32(0.005)
    assert not judged_elsewhere({"model": coarse, "candidate": coarse + np.float32(0.005)}).elsewhere
    assert judged_elsewhere({"model": coarse, "candidate": coarse + np.float32(0.05)}).elsewhere


def test_who_does_not_run_in_the_runtime_that_measures_is_out(judged_elsewhere):
    assert judged_elsewhere({"model": BASE, "candidate": None}).failure == (
        "expected OpenVINO to run candidate, found: trouble"
    )
    with pytest.raises(UncheckableError, match="expected OpenVINO to run model, found: trouble"):
        judged_elsewhere({"model": None, "candidate": BASE})


@pytest.fixture
def judged_on_gpu(monkeypatch):
    """The agreement of a candidate with a model on a GPU, given by how much products in TF32 move its outputs."""

    def judge(error, moved=0.0, options=(), seen=None):
        def run(process, model, feeds, settings, optimization, timeout_s):
            if seen is not None:
                seen.append((model, optimization, settings.is_short))
            shift = (error if settings.is_short else moved) if model == "candidate" else 0.0
            return [[BASE + np.float32(shift), np.arange(3)] for _ in feeds]

        def run_doubles(process, model, feeds, settings, timeout_s):
            return [[BASE.astype(np.float64), np.arange(3)] for _ in feeds]

        monkeypatch.setattr("taso_opt.search.judging.agreement.run_feeds", run)
        monkeypatch.setattr("taso_opt.search.judging.agreement.run_in_doubles", run_doubles)
        return agreement(None, "model", "candidate", [{}], RunSettings("cuda", options=options))

    return judge


def test_on_a_gpu_outputs_are_judged_with_all_digits_and_what_short_products_make_is_said(judged_on_gpu):
    exact, short, wrong = judged_on_gpu(1e-6), judged_on_gpu(1e-3), judged_on_gpu(0.1)
    assert not any("TF32" in one for one in exact.warnings) and not exact.elsewhere
    assert short.max_rel == 0 and not short.reasons and not short.elsewhere
    assert "rounded to TF32" in short.warnings[-1] and "1.5e-03" in short.warnings[-1]
    assert not wrong.reasons and wrong.elsewhere[0].endswith(", on cuda")
    assert judged_on_gpu(1e-3, moved=1e-3).reasons, "a difference in all digits is a wrong rule"
    once, twice = [], []
    judged_on_gpu(1e-6, options=(("use_tf32", "0"),), seen=once)
    judged_on_gpu(1e-6, seen=twice)
    assert [is_short for model, _, is_short in once if model == "candidate"] == [False]
    assert [is_short for model, _, is_short in twice if model == "candidate"] == [False, True]


def test_a_candidate_that_differs_only_where_it_is_timed_drops_out_and_blames_no_rule(monkeypatch):
    differing = Agreement((), (), elsewhere=("output 0 is off, in OpenVINO",))
    monkeypatch.setattr(finals, "agreement", lambda *_: differing)
    trial = finals.Trial([{}], [{}], RunSettings(runtime="openvino"))
    assert finals.hold_finals(None, "model", ["candidate"], trial) == finals.Finals(None, differing.elsewhere)


DEEP = """<ir_version: 8, opset_import: ["" : 17]> g (float[64] x) => (float[64] y)
{ low = Constant <value_float = LOW> ()  far = Constant <value_float = 100.1> ()
  half = Constant <value_float = 0.5> ()  sum = Add(x, low)  STEPS }"""
SAME, AROUND, WRONG = (
    "y = Sigmoid(sum)",
    "more = Add(sum, far)  less = Sub(more, far)  y = Sigmoid(less)",
    "more = Add(sum, half)  y = Sigmoid(more)",
)


@pytest.mark.parametrize(("low", "warned"), [(-13.3, True), (-3.3, False)])
def test_what_rounding_moves_as_much_as_small_moves_of_the_inputs_agrees(low, warned):
    """A sigmoid of -13 is about 2e-6, and the runtime computes it as a multiple of 2^-24."""
    original, around, wrong = (
        parser.parse_model(DEEP.replace("LOW", str(low)).replace("STEPS", steps)).SerializeToString()
        for steps in (SAME, AROUND, WRONG)
    )
    feeds = [{"x": np.random.default_rng(seed).standard_normal(64).astype(np.float32)} for seed in range(2)]
    with RuntimeProcess() as process:
        found, refuted = (agreement(process, original, other, feeds, RunSettings()) for other in (around, wrong))
    assert not found.reasons and refuted.reasons
    assert any("last digits" in warning for warning in found.warnings) == warned
