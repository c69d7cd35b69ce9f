"""Runs the external suites and the fidelity matrix and writes docs/compatibility.md from their results.

Usage: python scripts/compatibility.py [--reuse]; exits 1 when a test fails. With --reuse reports of an earlier run are
taken where there are any. The last section of the page is about runs of other scripts: it stays as it is.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / ".cache"
PAGE = ROOT / "docs" / "compatibility.md"
EXTERNAL, MATRIX = "tests/external/test_onnx_backend.py", "tests/fidelity/test_matrix.py"
PRETRAINED = "tests/external/test_pretrained.py"
BY_HAND = "\n## Long runs\n"

MODES = {
    "optimized": "as `tasoopt optimize` does it, with a budget of 0.3 s",
    "respelled": "every node that a specification covers written anew",
    "shrunk": "detours added, then every rule applied that removes something",
    "wandered": "detours added, then six random rules applied",
}
REAL_MODES = (*MODES, "far")
PASSED, FAILED = 0, 1
"""Exit codes of pytest where it has run the tests."""

RESULTS = {
    "agrees": "gives the outputs of the suite",
    "agrees with the runtime": "gives the outputs of the runtime, which are not those of the suite",
    "agrees without the runtime's optimizations": "the same where the runtime's own optimizations are off",
    "unchanged, fails when run": "loads but fails on the suite's inputs: left byte for byte",
    "refused": "refused in one line, the original untouched",
    "not run": "the runtime does not run the original either",
    "nothing to rewrite": "no float tensor among inputs and outputs",
    "wrong": "**wrong**",
    "crash": "**crash**",
}

HEAD = """# Compatibility

Written by `make test-external`, but for the last section.

## The onnx package's own backend tests

{models} models of onnx {onnx} (operators one by one, and small models from PyTorch) with inputs and expected outputs,
run under ONNX Runtime {runtime}. Each is taken through the tool in four ways, and what is written is checked by ONNX's
checker and run against the outputs and tolerances of the suite:

{modes}

The last three write their result whether it is faster or not; models are stamped with an opset that the runtime
loads. *Detours* are two transpositions (or a reshape) behind every float input and before every float output,
so that whatever stands between is written beside a real rewriting.

{figures}

What is refused is an opset, an IR version or an operator that this version of the runtime does not have.
"""

FIDELITY = """
## What survives

{features} features, one test each (`{path}`): a model with the feature, in which the rules rewrite
something beside it; what is written is checked, run and compared with the original.

| feature | models | survives |
|---|---:|---|
{rows}
"""

REAL = """
## Real models

{models} pre-trained models that others published, listed in [fetch_models.py](../scripts/fetch_models.py), through the
same ways, and through 25 random rules (*far*). In every one the outputs agree on three sets of inputs within what the
runtime's own optimizations and noise of a millionth in the inputs change; inputs, outputs, opsets, IR version,
functions, metadata and doc strings are the same bytes. A star marks what was rewritten.

| model | operators | {modes} |
|---|---:|{lines}
{rows}
"""


@dataclass(frozen=True)
class Result:
    """One test: its name, its properties, and whether it passed."""

    name: str
    properties: Mapping[str, str]
    passed: bool


def main() -> int:
    """Run the suites, write the page, say what failed."""
    reuse = "--reuse" in sys.argv[1:]
    external, fidelity, real = (_run(path, reuse) for path in (EXTERNAL, MATRIX, PRETRAINED))
    by_hand = PAGE.read_text(encoding="utf-8").partition(BY_HAND)[2]
    page = _page(external, fidelity) + real_models(real) + (BY_HAND + by_hand if by_hand else "")
    PAGE.write_text(page, encoding="utf-8")
    failed = [result.name for result in (*external, *fidelity, *real) if not result.passed]
    print(f"wrote {PAGE.relative_to(ROOT)}: {len(external)} models, {len(fidelity)} features, {len(failed)} failures")
    print("\n".join(failed))
    return 1 if failed else 0


def _run(path: str, reuse: bool) -> list[Result]:
    """Run the tests of one path with a machine-readable report, and read it."""
    report = REPORTS / f"{Path(path).stem}.xml"
    report.parent.mkdir(exist_ok=True)
    if not (reuse and report.exists()):
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", path]
        code = subprocess.run([*command, "-o", "junit_family=xunit1"], cwd=ROOT, check=False).returncode
        if code not in (PASSED, FAILED):
            raise SystemExit(f"expected pytest to run {path}, found exit code {code}")
    return list(read_report(report))


def read_report(report: Path) -> Iterator[Result]:
    """The tests of a JUnit report."""
    for case in ElementTree.parse(report).iter("testcase"):
        found = {str(entry.get("name")): str(entry.get("value")) for entry in case.iter("property")}
        failed = case.find("failure") is not None or case.find("error") is not None
        yield Result(str(case.get("name")), found, not failed)


def _page(external: Sequence[Result], fidelity: Sequence[Result]) -> str:
    import onnx
    import onnxruntime

    modes = "\n".join(f"- **{mode}**: {meaning}" for mode, meaning in MODES.items())
    head = HEAD.format(
        models=len(external),
        onnx=onnx.__version__,
        runtime=onnxruntime.__version__,
        modes=modes,
        figures=figures(external),
    )
    rows = list(feature_rows(fidelity))
    return head + FIDELITY.format(path=MATRIX, features=len(rows), rows="\n".join(rows))


def figures(external: Sequence[Result]) -> str:
    """How many models had which result in which mode, and how many were really rewritten, as a table."""
    counts = Counter((mode, result.properties.get(mode, "crash")) for result in external for mode in MODES)
    lines = [f"| | {' | '.join(MODES)} |", "|---|" + "---:|" * len(MODES)]
    for result, meaning in RESULTS.items():
        lines.append(f"| {meaning} | {' | '.join(str(counts[mode, result]) for mode in MODES)} |")
    rewritten = Counter(mode for one in external for mode in MODES if one.properties.get(f"{mode} rewritten") == "True")
    lines.append(f"| *something was rewritten* | {' | '.join(str(rewritten[mode]) for mode in MODES)} |")
    return "\n".join(lines)


def real_models(results: Sequence[Result]) -> str:
    """The section about real models; without those that could not be fetched."""
    found = [result for result in results if "operators" in result.properties]
    rows = "\n".join(
        f"| {result.name.partition('[')[2].rstrip(']')} | {result.properties['operators']} | "
        f"{' | '.join(_cell(result, mode) for mode in REAL_MODES)} |"
        for result in found
    )
    return REAL.format(models=len(found), modes=" | ".join(REAL_MODES), lines="---|" * len(REAL_MODES), rows=rows)


def _cell(result: Result, mode: str) -> str:
    star = " \\*" if result.properties.get(f"{mode} rewritten") == "True" else ""
    return f"{result.properties.get(mode, 'crash')}{star}"


def feature_rows(fidelity: Sequence[Result]) -> Iterator[str]:
    """One row for each test of the matrix, whatever the number of models that it goes over."""
    tests: dict[str, list[bool]] = {}
    for result in fidelity:
        tests.setdefault(result.name.partition("[")[0], []).append(result.passed)
    for name, passed in tests.items():
        words = name.removeprefix("test_").replace("_", " ")
        yield f"| {words} | {len(passed)} | {'yes' if all(passed) else '**no**'} |"


if __name__ == "__main__":
    sys.exit(main())
