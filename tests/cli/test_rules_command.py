"""What the library says of its rules, those that rest on axioms and those between scalar functions."""

import pytest


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


def test_what_operators_ask_of_sizes_is_explained(run):
    code, out, _ = run("rules", "explain", identity(run, "Add(y, AveragePool(x; count_include_pad=0"))
    lines = out.splitlines()
    assert code == 0
    assert "  - x has rank 4 with the sizes n, c, h and w" in lines
    assert "  - y has one element" in lines
    assert "  - count_include_pad of AveragePool is 0" in lines
    assert "  - pads below the kernel size: k_h >= p_t+1, or neither side is defined" in lines
    assert "  - a window is no larger than the padded image: h+p_b+p_t >= k_h, or neither side is defined" in lines


def test_an_id_that_no_rule_has_is_one_line(run):
    code, out, error = run("rules", "show", "ffffffffffff")
    assert (code, out) == (2, "")
    assert "expected the id of one rule of the library, found 0 that begin with 'ffffffffffff'" in error


@pytest.mark.parametrize("part", [0, 1])
def test_of_rules_about_both_parts_of_a_split_each_shows_both_with_their_proofs(run, part):
    law = "Add(x, Split(y; axis=-1, sizes=(m, k))[{0}]) = Split(Add(x, y); axis=-1, sizes=(m, k))[{0}]"
    texts = [law.format(at) for at in (part, 1 - part)]
    identities = [identity(run, text) for text in texts]
    first = identities[part]
    for command, mark in (("show", "`tasoopt verify --check` checks the proof again."), ("explain", "It follows from")):
        code, out, _ = run("rules", command, identities[0])
        assert code == 0
        assert out.index(texts[0]) < out.index(texts[1])
        assert f"rewritten in one step, named {first}, by this rule and {identities[1]}:" in out
        assert out.count(mark) == 2


def test_a_rule_about_no_part_is_shown_alone(run):
    out = run("rules", "show", identity(run, "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z))"))[1]
    assert "in one step" not in out and out.count("proved by") == 1


def test_what_a_rule_asks_of_a_constant_is_listed_shown_explained_and_counted(run):
    _, listed, _ = run("rules", "list")
    (line,) = [line for line in listed.splitlines() if "Max(Mul(x, s), x) = PRelu(x, s)" in line]
    assert line.endswith("where s[*any_s], x[*any_x] and s <= 1")
    identity = line.split()[0]
    assert "\nwhere   s[*any_s], x[*any_x] and s <= 1\n" in run("rules", "show", identity)[1]
    explained = run("rules", "explain", identity)[1]
    assert "  - s is a constant of the model, all values of which satisfy s <= 1\n" in explained
    assert "equal for all real numbers, one element at a time, where the conditions hold" in explained
    assert ", s <= 1: " in run("rules", "stats")[1]
