"""What setup.cfg promises to install is what the tree holds."""

import configparser
from pathlib import Path

import pytest

import taso_opt

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_every_package_of_the_tree_is_installed(setup: configparser.ConfigParser) -> None:
    listed = set(setup["options"]["packages"].split())
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "taso_opt").rglob("__init__.py")}
    assert listed == found | {"taso_opt.data.specs", "taso_opt.data.rules"}


def test_specs_and_rules_are_installed_from_the_top_of_the_repository(setup: configparser.ConfigParser) -> None:
    folders = dict(line.split(" = ") for line in setup["options"]["package_dir"].split("\n") if line)
    assert folders == {"taso_opt": "taso_opt", "taso_opt.data.specs": "specs", "taso_opt.data.rules": "rules"}
    assert all((ROOT / folder / "__init__.py").is_file() for folder in folders.values())


def test_no_runtime_is_a_base_dependency(setup: configparser.ConfigParser) -> None:
    assert "onnxruntime" not in setup["options"]["install_requires"]
    extras = setup["options.extras_require"]
    assert [line.split()[0] for line in extras["cpu"].strip().splitlines()] == ["onnxruntime"]
    assert [line.split()[0] for line in extras["gpu"].strip().splitlines()] == ["onnxruntime-gpu", "cupy-cuda13x"]


def test_the_version_stands_in_one_place(setup: configparser.ConfigParser) -> None:
    assert setup["metadata"]["version"] == "attr: taso_opt.__version__"
    assert taso_opt.__version__.count(".") == 2
