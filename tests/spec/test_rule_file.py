import json

import pytest

from taso_opt.core.rule import Certificate, FpClass, Rule
from taso_opt.errors import InvalidInputError, RuleError, UsageError
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import MAX_BYTES, MAX_LINE, read_equations, read_rules, rule_id, write_rules
from taso_opt.spec.text import format_rule, parse_rule

BUILDER = load_specs().builder()
TEXT = "Relu(Relu(x)) = Relu(x) where x[*a]"
LINE = {
    "id": rule_id(TEXT),
    "rule": TEXT,
    "fp_class": "E1",
    "axioms": ["relu_is_idempotent"],
    "engine": "z3 5.4.0",
    "specs": "0123",
}


def read(tmp_path, *lines):
    path = tmp_path / "library.jsonl"
    path.write_bytes(
        b"".join((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines)
    )
    return read_rules(path, BUILDER)


def certified(text, fp_class=FpClass.E2):
    rule = parse_rule(text, BUILDER)
    return Rule(rule.source, rule.target, rule_id(text), fp_class, Certificate(("one", "two"), "engine", "digest"))


def test_a_line_becomes_a_rule_with_its_name_class_and_certificate(tmp_path):
    (rule,) = read(tmp_path, LINE)
    assert format_rule(rule) == TEXT
    assert (rule.name, rule.fp_class) == (LINE["id"], FpClass.E1)
    assert rule.certificate == Certificate(("relu_is_idempotent",), "z3 5.4.0", "0123")


def test_rules_that_are_written_read_back_small_ones_first_in_the_same_bytes(tmp_path):
    rules = [
        certified("Add(x, Add(y, z)) = Add(Add(x, y), z) where x[*a], y[*a], z[*a]"),
        certified("Relu(Relu(Relu(x))) = Relu(x) where x[*a]"),
        certified(TEXT, FpClass.E1),
    ]
    paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_rules(paths[0], rules)
    write_rules(paths[1], rules[::-1])
    read_back = read_rules(paths[0], BUILDER)
    assert set(read_back.rules) == set(rules)
    assert [rule.size for rule in read_back] == [2, 2, 3]
    assert all(one.certificate == rules[0].certificate and one.name == rule_id(format_rule(one)) for one in read_back)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_the_shipped_library_reads_and_its_names_are_hashes_of_its_texts():
    rules = read_rules(None, BUILDER)
    assert len(rules) >= 100
    assert all(rule.name == rule_id(format_rule(rule)) for rule in rules)
    assert {len(rule.source) for rule in rules} >= {1, 2}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", r"expected a JSON object, found '\{' in line 2 of library\.jsonl"),
        (b"[" * 10000, r"expected a JSON object, found .* in line 2"),
        (b"3", r"expected the fields id, rule, fp_class, axioms, engine, specs, found '3' in line 2"),
        ({**LINE, "more": 1}, r"expected the fields .* in line 2"),
        ({name: LINE[name] for name in LINE if name != "axioms"}, r"expected the fields .* in line 2"),
        ({**LINE, "axioms": "all"}, r"expected a list in axioms, found 'all' in line 2"),
        ({**LINE, "axioms": [1]}, r"expected names of axioms, found \[1\] in line 2"),
        ({**LINE, "fp_class": "E9"}, r"expected an fp_class among E0, E1, E2, E3, E4, found 'E9' in line 2"),
        ({**LINE, "id": 7}, r"expected a str in id, found 7 in line 2"),
        (
            {**LINE, "rule": TEXT.replace("Relu", "Sinh")},
            r"expected an operator that specs/ declares, found Sinh .* in line 2",
        ),
        ({**LINE, "rule": "Relu(" * 99 + "x"}, r"expected ' where ' .* in line 2"),
        ({**LINE, "rule": "Relu(" * 99 + "x where x[n]"}, r"at most 64 nested operators, found more in line 2"),
        (b'{"id": "\xff"}', r"expected UTF-8, found byte 0xff in line 2 of .*library\.jsonl"),
        (b" " * (MAX_LINE + 1), rf"expected at most {MAX_LINE} bytes a line, found {MAX_LINE + 1} in line 2"),
    ],
)
def test_a_broken_line_is_refused_with_its_number(tmp_path, line, message):
    good = {**LINE, "rule": "Relu(Relu(x)) = Relu(x) where x[n]", "id": "other"}
    with pytest.raises(RuleError, match=message):
        read(tmp_path, good, line)


def test_a_second_rule_of_the_same_id_is_refused(tmp_path):
    with pytest.raises(RuleError, match=rf"expected one rule {LINE['id']}, found a second in line 2"):
        read(tmp_path, LINE, LINE)


def test_a_file_that_is_not_there_or_a_folder_is_refused_in_one_sentence(tmp_path):
    for path in (tmp_path / "missing.jsonl", tmp_path, tmp_path / ("long" * 100)):
        with pytest.raises(InvalidInputError, match="expected a rule file that can be read, found"):
            read_rules(path, BUILDER)
        with pytest.raises(UsageError, match="expected a rule file that can be written, found"):
            write_rules(path / "no" / "such", [])


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "large.jsonl"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 10)
    with pytest.raises(RuleError, match=f"at most {MAX_BYTES} bytes"):
        read_rules(path, BUILDER)


def test_equations_are_read_one_a_line_without_comments(tmp_path):
    path = tmp_path / "rules.txt"
    path.write_text(f"# said before\n\n{TEXT}\r\n  {TEXT}\n")
    found = read_equations(path, BUILDER)
    assert [(line, format_rule(rule)) for line, rule in found] == [(3, TEXT), (4, TEXT)]
    path.write_text(f"{TEXT}\nRelu(x)\n")
    with pytest.raises(RuleError, match=r"expected ' where ' .* in line 2 of rules\.txt"):
        read_equations(path, BUILDER)
