"""Published rules are stated for the most general types, proved where they hold and refuted where they do not."""

import pytest
from click.testing import CliRunner

import derivable
import published_rules
from published import statement
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
    return list(statement.translated(LIST.splitlines()))


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


CONV = "conv2d[k{kernel},s{strides},{pad},{activation}]({{}}, {{}})"


def conv(x, w, kernel="3x3", strides="1x1", pad="same", activation="none"):
    return CONV.format(kernel=kernel, strides=strides, pad=pad, activation=activation).format(x, w)


def in_input(operator="ew_add", **settings):
    """That a convolution goes through an operator of two images."""
    apart = f"{operator}({conv('x', 'w', **settings)}, {conv('y', 'w', **settings)})"
    return f"{conv(f'{operator}(x, y)', 'w', **settings)} => {apart}"


def pooled(kind, inner, settings="k2x2,s2x2,valid"):
    return f"pool2d_{kind}[{settings}]({inner})"


def beside(x, y, axis=1, rank=4):
    return f"concat[ax{axis},nd{rank}]({x}, {y})"


TRUE = {
    "valid": in_input(kernel="5x5", pad="valid"),
    "valid with strides": in_input(kernel="5x5", strides="2x2", pad="valid"),
    "same with strides": in_input(strides="2x2"),
    "pointwise with strides": in_input(kernel="1x1", strides="2x2"),
    "even kernel": in_input("ew_sub", kernel="2x2"),
    "oblong kernel": f"{conv('x', 'ew_add(v, w)', kernel='3x1')} => "
    f"ew_add({conv('x', 'v', kernel='3x1')}, {conv('x', 'w', kernel='3x1')})",
    "turned kernel": f"transpose[perm0,1,3,2]({conv('x', 'w', kernel='3x1', strides='2x1')}) => "
    + conv("transpose[perm0,1,3,2](x)", "transpose[perm0,1,3,2](w)", kernel="1x3", strides="1x2"),
    "sigmoid inside": f"{conv('x', 'w', activation='sigmoid')} => sigmoid({conv('x', 'w')})",
    "tanh inside": f"matmul[tanh](x, {beside('y', 'z', 2, 3)}) => "
    + beside("matmul[tanh](x, y)", "tanh(matmul[none](x, z))", 2, 3),
    "grouped before": f"{conv(beside('x', 'y'), beside('v', 'w', 0))} => {beside(conv('x', 'v'), conv('y', 'w'))}",
    "transposed product": "transpose[perm1,0](matmul[relu](x, y)) => "
    "matmul[relu](transpose[perm1,0](y), transpose[perm1_0](x))",
    "turned twice": "transpose[perm2,0,1](transpose[perm1,2,0](x)) => x",
    "no turn": "transpose[perm0,1](x) => x",
    "maximum pooling": f"{pooled('max', 'relu(x)')} => relu({pooled('max', 'x')})",
    "average pooling": f"{pooled('avg', 'ew_add(x, y)', 'k3x3,s1x1,same')} => "
    f"ew_add({pooled('avg', 'x', 'k3x3,s1x1,same')}, {pooled('avg', 'y', 'k3x3,s1x1,same')})",
    "pooling with activation": f"{pooled('max', 'x', 'k2x2,s2x2,valid,sigmoid')} => sigmoid({pooled('max', 'x')})",
    "number": "mul(matmul[none](x, y), s) => matmul[none](x, mul(y, s))",
    "numbers": "mul(mul(x, s), t) => mul(x, mul(s, t))",
    "other element-wise": "ew_max(x, ew_min(x, y)) => ew_min(x, ew_max(x, y))",
    "joining is associative": f"{beside('x', beside('y', 'z', 0, 3), 0, 3)} => concat[ax0,nd3](x, y, z)",
    "third part": "z => split[ax2].2(concat[ax2,nd3](x, y, z))",
}
FALSE = {
    "valid, activation": in_input(kernel="5x5", pad="valid", activation="relu"),
    "strides, activation": in_input(strides="2x2", activation="relu"),
    "even kernel, activation": in_input(kernel="2x2", activation="tanh"),
    "strides of a smaller kernel": f"{conv('x', 'w', strides='2x2')} => {conv('x', 'v', kernel='2x2', strides='2x2')}",
    "kernels that are multiplied": f"{conv('x', 'ew_mul(v, w)', kernel='3x1')} => "
    f"ew_mul({conv('x', 'v', kernel='3x1')}, {conv('x', 'w', kernel='3x1')})",
    "sigmoid of a sum": "sigmoid(ew_add(x, y)) => ew_add(sigmoid(x), sigmoid(y))",
    "sigmoid for tanh": f"{conv('x', 'w', activation='sigmoid')} => {conv('x', 'w', activation='tanh')}",
    "factors in order": "transpose[perm1,0](matmul[none](x, y)) => "
    "matmul[none](transpose[perm1,0](x), transpose[perm1,0](y))",
    "maximum of a sum": f"{pooled('max', 'ew_add(x, y)', 'k3x3,s2x2,same')} => "
    f"ew_add({pooled('max', 'x', 'k3x3,s2x2,same')}, {pooled('max', 'y', 'k3x3,s2x2,same')})",
    "average of the positive": f"{pooled('avg', 'relu(x)', 'k3x3,s1x1,same')} => "
    f"relu({pooled('avg', 'x', 'k3x3,s1x1,same')})",
    "sign of a number": "relu(mul(x, s)) => mul(relu(x), s)",
    "difference turned": "ew_sub(x, y) => ew_sub(y, x)",
    "quotient turned": "ew_div(x, y) => ew_div(y, x)",
    "minimum for maximum": "ew_min(x, y) => ew_max(x, y)",
    "joined the other way round": f"{beside('x', 'y', 0, 3)} => {beside('y', 'x', 0, 3)}",
}


def verified(tmp_path, rules):
    """The exit code, the first line and the rows of the table for some rules, each as its cells."""
    file = tmp_path / "rules.txt"
    file.write_text("# made up\n" + "".join(f"{number}.0 {rule}\n" for number, rule in enumerate(rules)))
    result = CliRunner().invoke(published_rules.main, [str(file)])
    lines = result.output.splitlines()
    return result.exit_code, lines[0], [line.strip("| ").split(" | ") for line in lines[4:]]


def test_every_operator_and_setting_is_stated_as_it_is_meant(tmp_path):
    code, _, rows = verified(tmp_path, [*TRUE.values(), *FALSE.values()])
    assert code == 0
    for number, name in enumerate([*TRUE, *FALSE]):
        verdicts = {row[2].split(",")[0] for row in rows if row[0] == str(number)}
        assert verdicts == {"proved" if name in TRUE else "**false**"}, name


def test_a_counterexample_shows_the_settings_of_the_line(tmp_path):
    _, _, rows = verified(tmp_path, [in_input(kernel="2x4", strides="1x2", activation="relu")])
    assert {row[1] for row in rows} == {
        f"{groups}; sizes {rest}a multiple of the strides" for groups in "12" for rest in ("", "one more than ")
    }
    (found,) = (row[3] for row in rows if row[1] == "1; sizes a multiple of the strides")
    assert "group=1, pads=(0, 1, 1, 1), strides=(1, 2)" in found and ", 2, 4], x[" in found
    (found,) = (row[3] for row in rows if row[1] == "1; sizes one more than a multiple of the strides")
    assert "group=1, pads=(0, 1, 1, 2), strides=(1, 2)" in found


def test_what_holds_only_where_the_last_window_ends_the_image_says_so(tmp_path):
    apart = beside(pooled("max", "x"), pooled("max", "y"), axis=2)
    _, _, rows = verified(tmp_path, [f"{apart} => {pooled('max', beside('x', 'y', axis=2))}"])
    assert [row[1:3] for row in rows] == [["1; no pixels beyond the last window", "proved, E1"]]


def test_sizes_at_which_a_rule_cannot_be_stated_are_listed_beside_those_at_which_it_is(tmp_path):
    smaller = pooled("max", pooled("max", "x", "k3x3,s1x1,same"), "k1x1,s2x2,same")
    code, summary, rows = verified(tmp_path, [f"{smaller} => {pooled('max', 'x', 'k3x3,s2x2,same')}"])
    assert (code, summary) == (1, "1 rules in 1 statements: 1 proved, 0 refuted, 0 unknown; 1 not stated.")
    assert [row[1:3] for row in rows] == [
        ["1; sizes one more than a multiple of the strides", "proved, E2"],
        ["1; sizes a multiple of the strides", "not stated"],
    ]


def test_averages_are_stated_with_padding_counted_and_without(tmp_path):
    _, summary, rows = verified(tmp_path, [TRUE["average pooling"]])
    assert summary == "1 rules in 2 statements: 2 proved, 0 refuted, 0 unknown."
    assert [row[1] for row in rows] == ["1; padding does not count", "1; padding counts"]


@pytest.mark.parametrize(
    ("rule", "types"),
    [
        ("relu(ew_add(x, y)) => relu(ew_add(y, x))", "x[*d0], y[*d0]"),
        ("relu(concat[ax0,nd3](x, y)) => concat[ax0,nd3](relu(x), relu(y))", "x[d0, d1, d2], y[d3, d1, d2]"),
        ("matmul[none](x, mul(y, s)) => matmul[none](mul(x, s), y)", "x[d0, d1], y[d1, d2], s[]"),
        (TRUE["tanh inside"], "x[d0, d1, d2], y[d0, d2, d3], z[d0, d2, d4]"),
        (in_input(kernel="5x3", pad="valid"), "x[d0, d1, d2+4, d3+2], y[d0, d1, d2+4, d3+2], w[d4, d1, 5, 3]"),
        (in_input(strides="2x3"), "x[d0, d1, 2*d2-1, 3*d3-2], y[d0, d1, 2*d2-1, 3*d3-2], w[d4, d1, 3, 3]"),
        (in_input(strides="2x3", pad="valid"), "x[d0, d1, d2, d3], y[d0, d1, d2, d3], w[d4, d1, 3, 3]"),
    ],
)
def test_sizes_are_the_most_general_ones(rule, types):
    stated = next(statement.translated([f"0.0 {rule}"]))
    assert stated.text.partition(" where ")[2] == types


def test_images_of_two_strides_have_sizes_that_fit_both():
    apart = (pooled("max", "x", "k2x2,s2x2,same"), pooled("max", "x", "k3x3,s3x3,same"))
    stated = list(statement.translated([f"0.0 {apart[0]} => {apart[0]}", f"0.1 {apart[1]} => {apart[1]}"]))
    assert [one.text.partition(" where ")[2] for one in stated] == [
        "x[d0, d1, 6*d2-5, 6*d3-5]",
        "x[d0, d1, 6*d2, 6*d3]",
    ]


def test_a_rule_that_no_sizes_fit_is_listed_with_the_reason(tmp_path):
    rules = [
        f"{conv('x', 'w', pad='valid')} => {conv('x', 'w')}",
        "split[ax1](x).0 => x",
        f"relu({beside('x', 'y', 0, 3)}) => {conv('x', 'y')}",
        "mul(x, y) => ew_mul(y, matmul[none](x, y))",
        f"{pooled('max', 'x', 'k3x3,s2x2,same')} => {pooled('max', 'x', 'k3x3,s1x1,same')}",
        "relu(x) => relu(x)",
    ]
    code, summary, rows = verified(tmp_path, rules)
    assert code == 1
    assert summary == "6 rules in 1 statements: 1 proved, 0 refuted, 0 unknown; 5 not stated."
    assert [row[2:] for row in rows[:5]] == [
        ["not stated", "expected equal sizes, found d0 and d0+2"],
        ["not stated", "expected a concatenation along axis 1 with a part 0 to split, found none"],
        ["not stated", "expected one rank of all tensors of a rule, found 3 and 4"],
        ["not stated", "expected operands of matmul with axes, found a single number"],
        ["not stated", "expected equal sizes, found d0 and 2*d0-1"],
    ]
    file = tmp_path / "rules.txt"
    result = CliRunner().invoke(derivable.main, [str(file), "--max-terms", "10"])
    assert result.output.splitlines()[-1] == "1 derivable, 0 not found, 0 false, 5 not stated"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0.0  softmax(v1)  =>  v1", "found 'softmax'"),
        ("0.0 conv2d[k0x3,s1x1,same,none](x, w) => x", "from 1 to 64, found k0x3"),
        ("0.0 conv2d[k3x3,s1x1,same,gelu](x, w) => x", "relu, sigmoid, tanh, found conv2d[k3x3,s1x1,same,gelu]"),
        ("0.0 conv2d[k3x3,s1x1,full,none](x, w) => x", "PAD same or valid"),
        ("0.0 conv2d[k3x3,same,none](x, w) => x", "expected conv2d[kKHxKW,sSHxSW,PAD,ACTI]"),
        ("0.0 conv2d[k3x3,s1x1,same,none,d2x2](x, w) => x", "found conv2d[k3x3,s1x1,same,none,d2x2]"),
        ("0.0 matmul(x, w) => x", "expected matmul[ACTI]"),
        ("0.0 relu[inplace](x) => x", "expected relu without settings, found relu[inplace]"),
        ("0.0 relu(x, y) => x", "expected 1 operands of relu, found 2"),
        ("0.0 ew_add => x", "expected 2 operands of ew_add, found 0"),
        ("0.0 concat[ax0,nd2](x) => x", "expected two or more operands of concat, found 1"),
        ("0.0 concat[ax2,nd2](x, y) => x", "found ax2 of nd2"),
        ("0.0 transpose[perm0,2](x) => x", "expected a permutation of the axes 0 to 1"),
        ("0.0 split[ax0](x) => x", "expected the number of a part behind split"),
        ("0.0 relu(x).1 => x", "found relu with one"),
        ("0.0 x[3] => x", "expected operands of x behind its settings"),
        ("0.0 relu(x => x", "expected ',' or ')' behind an operand, found the end of the side"),
        ("0.0 relu(x)) => x", "expected the end of a term, found ')"),
        ("0.0 relu(x)", "with one '=>' between them, found 0"),
        ("relu(x) => x", "expected RULE.OUTPUT and an equation"),
        ("0.0 x => x\n0.0 y => y", "line 2: expected each output of a rule once, found 0.0 again"),
        (f"0.0 {'relu(' * 10_000}x{')' * 10_000} => x", "expected at most 64 nested operators, found more"),
    ],
)
def test_a_line_in_another_notation_is_refused(tmp_path, line, message):
    file = tmp_path / "rules.txt"
    file.write_text(f"\n{line}\n".removeprefix("\n" if "\n" in line else ""))
    result = CliRunner().invoke(published_rules.main, [str(file), "--jobs", "1"])
    assert result.exit_code == 2 and "line 2: expected" in result.output and message in result.output


def test_a_list_that_is_no_text_is_refused(tmp_path):
    file = tmp_path / "rules.txt"
    file.write_bytes(b"\xff\xfe0.0")
    result = CliRunner().invoke(published_rules.main, [str(file), "--jobs", "1"])
    assert result.exit_code == 2 and "expected text in UTF-8" in result.output


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
