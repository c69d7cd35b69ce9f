import json

import pytest

TRUE = "Relu(Relu(x)) = Relu(x) where x[*a]"
FALSE = "Relu(Add(x, y)) = Add(Relu(x), Relu(y)) where x[*a], y[*a]"
OPEN = "Relu(Mul(x, x)) = Mul(x, x) where x[*a]"


def file(tmp_path, *equations):
    path = tmp_path / "rules.txt"
    path.write_text("# equations\n" + "".join(f"{text}\n" for text in equations))
    return path


def test_each_equation_gets_one_line_and_a_refuted_one_sets_the_exit_code(run, tmp_path):
    code, out, _ = run("verify", file(tmp_path, TRUE, FALSE, OPEN), "--jobs", 1)
    lines = out.splitlines()
    assert code == 1
    assert lines[0] == f"proved  E1  {TRUE}"
    assert lines[1].startswith("refuted     Relu(Add(") and "modulo 2147483647" in lines[1]
    assert lines[2].startswith(f"unknown     {OPEN}: it holds for the numbers tried")
    assert lines[3:] == ["1 proved, 1 refuted, 1 unknown"]


def test_unknown_is_no_failure_unless_asked_for(run, tmp_path):
    path = file(tmp_path, TRUE, OPEN)
    assert run("verify", path, "--jobs", 1)[0] == 0
    assert run("verify", path, "--jobs", 1, "--strict")[0] == 5


def test_a_refuted_file_decides_before_an_unknown_one(run, tmp_path):
    refuted, unknown = tmp_path / "refuted.rules", tmp_path / "unknown.rules"
    refuted.write_text(f"{FALSE}\n")
    unknown.write_text(f"{OPEN}\n")
    assert run("verify", refuted, unknown, "--strict", "--jobs", 1)[0] == 1
    assert run("verify", unknown, refuted, "--strict", "--jobs", 1)[0] == 1


def test_json_is_one_document_with_verdicts_and_a_summary(run, tmp_path):
    code, out, _ = run("verify", file(tmp_path, TRUE, FALSE), "--json", "--jobs", 1)
    document = json.loads(out)
    assert (code, document["schema_version"]) == (1, 1)
    assert document["summary"] == {"proved": 1, "refuted": 1, "unknown": 0}
    first, second = document["verdicts"]
    assert (first["line"], first["verdict"], first["fp_class"]) == (2, "proved", "E1")
    assert second["counterexample"]["source_value"] != second["counterexample"]["target_value"]


def test_a_library_is_written_checked_and_shown_and_an_altered_one_fails(run, tmp_path):
    library = tmp_path / "library.jsonl"
    code, out, _ = run("verify", file(tmp_path, TRUE), "-o", library, "--jobs", 1)
    assert (code, out.splitlines()[-1]) == (0, "1 proved, 0 refuted, 0 unknown; 1 rules in the library")
    assert run("verify", library, "--check", "--jobs", 1)[:2] == (
        0,
        "1 proofs followed step by step, 0 made again\n1 rules checked, 0 failed\n",
    )
    (identity,) = [json.loads(line)["id"] for line in library.read_text().splitlines()]
    assert run("rules", "list", "--rules", library)[1] == f"{identity}  E1  {TRUE}\n"
    explained = run("rules", "explain", identity[:5], "--rules", library)[1]
    assert "x has any shape *a" in explained and "relu_is_idempotent" in explained
    assert "axioms  relu_is_idempotent" in run("rules", "show", identity, "--rules", library)[1]
    library.write_text(library.read_text().replace("Relu(Relu(x)) = Relu(x)", "Relu(Relu(x)) = x"))
    code, out, _ = run("verify", library, "--check", "--jobs", 1)
    assert code == 1
    assert f"rule {identity} in line 1: it is false: " in out
    assert out.splitlines()[-1] == "1 rules checked, 1 failed, and the library as a whole"


def test_a_library_is_added_to_and_what_follows_from_it_is_left_out(run, tmp_path):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    run("verify", file(tmp_path, TRUE), "-o", first, "--jobs", 1)
    thrice = "Relu(Relu(Relu(x))) = Relu(x) where x[*a]"
    turned = "Transpose(Transpose(x; perm=(-1, -2)); perm=(-1, -2)) = x where x[*b, m, k]"
    more = tmp_path / "more.rules"
    more.write_text(f"{thrice}\n{turned}\n")
    code, out, _ = run("verify", more, "--given", first, "-o", second, "--jobs", 1)
    assert code == 0
    follows, proved, total = out.splitlines()
    assert follows == f"follows     {thrice}"
    assert proved.startswith("proved  E0  ") and "Transpose" in proved
    assert total == "1 proved, 0 refuted, 0 unknown; 2 rules in the library"
    assert first.read_text() in second.read_text()
    assert run("verify", second, "--check", "--jobs", 1)[0] == 0
    document = json.loads(run("verify", more, "--given", first, "-o", second, "--json", "--jobs", 1)[1])
    assert (document["following"], document["library_rules"], len(document["verdicts"])) == ([thrice], 2, 1)


def test_what_a_library_has_is_not_added_again(run, tmp_path):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    defined = "Celu(x; alpha=(1, 1)) = Elu(x; alpha=(1, 1)) where x[*a]"
    neutral = "x = MatMul(IdentityMatrix(y), x) where x[*b, m, k], y[m, m]"
    equations = file(tmp_path, defined, neutral)
    run("verify", equations, "-o", first, "--jobs", 1)
    assert len(first.read_text().splitlines()) == 2
    code, out, _ = run("verify", equations, "--given", first, "-o", second, "--jobs", 1)
    assert code == 0
    assert out.splitlines()[-1] == "0 proved, 0 refuted, 0 unknown; 2 rules in the library"
    assert second.read_text() == first.read_text()


def test_the_json_of_a_check_names_line_and_problem(run, tmp_path):
    library = tmp_path / "library.jsonl"
    run("verify", file(tmp_path, TRUE), "-o", library, "--jobs", 1)
    library.write_text(library.read_text().replace('"fp_class": "E1"', '"fp_class": "E0"'))
    code, out, _ = run("verify", library, "--check", "--json", "--jobs", 1)
    document = json.loads(out)
    assert (code, document["rules"], {failure["line"] for failure in document["failures"]}) == (1, 1, {0, 1})
    assert any("expected E1, found E0" in failure["problem"] for failure in document["failures"])


def test_the_library_that_is_shipped_is_listed_and_counted(run):
    code, out, _ = run("rules", "stats")
    assert code == 0
    assert int(out.split()[1].rstrip(",")) == len(run("rules", "list")[1].splitlines())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("verify",), 2, "expected a FILE of equations, or --check"),
        (("verify", "--check", "--strict"), 2, "expected --check alone"),
        (("verify", "a.rules", "--given", "a.jsonl"), 2, "expected --output beside --given, found --given alone"),
        (("verify", "missing.txt"), 3, "expected a rule file that can be read, found missing.txt"),
        (
            ("verify", "a.rules", "-o", "none/b.jsonl"),
            2,
            "expected a file that can be written for --output, found none",
        ),
        (("verify", "a.rules", "-o", "a.rules"), 2, "expected a file of its own for --output, found a.rules, which is"),
        (("verify", "a.rules", "--junit", "a.rules"), 2, "expected a file of its own for --junit, found a.rules"),
        (("verify", "a", "-o", "b.x", "--junit", "b.x"), 2, "expected a file of its own for --junit, found b.x"),
        (("rules", "show", "zz"), 2, "expected the id of one rule of the library, found 0 that begin with 'zz'"),
        (("rules", "list", "--rules", "missing.jsonl"), 3, "expected a rule file that can be read"),
    ],
)
def test_a_mistake_is_one_line_and_an_exit_code(run, tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    found, out, error = run(*arguments)
    assert (found, out) == (code, "")
    assert message in error and len(error.splitlines()) == 1


def test_every_axiom_is_proved_with_one_line_each_and_a_total(run):
    code, out, _ = run("verify", "--axioms")
    *lines, total = out.splitlines()
    assert code == 0
    assert "proved    matmul_is_associative" in lines and "proved    add_is_commutative" in lines
    assert all(line.startswith("proved ") for line in lines)
    assert total.startswith(f"{len(lines)} axioms proved for all sizes in ") and total.endswith(", 0 unproved")


def test_an_axiom_that_is_not_proved_sets_the_exit_code(run, monkeypatch):
    from taso_opt.verify.index_functions import axioms
    from taso_opt.verify.verdict import Unknown

    monkeypatch.setattr(axioms, "prove_axioms", lambda library: [("a_false_law", Unknown("the sides differ"))])
    code, out, _ = run("verify", "--axioms", "--json")
    document = json.loads(out)
    assert code == 1
    assert document["summary"] == {"proved": 0, "unproved": 1, "instances": 0}
    assert document["axioms"] == [{"axiom": "a_false_law", "verdict": "unproved", "reason": "the sides differ"}]


def test_axioms_are_proved_alone(run):
    code, _, err = run("verify", "--axioms", "--check")
    assert code == 2 and "expected --axioms alone" in err


def test_what_is_true_for_some_constants_only_is_proved_where_that_is_and_kept_with_the_condition(run, tmp_path):
    scale = "Relu(Mul(x, s)) = Mul(Relu(x), s) where s[*any_s], x[*any_x]"
    library = tmp_path / "mine.jsonl"
    code, out, _ = run("verify", file(tmp_path, scale, f"{scale} and s > 0"), "--jobs", 1, "-o", library)
    assert code == 0
    assert out.splitlines() == [
        f"proved  E3, where s >= 0  {scale}",
        f"proved  E3  {scale} and s > 0",
        "2 proved, 0 refuted, 0 unknown; 1 rules in the library",
    ]
    assert json.loads(library.read_text())["rule"] == f"{scale} and s >= 0"
    assert run("verify", "--check", library, "--jobs", 1)[0] == 0


def test_json_tells_conditions_that_were_found(run, tmp_path):
    slope = "Max(x, Mul(x, s)) = PRelu(x, s) where x[*any_x], s[*any_s]"
    code, out, _ = run("verify", file(tmp_path, slope, TRUE), "--json", "--jobs", 1)
    first, second = json.loads(out)["verdicts"]
    assert (code, first["verdict"], first["conditions"], second["conditions"]) == (0, "proved", ["s <= 1"], [])
