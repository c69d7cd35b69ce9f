"""What is handed out works: the wheel, the pre-commit hooks, the CI action and the release script's checks."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

import release

ROOT = Path(__file__).resolve().parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
TRUE, FALSE = "Relu(Relu(x)) = Relu(x) where x[*b]", "Relu(x) = Tanh(x) where x[*b]"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The wheel, built from a copy of the sources and unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("taso_opt", "specs", "rules"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    assert release.absent(wheel, release.IN_THE_WHEEL) == []
    zipfile.ZipFile(wheel).extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_wheel_holds_every_file_of_the_packages(unpacked):
    def held(folder, at):
        return {str(path.relative_to(folder / at)) for path in (folder / at).rglob("*") if path.is_file()}

    def wanted(folder):
        return {
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_file() and path.parent.name != "__pycache__"
        }

    assert held(unpacked, "taso_opt/data/specs") == wanted(ROOT / "specs")
    assert held(unpacked, "taso_opt/data/rules") == wanted(ROOT / "rules")
    assert wanted(ROOT / "taso_opt") <= held(unpacked, "taso_opt")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--version"], "tasoopt, version "),
        (["rules", "stats"], "with both directions"),
        (["verify", "mine.rules"], "1 proved"),
    ],
)
def test_the_program_in_the_wheel_works_without_the_sources(arguments, expected, unpacked, tmp_path):
    (tmp_path / "mine.rules").write_text(f"{TRUE}\n")
    where = "import taso_opt, sys; sys.stderr.write(taso_opt.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    for command in (["-c", where], ["-m", "taso_opt", *arguments]):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert done.stderr in ("", str(unpacked / "taso_opt" / "__init__.py"))
    assert expected in done.stdout


@pytest.fixture
def folder(tmp_path):
    """A folder with a library and equations, each once as it should be and once not."""
    line = json.loads(files("taso_opt.data.rules").joinpath("library.jsonl").read_text().partition("\n")[0])
    (tmp_path / "good.jsonl").write_text(json.dumps(line) + "\n")
    (tmp_path / "bad.jsonl").write_text(json.dumps({**line, "fp_class": "E0"}) + "\n")
    (tmp_path / "good.rules").write_text(f"{TRUE}\n")
    (tmp_path / "bad.rules").write_text(f"{TRUE}\n{FALSE}\n")
    return tmp_path


def typed(command, folder, **variables):
    environment = {**os.environ, **variables, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-e", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_hooks_are_a_manifest_that_pre_commit_takes(tmp_path):
    home = {"PRE_COMMIT_HOME": str(tmp_path)}
    done = typed(f"pre-commit validate-manifest {ROOT / '.pre-commit-hooks.yaml'}", tmp_path, **home)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("hook", "good", "bad"),
    [("tasoopt-check", "good.jsonl", "bad.jsonl"), ("tasoopt-verify", "good.rules", "bad.rules")],
)
def test_a_hook_takes_the_files_of_its_kind_and_fails_for_a_bad_one(hook, good, bad, folder):
    assert re.search(HOOKS[hook]["files"], f"rules/{good}") and not re.search(HOOKS[hook]["files"], "model.onnx")
    assert typed(f"{HOOKS[hook]['entry']} {good} {good}", folder).returncode == 0
    assert typed(f"{HOOKS[hook]['entry']} {good} {bad}", folder).returncode == 1


def test_the_action_uses_the_inputs_that_it_declares():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(ACTION["inputs"])
    assert ACTION["runs"]["using"] == "composite"
    assert all(one["description"] and one["required"] is False for one in ACTION["inputs"].values())
    for step in ACTION["runs"]["steps"]:
        assert ("uses" in step) != ("run" in step)
        assert "run" not in step or (step["shell"] == "bash" and "${{" not in step["run"])  # inputs come as variables


def step(name):
    return next(one["run"] for one in ACTION["runs"]["steps"] if one.get("name") == name)


@pytest.mark.parametrize(("rules", "code"), [("good.jsonl", 0), ("bad.jsonl", 1), ("none.jsonl", 1)])
def test_the_action_checks_a_library_and_leaves_a_report(rules, code, folder):
    done = typed(step("Check the library"), folder, RULES=rules, REPORT="check.json")
    assert done.returncode == code, done.stderr
    if rules != "none.jsonl":
        assert len(json.loads((folder / "check.json").read_text())["failures"]) == code


@pytest.mark.parametrize(("equations", "code"), [("good.rules", 0), ("bad.rules", 1)])
def test_the_action_proves_equations(equations, code, folder):
    assert typed(step("Prove the equations"), folder, EQUATIONS=equations).returncode == code


def test_the_action_installs_what_stands_beside_it(folder):
    fake = "python() { printf '%s|' \"$@\"; }; "
    done = typed(fake + step("Install tasoopt"), folder, ACTION="/a folder")
    assert done.stdout == "-m|pip|install|--quiet|/a folder|"


def test_a_release_needs_a_new_version_and_something_to_tell(monkeypatch, tmp_path):
    def problems(status="", tags="", changes="- a line\n"):
        answers = {"status": status, "tag": tags}

        def run(command, **options):
            return subprocess.CompletedProcess(command, 0, stdout=answers[command[1]])

        (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## Unreleased\n\n{changes}\n## 0.0.1\n\n- old\n")
        monkeypatch.setattr(release, "ROOT", tmp_path)
        monkeypatch.setattr(release.subprocess, "run", run)
        return list(release.unready())

    assert problems() == []
    assert problems(status=" M setup.cfg\n") == ["expected everything committed, found 'M setup.cfg'"]
    assert "found the tag v" in problems(tags="v0.1.0\n")[0]
    assert "in CHANGELOG.md, found none" in problems(changes="")[0]
