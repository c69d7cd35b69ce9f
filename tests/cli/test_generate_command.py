import itertools

import pytest

FEW = ("generate", "--operators", "Relu,Transpose", "--max-ops", 2, "--jobs", 1)


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
    assert int(lines[-1].split()[-1]) == len(run(*FEW)[1].splitlines())


def test_the_counts_of_levels_and_of_every_pruning_add_up(run):
    _, out, _ = run(*FEW, "--stats")
    pools, levels, pruning = ([line.split() for line in part.splitlines()] for part in out.split("\n\n"))
    (total,) = (row for row in pools if row[0] == "all")
    assert levels[0] == ["family", "operators", "terms", "new", "classes"]
    sizes = pools[0].count("terms")
    assert sizes == 3, "two operators as asked for, and three in pools of larger terms"
    for size in range(1, sizes + 1):
        assert sum(int(terms) for _, level, terms, _ in levels[1:] if int(level) == size) == int(total[size])
    classes, equations, *dropped = map(int, total[sizes + 1 : sizes + 7])
    assert sum(int(new) for *_, new in levels[1:]) == classes
    left = [int(row[-1]) for row in pruning[1:6]]  # equal fingerprints, then one row for each reason
    assert left[0] == equations
    assert [one - other for one, other in itertools.pairwise(left)] == dropped
    assert left[-1] == int(total[-1]) > 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--operators", "Relu,Hardmax"], 2, "expected an operator, found 'Hardmax': there are Abs, Add,"),
        (["--operators", ""], 2, "found ''"),
        (["--max-ops", 0], 2, "expected 1 to 6 operators a side for --max-ops, found 0"),
        (["--max-ops", 7], 2, "expected 1 to 6 operators a side for --max-ops, found 7"),
        (["--max-ops", "many"], 2, "'many' is not a valid integer"),
        (["--jobs", 0], 2, "expected at least one process for --jobs, found 0"),
        (["--pools", "chain,ponds"], 2, "expected a pool, found 'ponds': there are chain,"),
        (["--max-memory", "0.1"], 2, "expected at least 0.5 GiB for --max-memory, found 0.1"),
        (["--max-memory", "1e300"], 2, "expected a number of GiB for --max-memory, found 1e+300"),
        (["--max-memory", "nan"], 2, "expected a number of GiB for --max-memory, found nan"),
        (["--max-memory", "much"], 2, "'much' is not a valid float"),
        (["--array", "abacus"], 2, "expected numpy or cupy for --array, found 'abacus'"),
        (["--resume", "/dev/null/folder"], 3, "expected a folder that can be written for --resume, found /dev/null"),
        (["-o", "no/such/folder/file.txt"], 2, "expected a file that can be written for --output, found no/such"),
        (["-o", "."], 2, "expected a file that can be written for --output, found ."),
        (["surplus"], 2, "unexpected extra argument"),
    ],
)
def test_bad_input_is_one_line_and_a_documented_code(run, arguments, code, message):
    answered, out, err = run("generate", *arguments)
    assert (answered, out) == (code, "")
    assert message in err
    assert err.count("\n") == 1
