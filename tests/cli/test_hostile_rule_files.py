"""Rule files that somebody broke: one clear sentence or a bounded run, never a crash, and nothing executed."""

import json

import pytest

TRUE = "Relu(Relu(x)) = Relu(x) where x[*a]"
BAD_FILE = 3


def written(tmp_path, content):
    path = tmp_path / "rules.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Relu(" * 2_000 + "x" + ")" * 2_000 + " = x where x[*a]", "expected at most 64 nested operators, found more"),
        ("Transpose(x; perm=" + "(" * 500 + ")" * 500 + ") = x where x[*a]", "expected at most 64 nested tuples"),
        ("Relu(" * 9_000 + "x", "expected at most 40000 bytes a line, found 45001 in line 1"),
        (f"# {'a' * 19_000}\n{'Relu(' * 4_100}x", "expected an equation of at most 20000 characters, found 20501"),
        (
            "Reshape(x; shape=(" + "9" * 5_000 + ",)) = x where x[*a]",
            "expected a number of at most 100 digits at character 18",
        ),
        (TRUE.replace("*a", "9" * 30), "expected a number of at most 18 digits, found one of 30"),
        (
            TRUE + ", " + ", ".join(f"y{at}[n]" for at in range(1_500)),
            "found no y0, y1, y10, y100, y1000, y1001, y1002, y1003 in line 1",
        ),
        ("__import__(x) = x where x[*a]", "expected an operator that specs/ declares, found __import__"),
        ("os.system(x) = x where x[*a]", "expected a type for every variable after 'where', found none for os"),
        ("Opaque(x) = x where x[*a]", "expected an operator that specs/ declares, found Opaque"),
        ("Relu(x\0) = x where x[*a]", "expected ')' at character 6"),
        ("Concat(x, y; axis=-99) = x where x[n], y[n]", "expected parts of one rank with axis -99"),
        ('Relu(x; alpha="{}") = x where x[*a]', "expected attributes that fit their operators"),
        (b"Relu(\xff) = x where x[*a]", "expected UTF-8, found byte 0xff in line 1"),
        (b"\x00" * 50_000, "expected at most 40000 bytes a line"),
        (f"{TRUE}\n" * 100_001, "expected at most 100000 rules in a file, found 100001"),
    ],
)
def test_a_hostile_file_is_refused_in_one_sentence(run, tmp_path, content, message):
    code, out, error = run("verify", written(tmp_path, content), "--jobs", 1)
    assert (code, out) == (BAD_FILE, "")
    assert message in error
    assert len(error.splitlines()) == 1 and len(error) < 600


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TRUE.replace("*a", "9" * 18), "no small sizes were found at which the operands fit"),
        (
            "Relu(Relu({pool})) = Relu({pool}) where x[1, 1, 8, 8]".format(
                pool="MaxPool(x; dilations=(1, 1), kernel=(999999999, 999999999), "
                "pads=(999999998, 999999998, 999999998, 999999998), strides=(999999999, 999999999))"
            ),
            "it cannot be evaluated: ",
        ),
        ("Elu(x; alpha=(1, 0)) = x where x[*any_x]", "it cannot be evaluated: "),
    ],
)
def test_what_asks_for_too_much_is_unknown_and_what_follows_is_judged(run, tmp_path, text, reason):
    code, out, _ = run("verify", written(tmp_path, f"{text}\n{TRUE}\n"), "--jobs", 1, "--strict")
    first, second, summary = out.splitlines()
    assert first.startswith("unknown ") and reason in first
    assert second.startswith("proved ")
    assert (code, summary) == (5, "1 proved, 0 refuted, 1 unknown")


LINE = {"id": "0" * 12, "rule": TRUE, "fp_class": "E1", "axioms": [], "engine": "z3", "specs": "0" * 32}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 30_000, "expected a JSON object, found "),
        (json.dumps({**LINE, "more": 1}), "expected the fields id, rule, fp_class, axioms, engine, specs"),
        (json.dumps({**LINE, "axioms": [{}]}), "expected names of axioms"),
        (json.dumps({**LINE, "fp_class": "E9"}), "expected an fp_class among"),
        ((json.dumps(LINE) + "\n") * 100_001, "expected at most 100000 rules in a file, found 100001"),
    ],
)
def test_a_hostile_library_is_refused_in_one_sentence(run, tmp_path, content, message):
    code, out, error = run("verify", "--check", written(tmp_path, content), "--jobs", 1)
    assert (code, out) == (BAD_FILE, "")
    assert message in error and len(error.splitlines()) == 1 and len(error) < 600


def test_a_proof_file_that_multiplies_sizes_without_end_is_refused():
    from taso_opt.verify.checker.terms import Wrong, read_value, written_out

    power = read_value("*".join(["a"] * 200))
    with pytest.raises(Wrong, match="expected sizes of at most 4096 products"):
        written_out(power, {"a": read_value("b+c+d")})
