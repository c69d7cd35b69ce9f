"""The size check as it is run: a script over a folder."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_sizes.py"


def check(folder: Path) -> tuple[int, list[str]]:
    result = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
    assert result.stderr == ""
    return result.returncode, result.stdout.splitlines()


def function(name: str, lines: int, indent: str = "", keyword: str = "def") -> str:
    return f"{indent}{keyword} {name}():\n" + f"{indent}    pass\n" * (lines - 1)


def test_a_file_and_a_function_at_the_limit_pass(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" * 360 + function("f", 40))
    assert check(tmp_path) == (0, ["1 files: nothing is too long"])


def test_a_file_of_401_lines_is_listed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    path = tmp_path / "inner" / "long.py"
    path.write_text("x = 1\n" * 401)
    assert check(tmp_path) == (1, [f"{path}: 401 lines, expected at most 400"])


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_method_of_41_lines_is_listed_with_its_place(tmp_path: Path, keyword: str) -> None:
    path = tmp_path / "a.py"
    path.write_text("class A:\n" + function("short", 3, "    ") + function("long", 41, "    ", keyword))
    assert check(tmp_path) == (1, [f"{path}:5: long: 41 lines, expected at most 40"])


def test_all_that_is_too_long_is_listed_not_only_the_first(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(function("f", 50) + function("g", 45))
    (tmp_path / "b.py").write_text(function("h", 41))
    code, lines = check(tmp_path)
    assert code == 1
    assert [line.split(": ")[1] for line in lines] == ["f", "g", "h"]


def test_other_files_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("line\n" * 1000)
    assert check(tmp_path) == (0, ["0 files: nothing is too long"])
