"""Builds the sdist and the wheel, checks them, installs both in empty environments and tries what users type.

Usage: make release. Leaves dist/ with two files; it uploads nothing and tags nothing, and says what is left to do.
"""

import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from taso_opt import __version__

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
UNRELEASED = "## Unreleased"
IN_THE_WHEEL = (
    "taso_opt/py.typed",
    "taso_opt/report/report.html.j2",
    "taso_opt/report/schema.json",
    "taso_opt/data/rules/library.jsonl",
    "taso_opt/data/specs/matmul.py",
)
IN_THE_SDIST = ("LICENSE", "README.md", "CHANGELOG.md", "setup.cfg", "specs/matmul.py", "rules/library.jsonl")
RULE = "Relu(Relu(x)) = Relu(x) where x[*b]"
TRIED = (
    "tasoopt --version",
    "python -m taso_opt --help",
    "tasoopt doctor",
    "tasoopt rules stats",
    "tasoopt verify mine.rules",
    "python make_network.py towers -o model.onnx",
    "tasoopt optimize model.onnx --budget 2 --report report.html --report report.json",
)
"""Typed in a folder of its own with nothing but the installed file; `pipx run` does the first of them."""


def main() -> int:
    """Carry out all steps; the first that fails ends it."""
    problems = list(unready())
    if problems:
        print("\n".join(f"not ready: {problem}" for problem in problems), file=sys.stderr)
        return 1
    for path in DIST.glob("tasoopt-*"):
        path.unlink()
    step("build", [sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)])
    wheel, sdist = built()
    step("check", [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)])
    missing = [*absent(wheel, IN_THE_WHEEL), *absent(sdist, IN_THE_SDIST)]
    if missing:
        print(f"expected in the files of the release, found not: {', '.join(missing)}", file=sys.stderr)
        return 1
    for file in (wheel, sdist):
        try_out(file)
    print(f"\n{wheel.name} and {sdist.name} work. Left to do: move the lines below {UNRELEASED!r} of CHANGELOG.md")
    print(f"below '## {__version__}', commit, `git tag v{__version__}`, `twine upload dist/tasoopt-{__version__}*`.")
    return 0


def unready() -> Iterator[str]:
    """What keeps this state of the repository from being released."""
    status = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    if status.stdout:
        yield f"expected everything committed, found {status.stdout.splitlines()[0].strip()!r}"
    tags = subprocess.run(
        ["git", "tag", "--list", f"v{__version__}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    if tags.stdout:
        yield f"expected a new version in taso_opt/__init__.py, found the tag v{__version__} already"
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not text.partition(UNRELEASED)[2].partition("\n## ")[0].strip():
        yield f"expected lines below {UNRELEASED!r} in CHANGELOG.md, found none"


def step(name: str, command: Sequence[str], folder: Path = ROOT) -> None:
    """Run one command, quietly unless it fails."""
    print(f"{name}: {' '.join(command[1:])}", flush=True)
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        raise SystemExit(f"expected `{' '.join(command)}` to work, found exit code {done.returncode}")


def built() -> tuple[Path, Path]:
    """The wheel and the sdist of this version."""
    (wheel,), (sdist,) = DIST.glob(f"tasoopt-{__version__}-*.whl"), DIST.glob(f"tasoopt-{__version__}.tar.gz")
    return wheel, sdist


def absent(file: Path, wanted: Sequence[str]) -> list[str]:
    """What a wheel or an sdist should have and has not."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            names = set(wheel.namelist())
    else:
        with tarfile.open(file) as sdist:
            names = {name.partition("/")[2] for name in sdist.getnames()}
    return [name for name in wanted if name not in names]


def try_out(file: Path) -> None:
    """Install one file with a runtime in an empty environment, in a folder without the sources, and use it."""
    print(f"\n{file.name} in an empty environment", flush=True)
    with TemporaryDirectory(prefix="tasoopt-release-") as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        binaries = folder / "venv" / "bin"
        step("install", [str(binaries / "python"), "-m", "pip", "install", "--quiet", f"{file}[cpu]"])
        (folder / "mine.rules").write_text(f"{RULE}\n", encoding="utf-8")
        network = f"import sys; sys.path.insert(0, {str(ROOT / 'scripts')!r}); import make_network; make_network.main()"
        (folder / "make_network.py").write_text(f"{network}\n", encoding="utf-8")
        for line in TRIED:
            program, *arguments = line.split()
            step("try", [str(binaries / program), *arguments], folder)


if __name__ == "__main__":
    sys.exit(main())
