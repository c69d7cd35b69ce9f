import pytest

from taso_opt.cli import main

FEW = ("generate", "--operators", "Relu,Transpose", "--max-ops", 2, "--jobs", 1)


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return code, output.out, output.err

    return call


def test_candidates_are_printed_one_a_line(run):
    code, out, err = run(*FEW)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert "Relu(x) = Relu(Relu(x)) where x[*b]" in lines
    assert "x = Transpose(Transpose(x; perm=(-1, -2)); perm=(-1, -2)) where x[*b, m, k]" in lines
    assert len(lines) == len(set(lines))


def test_a_file_gets_the_same_lines_and_is_replaced_whole(run, tmp_path):
    _, out, _ = run(*FEW)
    path = tmp_path / "candidates.txt"
    path.write_text("old and longer than what comes\n" * 999)
    code, answer, _ = run(*FEW, "-o", path)
    assert (code, answer) == (0, f"{len(out.splitlines())} candidates in {path}\n")
    assert path.read_text() == out
    assert [entry.name for entry in tmp_path.iterdir()] == ["candidates.txt"]


def test_the_counts_of_every_pool_are_one_table_with_their_sum(run):
    code, out, _ = run(*FEW, "--stats")
    lines = out.splitlines()
    head, rows = lines[0].split(), [line.split() for line in lines if line.startswith("all ")]
    assert code == 0
    assert head[:5] == ["pool", "terms", "1", "terms", "2"]
    assert len(rows) == 1
    assert lines[-1].endswith(" candidates, none an instance of another")
    assert int(lines[-1].split()[0]) == len(run(*FEW)[1].splitlines())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--operators", "Relu,Softmax"], 2, "expected operators among Abs, Add,"),
        (["--operators", ""], 2, "found ''"),
        (["--max-ops", 0], 2, "expected 1 to 6 operators a side for --max-ops, found 0"),
        (["--max-ops", 7], 2, "expected 1 to 6 operators a side for --max-ops, found 7"),
        (["--max-ops", "many"], 2, "'many' is not a valid integer"),
        (["--jobs", 0], 2, "expected at least one process for --jobs, found 0"),
        (["-o", "no/such/folder/file.txt"], 3, "expected a file that can be written for --output, found no/such"),
        (["-o", "."], 3, "expected a file that can be written for --output, found ."),
        (["surplus"], 2, "unexpected extra argument"),
    ],
)
def test_bad_input_is_one_line_and_a_documented_code(run, arguments, code, message):
    answered, out, err = run("generate", *arguments)
    assert (answered, out) == (code, "")
    assert message in err
    assert err.count("\n") == 1
