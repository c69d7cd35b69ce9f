"""`tasoopt doctor`: what is installed here, which device really answers, and the command that mends what is missing."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from taso_opt import __version__
from taso_opt.cli.output import echo_lines
from taso_opt.core.machine.packages import installed_version
from taso_opt.errors import TasoError, UnsupportedError

if TYPE_CHECKING:
    from taso_opt.runtime import RuntimeInfo

SCHEMA_VERSION = 1
BASE_PACKAGES = (
    "numpy", "onnx", "onnxscript", "z3-solver", "rich", "jinja2", "markupsafe", "platformdirs", "psutil"
)  # fmt: skip
RUNTIME_PACKAGES = ("onnxruntime", "onnxruntime-gpu")
OTHER_RUNTIMES = ("openvino",)
CUPY_PACKAGES = ("cupy-cuda13x", "cupy-cuda12x", "cupy")
CUDA_PROVIDER = "CUDAExecutionProvider"
REINSTALL = "pip install --force-reinstall --no-deps .   (in the folder of the sources)"


@dataclass(frozen=True)
class Problem:
    """Something that is missing or broken, in a sentence, and what to type or to do about it."""

    what: str
    mend: str


@dataclass(frozen=True)
class Diagnosis:
    """What was found; `runtime` is None where no ONNX Runtime works, and then one of the problems says why."""

    python: str
    system: str
    processors: int
    packages: Mapping[str, str | None]
    runtime: RuntimeInfo | None
    cache_folder: Path
    rules: int
    problems: tuple[Problem, ...]

    @property
    def device(self) -> str | None:
        """What `--device auto` means here."""
        if self.runtime is None:
            return None
        return "cuda" if CUDA_PROVIDER in self.runtime.providers else "cpu"

    def document(self) -> dict[str, Any]:
        """The diagnosis as it is printed with --json."""
        return {
            "schema_version": SCHEMA_VERSION,
            "command": "doctor",
            "tasoopt": __version__,
            "python": self.python,
            "system": self.system,
            "processors": self.processors,
            "packages": dict(self.packages),
            "runtime": None if self.runtime is None else asdict(self.runtime),
            "device": self.device,
            "cache_folder": str(self.cache_folder),
            "rules": self.rules,
            "problems": [asdict(problem) for problem in self.problems],
        }


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the diagnosis as one JSON document.")
def command(as_json: bool) -> int:
    """Say what is installed, which device answers and what is missing.

    Exits 0 when ONNX Runtime works, and 4 when it does not.
    """
    diagnosis = diagnose()
    if as_json:
        click.echo(json.dumps(diagnosis.document(), indent=2))
    else:
        echo_lines(lines(diagnosis))
    return 0 if diagnosis.runtime is not None else UnsupportedError.exit_code


def diagnose() -> Diagnosis:
    """Look at this machine; runs ONNX Runtime once, in a process of its own."""
    packages = {
        name: installed_version(name) for name in (*BASE_PACKAGES, *RUNTIME_PACKAGES, *OTHER_RUNTIMES, *CUPY_PACKAGES)
    }
    problems = list(missing_packages(packages))
    runtime = None
    if not problems:  # without NumPy and its like the runtime cannot even be asked
        runtime, runtime_problems = examine_runtime(packages)
        problems += runtime_problems
    cache_folder = find_cache_folder()
    problems += cache_problems(cache_folder)
    rules = count_rules()
    if rules == 0:
        problems.append(Problem("expected a rule library in the package, found no rules", REINSTALL))
    return Diagnosis(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        processors=os.cpu_count() or 1,
        packages=packages,
        runtime=runtime,
        cache_folder=cache_folder,
        rules=rules,
        problems=tuple(problems),
    )


def missing_packages(packages: Mapping[str, str | None]) -> Iterator[Problem]:
    """One problem for each base package that is not installed."""
    for name in BASE_PACKAGES:
        if packages[name] is None:
            yield Problem(f"expected the package {name}, found none", f"pip install {name}")


def examine_runtime(packages: Mapping[str, str | None]) -> tuple[RuntimeInfo | None, list[Problem]]:
    """Start the runtime and ask what answers; with no or two runtimes, or one that fails, say so."""
    from taso_opt.runtime import RuntimeProcess, probe, require_runtime

    try:
        require_runtime()
    except TasoError as error:
        what, _, mend = str(error).partition("; run: ")
        return None, [Problem(what, mend)]
    try:
        with RuntimeProcess() as process:
            info = probe(process)
    except TasoError as error:
        package = "onnxruntime" if packages["onnxruntime-gpu"] is None else "onnxruntime-gpu"
        return None, [Problem(str(error), f"pip install --force-reinstall {package}")]
    return info, list(gpu_problems(info, packages))


def gpu_problems(info: RuntimeInfo, packages: Mapping[str, str | None]) -> Iterator[Problem]:
    """What keeps a runtime that was installed for a GPU from using one."""
    if packages["onnxruntime-gpu"] is None:
        return
    if CUDA_PROVIDER not in info.providers:
        yield Problem(
            f"expected {CUDA_PROVIDER} to answer, found {', '.join(info.providers) or 'no provider'}: models run "
            "on the CPU",
            "nvidia-smi (is there a driver?), then install the CUDA and cuDNN that onnxruntime-gpu names",
        )
    if all(packages[name] is None for name in CUPY_PACKAGES):
        yield Problem("expected CuPy beside onnxruntime-gpu, found none", "pip install cupy-cuda13x")


def find_cache_folder() -> Path:
    """Where measured costs are kept."""
    import platformdirs

    named = os.environ.get("TASOOPT_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("tasoopt")


def cache_problems(folder: Path) -> Iterator[Problem]:
    """A cache folder that can neither be written nor made."""
    nearest = next(path for path in (folder, *folder.parents) if os.access(path, os.F_OK))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        yield Problem(f"expected a cache folder that can be written, found {nearest}", "export TASOOPT_CACHE=FOLDER")


def count_rules() -> int:
    """The number of rules in the library that the package ships."""
    suffixes = {entry: Path(entry.name).suffixes for entry in resources.files("taso_opt.data.rules").iterdir()}
    files = [entry for entry, found in suffixes.items() if found == [".jsonl"]]  # beside each stand its proofs
    return sum(1 for entry in files for line in entry.read_text(encoding="utf-8").splitlines() if line.strip())


def lines(diagnosis: Diagnosis) -> Iterator[str]:
    """The diagnosis as text."""
    yield f"tasoopt {__version__}, Python {diagnosis.python}, {diagnosis.system}, {diagnosis.processors} processors"
    yield ""
    for name, number in diagnosis.packages.items():
        if number is not None or name in BASE_PACKAGES or name in RUNTIME_PACKAGES:
            yield f"  {name:<18}{number or 'not installed'}"
    yield ""
    info = diagnosis.runtime
    if info is None:
        yield "  runtime           none works"
    else:
        limits = f"loads IR up to {info.max_ir}, opset up to {info.max_opset}"
        yield f"  runtime           {info.package} {info.version} ({limits})"
        yield f"  providers         {', '.join(info.providers)}"
        yield f"  device            {diagnosis.device} (what --device auto means here)"
        if info.gpu:
            yield f"  GPU               {info.gpu}"
    yield f"  cache folder      {diagnosis.cache_folder}"
    yield f"  rules             {diagnosis.rules}"
    yield ""
    if not diagnosis.problems:
        yield "Nothing is missing."
    for problem in diagnosis.problems:
        yield f"Problem: {problem.what}"
        yield f"   mend: {problem.mend}"
