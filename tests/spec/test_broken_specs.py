"""A specification with an error in it is one line that names the file, with exit code 3."""

import subprocess
import sys

import pytest

RUN = """
import sys
import taso_opt.data.specs
taso_opt.data.specs.__path__.append(sys.argv[1])
from taso_opt.cli import main
sys.exit(main(["generate", "--operators", "Relu", "--max-ops", "1", "--jobs", "1"]))
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("OPERATOR = 1 +", "expected a specification that Python can run, found SyntaxError"),
        ("import nothing_of_this_name", "found ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("raise ValueError('seven')", "found ValueError: seven"),
        ("OPERATOR = 3", "expected OPERATOR to be an Operator, found 3"),
        ("X = 1", "expected an OPERATOR or a SPELLING, found neither"),
        ("from taso_opt.data.specs.abs import OPERATOR", "expected one declaration of Abs, found a second"),
    ],
)
def test_a_broken_specification_is_one_line_and_exit_code_3(tmp_path, text, told):
    (tmp_path / "broken.py").write_text(text)
    run = subprocess.run([sys.executable, "-c", RUN, tmp_path], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.count("\n") == 1
    assert ".broken: " in run.stderr
    assert told in run.stderr
