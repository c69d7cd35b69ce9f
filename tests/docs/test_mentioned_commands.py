"""Commands that the documentation mentions within a sentence, a table or a block of text are run too."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from distributed import Client

from documentation.pages import CLONE, PAGES, ROOT, RUN, SETUP, name, pieces

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
PROGRAMS = re.compile(r"(tasoopt|make|python|pip|pipx|dask|git|pre-commit|pytest|bash) |(scripts/)?\w+\.py( |$)")
GIVEN = {
    "MODEL": "model.onnx",
    "NODE": "MatMul_node_1",
    "A B": "model.onnx model.onnx",
    "ID": "86ba",
    "COMMAND": "optimize",
}
"""What stands for the words in capitals."""

ADDED = {
    "tasoopt optimize --rules mine.jsonl": "model.onnx --dry-run",
    "tasoopt generate --max-ops 3": "--operators MatMul,Add,Relu",
}
"""What a mention leaves to the reader, or would take minutes without."""

WITHOUT_A_RUN = {
    'pip install "FILE.whl[cpu]"': ("scripts/release.py", '"install", "--quiet", f"{file}[cpu]"'),
    'pipx run --spec "FILE.whl[cpu]" tasoopt': ("scripts/release.py", "pipx run"),
    "pip uninstall -y onnxruntime onnxruntime-gpu": ("tests/runtime/test_installed_runtime.py", "pip uninstall -y"),
    'pip install ".[cpu,cluster]"': ("setup.cfg", "distributed >="),
    'pip install ".[openvino]"': ("setup.cfg", "openvino >="),
    "python -m taso_opt": ("tests/test_distribution.py", '"-m", "taso_opt"'),
}
"""Mentions that change the environment that they run in, with a file that runs them or rests on them."""


def mentions():
    """Every command within a text, once, in the words that stand there."""
    for page in PAGES:
        text = BLOCK.sub("", page.read_text(encoding="utf-8"))
        for found in re.findall(r"`([^`]+)`", text):
            command = " ".join(found.split())
            if PROGRAMS.match(command):
                yield command


MENTIONS = sorted(set(mentions()))
SCRIPTS = sorted({re.sub(r"^python |^scripts/", "", re.sub(r"^python ", "", one)) for one in MENTIONS if ".py" in one})
TARGETS = sorted({word for one in MENTIONS if one.startswith("make ") for word in one.split()[1:] if "=" not in word})


def typed():
    """Every command of a block that is run."""
    for page in PAGES:
        for piece in pieces(page):
            if piece.marker in (RUN, CLONE, SETUP):
                yield from (command for command, _ in piece.steps)
                yield from re.findall(r"(tasoopt .*)", piece.body) if piece.kind == "yaml" else ()


def is_typed(mention, commands):
    """Whether a block begins a command with the same words, capitals standing for any."""
    words = [r"\S+" if word.isupper() else re.escape(word) for word in mention.split()]
    return any(re.search(r"\s+".join(words) + r"(\s|$)", command) for command in commands)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with what the commands name, where everything is small."""
    made = tmp_path_factory.mktemp("mentioned")
    line = files("taso_opt.data.rules").joinpath("library.jsonl").read_text(encoding="utf-8").partition("\n")[0]
    (made / "mine.jsonl").write_text(f"{line}\n", encoding="utf-8")
    (made / "tasoopt.toml").write_text("[optimize]\nbudget = 1\n[compare]\nrounds = 3\n", encoding="utf-8")
    run(f"{sys.executable} {ROOT}/scripts/make_network.py towers -o model.onnx", made)
    return made


def run(command, where):
    """The command's text on both channels; fails when the command does."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("TASOOPT_")}
    path = f"{Path(sys.executable).parent}:{known['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=where,
        env={**known, "PATH": path, "TASOOPT_CACHE": str(where / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout


def test_every_mention_is_run_in_one_way_or_another():
    known = ("tasoopt ", "make ")
    left = [one for one in MENTIONS if not one.startswith(known) and ".py" not in one and one not in WITHOUT_A_RUN]
    assert left == []
    assert not set(WITHOUT_A_RUN) - set(MENTIONS)
    for mention, (file, words) in WITHOUT_A_RUN.items():
        assert words in (ROOT / file).read_text(encoding="utf-8"), mention


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are typed into bash")
def test_commands_of_the_tool_that_texts_mention_are_run_here_where_no_block_does(folder):
    commands = list(typed())
    left = [one for one in MENTIONS if one.startswith("tasoopt ") and not is_typed(one, commands)]
    for mention in left:
        command = mention
        for word, value in GIVEN.items():
            command = re.sub(rf"\b{word}\b", value, command)
        run(f"{command} {ADDED.get(mention, '')}", folder)


@pytest.mark.parametrize("mention", SCRIPTS)
def test_scripts_that_texts_mention_take_their_options(mention, tmp_path):
    script, *words = mention.split()
    path = ROOT / "scripts" / Path(script).name
    assert path.is_file()
    flags = {word for word in words if word.startswith("--")}
    if flags:
        assert flags <= set(re.findall(r"--[\w-]+", run(f"{sys.executable} {path} --help", tmp_path)))


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize("target", TARGETS)
def test_targets_that_texts_mention_run_files_that_are_there(target):
    planned = run(f"make -n -W setup.cfg {target}", ROOT)
    named = re.findall(r"scripts/\w+\.py", planned)
    assert all((ROOT / script).is_file() for script in named)
    assert named or re.search(r"bin/(\w|-)+|python", planned), planned


def test_the_example_of_a_configuration_is_one(folder, tmp_path):
    kinds = dict(BLOCK.findall((DOCS / "configuration.md").read_text(encoding="utf-8")))
    values = tomllib.loads(kinds["toml"])
    assert values["optimize"]["dim"] == {"batch": 8}
    (tmp_path / "tasoopt.toml").write_text(kinds["toml"], encoding="utf-8")
    run("tasoopt rules stats", tmp_path)
    moved = re.sub(r"^\[(\w+)\]", r"[tool.tasoopt.\1]", kinds["toml"], flags=re.M)
    (tmp_path / "tasoopt.toml").unlink()
    (tmp_path / "pyproject.toml").write_text(f"[tool.tasoopt]\n{moved}", encoding="utf-8")
    run("tasoopt rules stats", tmp_path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_lines_for_completion_work_in_their_shells(shell, tmp_path):
    page = (DOCS / "configuration.md").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^\| {shell} \| `[^`]+` \| `([^`]+)` \|$", page, re.M)
    line = line.replace(r"\|", "|")
    if shutil.which(shell) is not None:
        made = run(
            f"{shell} -c {line!r}'; complete -p tasoopt'" if shell == "bash" else f"{shell} -c {line!r}", tmp_path
        )
        assert shell != "bash" or "tasoopt" in made
    assert "tasoopt" in run(f"_TASOOPT_COMPLETE={shell}_source tasoopt", tmp_path)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands are typed into bash")
def test_the_commands_for_many_machines_work_on_one(tmp_path):
    """The block of three commands, with an address and a size of its own; the first two run until they are ended."""
    blocks = [body for _, body in BLOCK.findall((DOCS / "generate.md").read_text(encoding="utf-8"))]
    (block,) = [body for body in blocks if body.startswith("dask scheduler")]
    scheduler, worker, generate = block.splitlines()
    address = f"127.0.0.1:{free_port()}"
    host, _, port = address.partition(":")
    binaries = str(Path(sys.executable).parent)
    started = []
    try:
        for command in (f"{scheduler} --host {host} --port {port} --no-dashboard", f"{worker} --no-dashboard"):
            words = f"{binaries}/{command}".replace("10.0.0.1:8786", address).replace("--nworkers 16", "--nworkers 1")
            started.append(subprocess.Popen(words.split(), cwd=tmp_path, stderr=subprocess.DEVNULL))
        with Client(f"tcp://{address}", timeout="60s") as client:
            client.wait_for_workers(1, timeout=60)
        small = generate.replace("10.0.0.1:8786", address).replace("--max-ops 4", "--max-ops 2")
        run(f"{small} --operators Relu,Tanh --stats", tmp_path)
        assert "Relu" in (tmp_path / "candidates.txt").read_text(encoding="utf-8")
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def test_every_page_with_something_to_type_is_known():
    """Blocks of plain text hold output and usage, the cluster's commands above, and nothing else to type."""
    typing = re.compile(r"^(?:\$ )?(?:tasoopt|pip|make|python|dask) ", re.M)
    found = {
        name(page)
        for page in PAGES
        for kind, body in BLOCK.findall(page.read_text(encoding="utf-8"))
        if kind in ("text", "") and typing.search(body)
    }
    assert found == {"docs/generate.md"}
