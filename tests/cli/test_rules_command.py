"""What the library says of its rules, those that rest on axioms and those between scalar functions."""

import pytest

from taso_opt.cli import main


@pytest.fixture
def run(capsys):
    """Run the command line; gives the exit code, stdout and stderr."""

    def call(*arguments):
        code = main(list(arguments))
        return code, *capsys.readouterr()

    return call


def identity(run, beginning):
    lines = run("rules", "list")[1].splitlines()
    return next(line.split()[0] for line in lines if line.split(maxsplit=2)[2].startswith(beginning))


def test_a_rule_between_scalar_functions_says_that_it_rests_on_their_meanings(run):
    code, out, _ = run("rules", "explain", identity(run, "Add(Relu(x), Mul(Min(0, x), s)) = PRelu(x, s)"))
    assert code == 0
    assert "  - s has any shape that broadcasts with those of the other variables" in out
    assert (
        out.splitlines()[-1] == "  - the meanings of its operators, equal for all real numbers, one element at a time"
    )


def test_a_rule_that_rests_on_axioms_lists_them_with_what_they_state(run):
    code, out, _ = run("rules", "explain", identity(run, "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z))"))
    assert code == 0
    assert "  - matmul_is_associative" in out.splitlines()
    assert "one element at a time" not in out


def test_an_id_that_no_rule_has_is_one_line(run):
    code, out, error = run("rules", "show", "ffffffffffff")
    assert (code, out) == (2, "")
    assert "expected the id of one rule of the library, found 0 that begin with 'ffffffffffff'" in error
