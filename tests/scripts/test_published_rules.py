"""Published rules are stated for the most general types, proved where they hold and refuted where they do not."""

import pytest
from click.testing import CliRunner

import derivable
import published_rules
import published_statement
from taso_opt.spec.rule_file import library_bytes

LIST = """
 0.0  matmul[none](matmul[none](v1, v4), v5)  =>  matmul[none](v1, matmul[none](v4, v5))
 1.0  relu(v1)  =>  split[ax1](relu(concat[ax1,nd2](v1, v2))).0
 1.1  relu(v2)  =>  split[ax1](relu(concat[ax1,nd2](v1, v2))).1
 2.0  ew_add(conv2d[k3x3,s1x1,same,none](v7, v10), conv2d[k3x3,s1x1,same,none](v8, v11))  =>  {joined}
 3.0  concat[ax1,nd4](conv2d[k3x3,s1x1,same,relu](v7, v10), conv2d[k3x3,s1x1,same,relu](v8, v11))  =>  {grouped}
""".format(
    joined="conv2d[k3x3,s1x1,same,none](concat[ax1,nd4](v7, v8), concat[ax1,nd4](v10, v11))",
    grouped="conv2d[k3x3,s1x1,same,relu](concat[ax1,nd4](v7, v8), concat[ax0,nd4](v10, v11))",
)


@pytest.fixture(scope="module")
def stated():
    return list(published_statement.translated(LIST.splitlines()))


def test_types_are_the_most_general_ones(stated):
    texts = {(one.number, one.groups): one.text for one in stated}
    assert texts["0", (1, 1)] == (
        "MatMul(MatMul(v1, v4), v5) = MatMul(v1, MatMul(v4, v5)) where v1[d0, d1], v4[d1, d2], v5[d2, d3]"
    )
    assert texts["1", (1, 1)].endswith("sizes=(d0, d1))[1]) where v1[d2, d0], v2[d2, d1]")


def test_rules_with_convolutions_are_stated_for_every_number_of_groups_that_types(stated):
    assert [one.groups for one in stated if one.number == "2"] == [(1, 1), (2, 2)]
    assert [one.groups for one in stated if one.number == "3"] == [(1, 2)]


def test_the_table_says_which_hold_and_shows_a_counterexample(tmp_path):
    file, output = tmp_path / "rules.txt", tmp_path / "table.md"
    file.write_text(LIST)
    result = CliRunner().invoke(published_rules.main, [str(file), "--output", str(output)])
    assert result.exit_code == 0, result.output
    lines = output.read_text().splitlines()
    assert lines[0] == "4 rules in 5 statements: 4 proved, 1 refuted, 0 unknown."
    assert any(line.startswith("| 2 | 2 | **false** | Add(Conv(") for line in lines)
    assert "| 3 | 1 to 2 | proved, E1 | |" in lines


def test_a_line_in_another_notation_is_refused(tmp_path):
    file = tmp_path / "rules.txt"
    file.write_text("0.0  softmax(v1)  =>  v1\n")
    result = CliRunner().invoke(published_rules.main, [str(file)])
    assert result.exit_code == 2 and "found 'softmax'" in result.output


def test_the_rules_of_the_library_rewrite_each_true_rule_to_its_target(tmp_path):
    file = tmp_path / "rules.txt"
    file.write_text(LIST)
    result = CliRunner().invoke(derivable.main, [str(file), "--max-terms", "400"])
    *lines, summary = result.output.splitlines()
    assert (result.exit_code, summary) == (0, "4 derivable, 0 not found, 1 false")
    assert lines[0].startswith("rule 0, groups 1 to 1: ") and len(lines[0].split(": ")[1].split(", ")) == 1


def test_a_rule_that_the_library_does_not_give_is_listed(tmp_path, library_of_one):
    file = tmp_path / "rules.txt"
    file.write_text(LIST.splitlines()[1] + "\n" + LIST.splitlines()[4])
    result = CliRunner().invoke(derivable.main, [str(file), "--rules", str(library_of_one)])
    assert result.exit_code == 1
    assert "not found: Add(Conv(" in result.output
    assert result.output.splitlines()[-1] == "1 derivable, 2 not found, 1 false".replace("2 not", "1 not")


@pytest.fixture
def library_of_one(tmp_path):
    """The rule of the shipped library that matrix multiplication is associative."""
    lines = library_bytes(None).decode().splitlines()
    (line,) = [one for one in lines if "x[*b, m, k], y[k, n], z[n, p]" in one and "MatMul(MatMul(x, y), z) =" in one]
    path = tmp_path / "one.jsonl"
    path.write_text(line + "\n")
    return path
