import json
from dataclasses import replace

import pytest

from taso_opt.core.rule import Certificate, FpClass
from taso_opt.errors import RuleError
from taso_opt.spec.rule_file import read_rules, rule_id, write_rules
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.library.check import check_library
from taso_opt.verify.library.pipeline import build_library, examine_all
from taso_opt.verify.processes.crew import Crew
from taso_opt.verify.processes.worker import Examine
from taso_opt.verify.scalars import ENGINE as SCALARS
from taso_opt.verify.verdict import Unknown

CONV = "dilations=(1, 1), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"
EQUATIONS = {
    "rows": "Concat(MatMul(x, w), MatMul(y, w); axis=-2) = MatMul(Concat(x, y; axis=-2), w)"
    " where x[n, k], y[n, k], w[k, k]",
    "chain": "MatMul(x, MatMul(y, z)) = MatMul(MatMul(x, y), z) where x[n, n], y[n, n], z[n, n]",
    "scalar": "MatMul(x, Mul(y, s)) = MatMul(Mul(x, s), y) where x[n, n], y[n, n], s[]",
    "product": "Transpose(MatMul(x, y); perm=(-1, -2)) ="
    " MatMul(Transpose(y; perm=(-1, -2)), Transpose(x; perm=(-1, -2))) where x[n, n], y[n, n]",
    "merged": f"Concat(Conv(x, f; {CONV}), Conv(x, g; {CONV}); axis=-3) = Conv(x, Concat(f, g; axis=-4); {CONV})"
    " where x[n, 2*c, h, w], f[2*m, 2*c, i, j], g[2*m, 2*c, i, j]",
    "repeated": "Relu(Relu(x)) = Relu(x) where x[*a]",
}


@pytest.fixture(scope="module")
def lines(library, tmp_path_factory):
    """The line of each equation in a library that holds them as they are."""
    builder = library.builder()
    rules = [parse_rule(text, builder) for text in EQUATIONS.values()]
    with Crew() as crew:
        verdicts = examine_all(crew, [Examine(rule) for rule in rules])
    certificates = [("matmul_of_stacked_rows",), ("matmul_is_associative",)]
    certificates += [("scalar_leaves_left_factor", "scale_of_columns_leaves_right_factor"), ("transpose_of_matmul",)]
    certificates += [("conv_of_joined_kernels",), ("relu_is_idempotent",)]
    certified = [
        replace(rule, fp_class=verdict.fp_class, certificate=Certificate(axioms, verdict.engine, library.digest))
        for rule, verdict, axioms in zip(rules, verdicts, certificates, strict=True)
    ]
    found = {}
    for name, rule in zip(EQUATIONS, certified, strict=True):
        path = tmp_path_factory.mktemp("library") / "one.jsonl"
        write_rules(path, [rule])
        found[name] = json.loads(path.read_text())
    return found


def altered(line, old, new, reseal=True):
    text = line["rule"].replace(old, new)
    assert text != line["rule"]
    return {**line, "rule": text, "id": rule_id(text) if reseal else line["id"]}


def checked(library, tmp_path, lines):
    path = tmp_path / "library.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return check_library(path, library)


def test_a_library_as_it_was_made_passes(library, tmp_path, lines):
    result = checked(library, tmp_path, lines.values())
    assert (result.rules, result.failures) == (6, ())


def test_every_rule_altered_by_hand_is_named_even_with_a_matching_id(library, tmp_path, lines):
    bad = [
        altered(lines["rows"], "x, y; axis=-2", "x, y; axis=-1"),  # an axis on one side: the types part
        altered(lines["rows"], "axis=-2", "axis=-1"),  # on both sides
        altered(lines["chain"], "MatMul(MatMul(x, y), z)", "MatMul(MatMul(y, x), z)"),  # operands swapped
        altered(
            lines["product"],
            "Transpose(y; perm=(-1, -2)), Transpose(x; perm=(-1, -2))",
            "Transpose(x; perm=(-1, -2)), Transpose(y; perm=(-1, -2))",
        ),
        altered(lines["scalar"], "s[]", "s[n]"),  # a precondition weakened
        altered(lines["merged"], "group=1", "group=2") | {},
        altered(lines["chain"], "x[n, n]", "x[*b, n, n]"),  # true, but not what was proved
    ]
    bad[5] = altered(bad[5], "f[2*m, 2*c, i, j], g[2*m, 2*c, i, j]", "f[2*m, c, i, j], g[2*m, c, i, j]")
    result = checked(library, tmp_path, [lines["repeated"], *bad])
    named = {failure.identity for failure in result.failures}
    assert named >= {line["id"] for line in bad[:6]}
    assert lines["repeated"]["id"] not in named


def test_a_text_that_no_longer_matches_its_id_is_named(library, tmp_path, lines):
    line = altered(lines["chain"], "x[n, n]", "x[*b, n, n]", reseal=False)
    (failure,) = checked(library, tmp_path, [line]).failures
    assert failure.identity == lines["chain"]["id"]
    assert "its text was changed: expected id" in failure.problem


def test_altered_certificates_are_named(library, tmp_path, lines):
    bad = [
        {**lines["chain"], "axioms": ["relu_is_idempotent"]},
        {**lines["rows"], "axioms": ["no_such_axiom"]},
        {**lines["scalar"], "fp_class": FpClass.E0.value},
        {**lines["repeated"], "specs": "0" * 32},
        {**lines["merged"], "engine": "believe me"},
    ]
    failures = checked(library, tmp_path, bad).failures
    problems = [failure.problem for failure in failures]
    assert "its certificate was changed: the recorded axioms do not prove it, others do" in problems
    assert "its certificate names axioms that the specs do not have: no_such_axiom" in problems
    assert "its floating-point class was changed: expected E2, found E0" in problems
    assert any("it was proved from other specs" in problem for problem in problems)
    assert any("it is proved by z3" in problem and "not by believe me" in problem for problem in problems)
    assert {failure.line for failure in failures} == {1, 2, 3, 4, 5}


def test_a_rule_that_rests_on_meanings_names_no_axiom(library, tmp_path):
    text = "Relu(x) = Max(0, x) where x[*a]"
    fields = {"fp_class": "E3", "axioms": ["relu_is_idempotent"], "engine": SCALARS, "specs": library.digest}
    text = format_rule(parse_rule(text, library.builder()))
    (failure,) = checked(library, tmp_path, [{"id": rule_id(text), "rule": text, **fields}]).failures
    assert failure.problem == "its certificate names axioms, of which none speaks of its operators"
    assert not checked(library, tmp_path, [{"id": rule_id(text), "rule": text, **fields, "axioms": []}]).failures
    other = {**fields, "axioms": [], "engine": "z3 1.2.3, reals"}  # found by another version
    assert not checked(library, tmp_path, [{"id": rule_id(text), "rule": text, **other}]).failures


def test_the_operands_of_a_sum_in_another_order_are_a_changed_text(library, tmp_path, lines):
    rule = lines["scalar"]["rule"]
    swapped = rule.replace("Mul(y, s)", "Mul(s, y)") if "Mul(y, s)" in rule else rule.replace("Mul(s, y)", "Mul(y, s)")
    (failure,) = checked(library, tmp_path, [{**lines["scalar"], "rule": swapped, "id": rule_id(swapped)}]).failures
    assert "its text was changed" in failure.problem


def test_a_repeated_rule_is_named_and_a_line_that_is_no_record_is_refused(library, tmp_path, lines):
    (failure,) = checked(library, tmp_path, [lines["repeated"], lines["repeated"]]).failures
    assert (failure.line, failure.problem) == (2, "a second rule of the same id")
    with pytest.raises(RuleError, match=r"expected the fields .* in line 1 of library\.jsonl"):
        checked(library, tmp_path, [{"id": "x"}])
    for name in ("id", "specs", "engine"):
        for text in ("\ud800", "\x1b[31mred"):
            with pytest.raises(RuleError, match="expected text that can be shown, found"):
                checked(library, tmp_path, [{**lines["repeated"], name: text}])


def test_a_library_is_built_from_proved_equations_only_and_reads_back(library, tmp_path):
    builder = library.builder()
    rules = [
        parse_rule(text, builder) for text in (EQUATIONS["chain"], EQUATIONS["repeated"], "Relu(x) = x where x[*a]")
    ]
    with Crew(2) as crew:
        verdicts = examine_all(crew, [Examine(rule) for rule in rules])
        built = build_library(crew, library, rules, verdicts)
    write_rules(tmp_path / "built.jsonl", built)
    read = read_rules(tmp_path / "built.jsonl", library.builder())
    assert set(read.rules) == set(built)
    assert {rule.fp_class for rule in read} == {FpClass.E1, FpClass.E2}
    assert all(rule.certificate.specs == library.digest and rule.certificate.axioms for rule in read)
    assert check_library(tmp_path / "built.jsonl", library).failures == ()


def test_an_axiom_that_meanings_do_not_prove_fails_the_library(library, tmp_path, lines, monkeypatch):
    monkeypatch.setattr(
        "taso_opt.verify.library.check.prove_axioms",
        lambda library, names: [(name, Unknown("no")) for name in sorted(names)],
    )
    result = checked(library, tmp_path, [lines["chain"]])
    assert [failure.problem for failure in result.failures] == ["the axiom matmul_is_associative is not proved: no"]
