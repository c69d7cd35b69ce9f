"""Help, wording of errors and fields of reports change only on purpose: `make golden` writes them anew."""

from pathlib import Path

import pytest

from make_golden import PAGE, commands_page, golden_texts

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def texts():
    return golden_texts()


def test_there_is_one_file_for_each_text(texts):
    assert {str(path.relative_to(HERE)) for path in HERE.rglob("*.txt")} == set(texts)


@pytest.mark.parametrize("name", sorted(str(path.relative_to(HERE)) for path in HERE.rglob("*.txt")))
def test_texts_are_those_that_were_committed(name, texts):
    assert texts[name] == (HERE / name).read_text(encoding="utf-8"), "changed on purpose? run `make golden`"


def test_the_page_on_commands_shows_the_help_of_each():
    page = commands_page()
    assert page == PAGE.read_text(encoding="utf-8"), "changed on purpose? run `make golden`"
    assert page.count("\n```text\nUsage: tasoopt") == len(list(HERE.glob("help/*.txt")))


def test_errors_are_one_line_each_and_never_a_traceback(texts):
    blocks = texts["errors.txt"].strip().split("\n\n")
    assert len(blocks) > 20
    for block in blocks:
        command, *lines, code = block.splitlines()
        assert code.startswith("exit code ") and code != "exit code 70"
        assert command.startswith("$ tasoopt ")
        assert len(lines) == 1 and lines[0].startswith("tasoopt: error: "), block
