"""Options from files, environment variables and flags, each stronger than the one before; wrong keys are one line."""

import subprocess
import sys
from pathlib import Path

import pytest

import taso_opt.api
from taso_opt.cli import main
from taso_opt.errors import UnsupportedError


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Runs `tasoopt optimize` in an own folder and gives the settings that reached the interface."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        seen = []

        def stop(model, settings, progress):
            seen.append(settings)
            raise UnsupportedError("stopped here")

        monkeypatch.setattr(taso_opt.api, "optimize_file", stop)
        assert main(["optimize", "model.onnx", *arguments]) == 4
        return seen[0]

    return run


def test_a_file_of_its_own_gives_defaults(settings):
    Path("tasoopt.toml").write_text("[optimize]\nthreads = 4\nfp-class = 'E1'\nforce = true\ndim = { batch = 8 }\n")
    found = settings()
    assert (found.threads, found.fp_class, found.force, found.dims) == (4, "E1", True, {"batch": (8,)})


def test_a_section_of_pyproject_does_too(settings):
    Path("pyproject.toml").write_text("[tool.tasoopt]\nthreads = 2\n[tool.tasoopt.optimize]\nbudget = 7\n")
    found = settings()
    assert (found.threads, found.budget) == (2, 7.0)


def test_the_nearest_file_counts_and_others_are_passed_by(settings, monkeypatch, tmp_path):
    inner = tmp_path / "inner" / "most"
    inner.mkdir(parents=True)
    (tmp_path / "tasoopt.toml").write_text("threads = 2\nseed = 5\n")
    (inner / "pyproject.toml").write_text("[tool.other]\nthreads = 9\n")
    monkeypatch.chdir(inner)
    assert settings().threads == 2
    (inner.parent / "tasoopt.toml").write_text("threads = 3\n")
    found = settings()
    assert (found.threads, found.seed) == (3, 0)


def test_a_file_of_others_that_cannot_be_read_is_passed_by(settings, monkeypatch):
    Path("pyproject.toml").write_text("[tool.tasoopt]\nthreads = 2\n")

    def closed(path, *options, **named):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", closed)
    assert settings().threads == 1


@pytest.mark.parametrize(
    "text", ["[ tool.tasoopt ]\nthreds = 2\n", "tool.tasoopt.threds = 2\n", "[tool]\ntasoopt = {threds = 2}\n"]
)
def test_a_section_may_be_spelled_in_every_way_of_toml(text, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(text)
    assert main(["optimize", "model.onnx"]) == 2
    assert "found 'threds' (did you mean threads?)" in capsys.readouterr().err
    Path("pyproject.toml").write_text("[tool.uses-tasoopt\n")  # of others, and no TOML
    assert main(["rules", "list", "--help"]) == 0


def test_the_order_of_strength_is_file_environment_flag(settings, monkeypatch):
    Path("tasoopt.toml").write_text("threads = 2\n[optimize]\nthreads = 3\n")
    assert settings().threads == 3
    monkeypatch.setenv("TASOOPT_THREADS", "4")
    assert settings().threads == 4
    monkeypatch.setenv("TASOOPT_OPTIMIZE_THREADS", "5")
    assert settings().threads == 5
    assert settings("--threads", "6").threads == 6


def test_paths_are_taken_from_the_folder_of_the_file(settings, monkeypatch, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "tasoopt.toml").write_text("[optimize]\nrules = 'own.jsonl'\n")
    monkeypatch.chdir(tmp_path / "sub")
    assert settings().rules == tmp_path / "own.jsonl"
    assert settings("--rules", "here.jsonl").rules == Path("here.jsonl")


def test_an_option_with_the_name_of_a_command_holds_for_all_commands_too(settings, tmp_path):
    Path("tasoopt.toml").write_text("rules = 'own.jsonl'\n[optimize]\nthreads = 2\n")
    assert (settings().rules, settings().threads) == (tmp_path / "own.jsonl", 2)


def test_an_option_that_may_be_repeated_takes_one_value_or_a_list(settings, tmp_path, capsys):
    Path("tasoopt.toml").write_text("[optimize]\nreport = 'a.html'\ndim = ['n=2', 'm=3']\n")
    assert settings().dims == {"n": (2,), "m": (3,)}
    Path("tasoopt.toml").write_text("[optimize]\nreport = ['a.html', 'b.pdf']\n")
    assert main(["optimize", "model.onnx"]) == 2
    assert "expected --report FILE.html or FILE.json, found 'b.pdf'" in capsys.readouterr().err


def test_commands_of_a_group_are_configured_by_the_group(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    Path("own.jsonl").write_text("")
    Path("tasoopt.toml").write_text("[rules]\nrules = 'own.jsonl'\n")
    assert main(["rules", "list"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "code", "wording"),
    [
        (
            "treads = 2\n",
            2,
            "expected an option or a command in {folder}/tasoopt.toml, found 'treads' (did you mean thread",
        ),
        (
            "[optimize]\nalfa = 2\n",
            2,
            "expected an option of optimize in {folder}/tasoopt.toml, found 'alfa' (did you mean alpha?)",
        ),
        ("[optimise]\nalpha = 2\n", 2, "found 'optimise' (did you mean optimize?)"),
        ("optimize = 3\n", 2, "expected a table optimize in {folder}/tasoopt.toml, found 3"),
        ("[optimize]\nthreads = 'many'\n", 2, "'many' is not a valid integer range in {folder}/tasoopt.toml"),
        ("threads = [1, 2]\n", 2, "expected text or a number for threads in {folder}/tasoopt.toml, found [1, 2]"),
        ("output = ['a', 'b']\n", 2, "text or a number for output in {folder}/tasoopt.toml, found ['a', 'b']"),
        ("[optimize]\njson = 1979-05-27\n", 2, "true or false for json in {folder}/tasoopt.toml, found 1979-05-27"),
        ("dim = [['n=4']]\n", 2, "text or a number for dim in {folder}/tasoopt.toml, found ['n=4']"),
        ("dry-run = 1\n", 2, "expected true or false for dry-run in {folder}/tasoopt.toml, found 1"),
        ("force = 'maybe'\n", 2, "'maybe' is not a valid boolean"),
        ("threads = 2.5\n", 2, "'2.5' is not a valid integer range in {folder}/tasoopt.toml"),
        ("budget = true\n", 2, "expected text or a number for budget in {folder}/tasoopt.toml, found True"),
        ("[optimize\n", 3, "expected a TOML file, found in {folder}/tasoopt.toml: "),
    ],
)
def test_a_wrong_file_is_one_line(text, code, wording, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    Path("tasoopt.toml").write_text(text)
    assert main(["optimize", "model.onnx"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert wording.format(folder=tmp_path) in captured.err


def test_a_wrong_variable_is_one_line(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TASOOPT_OPTIMIZE_THREDS", "4")
    assert main(["optimize", "model.onnx"]) == 2
    wording = "found 'TASOOPT_OPTIMIZE_THREDS' (did you mean TASOOPT_OPTIMIZE_THREADS?)"
    assert wording in capsys.readouterr().err
    monkeypatch.delenv("TASOOPT_OPTIMIZE_THREDS")
    monkeypatch.setenv("TASOOPT_THREADS", "many")
    assert main(["optimize", "model.onnx"]) == 2
    err = capsys.readouterr().err
    assert "in the environment variable TASOOPT_THREADS" in err and err.count("\n") == 1


def test_help_does_not_read_the_file(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    Path("tasoopt.toml").write_text("[[[")
    assert main(["--help"]) == 0


@pytest.mark.parametrize(
    ("words", "wanted"), [("tasoopt op", "plain,optimize"), ("tasoopt compare --ro", "plain,--rounds")]
)
def test_a_shell_completes_commands_and_options(words, wanted, monkeypatch):
    monkeypatch.setenv("_TASOOPT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    result = subprocess.run([sys.executable, "-m", "taso_opt"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout.strip()) == (0, wanted)
