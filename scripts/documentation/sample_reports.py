"""Made-up reports for tests and pictures: an ordinary improvement, and what makes a page hard to get right."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from taso_opt.report.evidence import Drawing, DrawnNode, OperatorCost, OutputError, Place, SearchPoint
from taso_opt.report.record import AppliedRule, MeasuredLatency, MeasuredSpeedup, Record, SearchSummary

NASTY = "<script>alert('x')</script>&\"quoted\" ü \N{RIGHT-TO-LEFT OVERRIDE}"
LONG = "model/encoder/layer_" + "very_long_name_without_any_place_to_break_" * 12 + "end"

BEFORE = Drawing(
    (
        DrawnNode("value", "x", "[1, 8]"),
        DrawnNode("weight", "w", "[8, 8]"),
        DrawnNode("operator", "MatMul", "[1, 8]", (0, 1)),
        DrawnNode("more", "and 7 more", ""),
    ),
    (2,),
)
AFTER = Drawing(
    (
        DrawnNode("value", "x", "[1, 8]"),
        DrawnNode("weight", "w", "[8, 8]"),
        DrawnNode("folded", "Transpose", "[8, 8]; perm=(-1, -2)", (1,)),
        DrawnNode("operator", "MatMul", "[1, 8]", (0, 2)),
        DrawnNode("operator", "Relu", "[1, 8]", (3,)),
    ),
    (4,),
)


def rule(number: int = 0, count: int = 1) -> AppliedRule:
    """A rule that was applied `count` times."""
    return AppliedRule(
        id=f"{number:012x}",
        text="MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[*b, k, n], z[*b, n, p]",
        count=count,
        fp_class="E2",
        axioms=("matmul_is_associative",),
        conditions=("x has any number of axes *b, then m and k", "k is the same in x and y"),
        statements={"matmul_is_associative": "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[m, k]"},
        engine="z3 5.4.0",
        specs="843c4f65",
    )


def place(
    number: int = 1, applied: int = 0, name: str = "node", position: float = 0.5, gain: float | None = 0.125
) -> Place:
    """The place where rule `applied` was applied at step `number`."""
    return Place(number, f"{applied:012x}", (name,), 1, position, gain, BEFORE, AFTER)


def improved() -> Record:
    """A run that gained."""
    return Record(
        result="improved",
        reason="",
        input="model.onnx",
        output="model.opt.onnx",
        operators_before={"MatMul": 12, "Relu": 2},
        operators_after={"MatMul": 4, "Relu": 2, "Transpose": 1},
        rules=(rule(count=2),),
        search=SearchSummary(2.5, 1.5, 40, 38, 6.5, 120, 4.0, "patience", progress()),
        settings={"output": None, "force": True, "device": "auto", "threads": 1, "dims": {"n": 4}, "dry_run": False},
        runtime={"tasoopt": "0.1.0", "python": "3.11.7", "package": "onnxruntime", "providers": ("CPU",)},
        clock="cpu",
        latency_before=MeasuredLatency(2.447, 0.077, 2.447, 2.5),
        latency_after=MeasuredLatency(1.698, 0.065, 1.698, 1.7),
        speedup=MeasuredSpeedup(1.47, 1.4, 1.58, 1.002, 0.946, 1.073, 1.466),
        speedup_free_threads=MeasuredSpeedup(1.21, 1.1, 1.33, 0.99, 0.93, 1.06, 1.21),
        max_abs_error=1.25e-06,
        max_rel_error=3.5e-06,
        bytes_added=80,
        seconds=11.0,
        warnings=("output 0 does not react to the inputs: its agreement is weak evidence",),
        outputs=(OutputError("y", 1.25e-06, 3.5e-06, 1e-4, True),),
        costs=(OperatorCost("Conv + Add + Relu", 3, 3, 0.4, 0.4), OperatorCost("MatMul", 12, 4, 2.0, 1.0)),
        places=(place(1, name="first", position=0.1), place(2, name="second", position=1.0, gain=None)),
    )


def progress() -> tuple[SearchPoint, ...]:
    """A search that improved twice."""
    return (
        SearchPoint(0.0, 1, 1, 2.5),
        SearchPoint(0.5, 4, 3, 1.8),
        SearchPoint(1.0, 9, 8, 1.5),
        SearchPoint(6.5, 40, 38, 1.5),
    )


def unchanged() -> Record:
    """A run whose search found nothing: no measurement, no rules, one point in the search."""
    ended = SearchSummary(
        0.0, 0.0, 1, 1, 0.1, 0, 0.0, "exhausted", (SearchPoint(0.0, 1, 1, 0.0), SearchPoint(0.1, 1, 1, 0.0))
    )
    return replace(
        improved(),
        result="unchanged",
        reason="no rewriting is predicted to be faster by more than 1%",
        operators_after={"MatMul": 12, "Relu": 2},
        rules=(),
        places=(),
        costs=(),
        outputs=(),
        search=ended,
        latency_before=None,
        latency_after=None,
        speedup=None,
        max_abs_error=None,
        max_rel_error=None,
        bytes_added=0,
        warnings=(),
    )


def tidied() -> Record:
    """A run that gained by a clean-up alone."""
    sentence = "clean-up of the bodies of control flow: 14 operators became 7"
    return replace(improved(), rules=(), places=(), passes=(sentence,))


def not_ahead() -> Record:
    """A run whose best candidate was measured and did not win."""
    return replace(
        improved(),
        result="unchanged",
        reason="the best rewriting is not ahead of the original by more than the noise",
        operators_after={"MatMul": 12, "Relu": 2},
        speedup=MeasuredSpeedup(0.99, 0.97, 1.01, 1.0, 0.98, 1.02, 0.99),
        rules=(),
        places=(),
        bytes_added=0,
    )


def mismatch() -> Record:
    """A run whose candidate computes something else, in one case infinitely far off."""
    return replace(
        improved(),
        result="mismatch",
        reason="candidate 1 does not compute what the model computes: output 1 differs",
        output=None,
        latency_before=None,
        latency_after=None,
        speedup=None,
        max_abs_error=float("inf"),
        max_rel_error=float("nan"),
        outputs=(OutputError("y", 0.0, 0.0, 1e-4, True), OutputError("z", float("inf"), float("nan"), 1e-4, False)),
    )


def dry_run() -> Record:
    """What would be done, before anything is measured whole."""
    return replace(
        unchanged(),
        result="dry-run",
        reason="",
        output=None,
        operators_after=improved().operators_after,
        rules=improved().rules,
        places=improved().places,
        costs=improved().costs,
        search=improved().search,
        settings={"dry_run": True},
    )


def crowded(rules: int = 50, places: int = 500) -> Record:
    """Many rules applied many times to nodes with long and hostile names."""
    applied = tuple(rule(number, places // rules) for number in range(rules))
    drawing = Drawing((DrawnNode("value", LONG, NASTY), DrawnNode("operator", NASTY, LONG, (0,))), (1,))
    costs = tuple(OperatorCost(f"Operator{at} + {LONG[:60]}", at, at, at, at / 2) for at in range(50))
    found = []
    for number in range(places):
        entry = place(number + 1, number % rules, f"{LONG}_{number}", number / places, (number % 7 - 3) / 100)
        found.append(replace(entry, before=drawing) if number < 60 else replace(entry, before=None, after=None))
    return replace(
        improved(),
        input=f"/home/{LONG}/{NASTY}.onnx",
        rules=applied,
        places=tuple(found),
        warnings=(NASTY, LONG),
        outputs=tuple(OutputError(f"{LONG}{number}", 0.0, 0.0, 1e-4, True) for number in range(30)),
        costs=costs,
        operators_before={NASTY: 3},
        settings={"rules": NASTY, "dims": {NASTY: 3}, "inputs": LONG},
    )


SAMPLES: Mapping[str, Callable[[], Record]] = {
    "improved": improved,
    "unchanged": unchanged,
    "not_ahead": not_ahead,
    "mismatch": mismatch,
    "crowded": crowded,
    "dry_run": dry_run,
    "tidied": tidied,
}
