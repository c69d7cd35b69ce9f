"""What `verify --check` notices: every way of altering a library, its proofs or the specs that they rest on."""

import json
import shutil
from dataclasses import replace
from types import MappingProxyType

import pytest

from taso_opt.spec.library import spec_sources
from taso_opt.spec.rule_file import library_bytes, proof_bytes, proofs_path, read_rules, rule_id, write_rules
from taso_opt.spec.text import parse_rule
from taso_opt.verify.checker.proofs import check_proofs, digest
from taso_opt.verify.evaluation.witness import make_witness, replay
from taso_opt.verify.library.check import check_library
from taso_opt.verify.library.proofs import proof_file, read_witness, write_proofs
from taso_opt.verify.library.trust import compare_with_specs
from taso_opt.verify.processes import child

PARTS = (
    "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[k, n]",
    "Relu(Relu(",
    "Mul(y, Transpose(x",
    "(MatMul(x, y), MatMul(x, z)) =",
    "Max(x, Neg",
)


@pytest.fixture(scope="module")
def made(library, tmp_path_factory):
    """A library of a few shipped rules with its proof file."""
    rules = list(read_rules(None, library.builder()))
    texts = {json.loads(line)["id"]: json.loads(line)["rule"] for line in library_bytes(None).splitlines()}
    wanted = [next(rule for rule in rules if texts[rule.name].startswith(part)) for part in PARTS[:1] + PARTS[2:]]
    path = tmp_path_factory.mktemp("made") / "library.jsonl"
    write_rules(path, wanted)
    write_proofs(path, library, list(read_rules(path, library.builder())))
    return path


@pytest.fixture
def copy(made, tmp_path):
    shutil.copy(made, tmp_path)
    shutil.copy(proofs_path(made), tmp_path)
    return tmp_path / made.name


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewrite(path, values):
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))


def alter_rule(path, old, new):
    """Change the text of every rule that contains `old`, and make its id and its proof's seal fit again."""
    lines, proofs = records(path), records(proofs_path(path))
    changed = 0
    for line in lines:
        if old in line["rule"]:
            before, changed = line["id"], changed + 1
            line["rule"] = line["rule"].replace(old, new, 1)
            line["id"] = rule_id(line["rule"])
            for entry in proofs[1:]:
                if entry.get("rule") == before:
                    entry["rule"] = line["id"]
    assert changed == 1
    seal(path, lines, proofs)


def seal(path, lines, proofs):
    """Write both files with digests that fit, as somebody would who knows how."""
    rewrite(path, lines)
    for line, value in zip(path.read_bytes().splitlines(), lines, strict=True):
        for entry in proofs[1:]:
            if entry.get("rule") == value["id"]:
                entry["line"] = digest(line)
    rewrite(proofs_path(path), proofs[1:])
    rest = proofs_path(path).read_bytes()
    header = {**proofs[0], "library": digest(path.read_bytes()), "proofs": digest(rest)}
    proofs_path(path).write_bytes(json.dumps(header).encode() + b"\n" + rest)


def followed(path):
    return check_proofs(path.read_bytes(), proofs_path(path).read_bytes(), spec_sources())


def test_the_shipped_proofs_are_followed_to_the_end_for_every_rule_that_rests_on_axioms(library):
    findings = check_proofs(library_bytes(None), proof_bytes(None), spec_sources())
    assert findings.problems == ()
    rules = {rule.name: rule for rule in read_rules(None, library.builder()) if rule.certificate.axioms}
    # No chain of steps is found for a few that are larger: the check proves those again, as it does what has no axioms.
    others = [rules[name] for name in rules.keys() - findings.followed]
    assert findings.followed <= rules.keys()
    assert len(others) <= 16
    assert all(rule.size > 3 for rule in others)
    assert compare_with_specs(proof_bytes(None), library).problems == ()


def test_proof_files_are_made_alike_each_time(made, library):
    rules = list(read_rules(made, library.builder()))
    assert proof_file(library, rules, made.read_bytes()) == proofs_path(made).read_bytes()


def test_a_library_as_it_was_made_passes_and_says_how_it_was_proved(copy, library):
    result = check_library(copy, library)
    assert (result.rules, result.failures, result.followed) == (4, (), 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("axis=-1, sizes=(n, p))[0]", "axis=-2, sizes=(n, p))[0]"),  # a flipped axis
        ("MatMul(MatMul(x, y), z)", "MatMul(MatMul(y, x), z)"),  # swapped operands
        ("y[]", "y[*b, m, k]"),  # a weakened precondition
        ("y[]", "y[m]"),  # another one
        ("y[*b, k, n], z[*b, k, p]", "y[*b, k, n], z[k, p]"),  # a dropped precondition
        ("y[k, n], z[*b, n, p]", "y[k, n], z[n, p]"),  # true as well, but not what was proved
    ],
)
def test_a_changed_rule_is_named_even_where_all_digests_were_made_to_fit(copy, old, new):
    alter_rule(copy, old, new)
    findings = followed(copy)
    assert len(findings.problems) >= 1
    assert all(identity for identity, _ in findings.problems)


def test_a_changed_rule_with_old_digests_is_named(copy, library):
    lines = records(copy)
    lines[0]["fp_class"] = "E0"
    rewrite(copy, lines)
    problems = {failure.problem.partition(":")[0] for failure in check_library(copy, library).failures}
    assert "the proofs are those of another library" in problems
    assert "its floating-point class was changed" in problems
    assert "it has a proof, but its line was changed or removed" in problems


@pytest.mark.parametrize("key", ["axioms", "engine", "specs", "id"])
def test_each_part_of_a_certificate_is_under_the_seal(copy, key):
    lines = records(copy)
    lines[0][key] = [*lines[0][key], "relu_is_idempotent"] if key == "axioms" else "forged"
    rewrite(copy, lines)
    assert len(followed(copy).problems) >= 2


def test_an_axiom_dropped_from_a_certificate_is_missed_by_its_proof(copy):
    lines, proofs = records(copy), records(proofs_path(copy))
    (rule,) = [line for line in lines if line["axioms"] == ["matmul_is_associative"]]
    rule["axioms"] = ["relu_is_idempotent"]
    seal(copy, lines, proofs)
    expected = "its proof uses the axiom matmul_is_associative, which its certificate does not name"
    assert followed(copy).problems == ((rule["id"], expected),)


def test_a_removed_rule_is_missed(copy, library):
    lines = records(copy)
    gone = lines.pop(0)
    rewrite(copy, lines)
    problems = dict(followed(copy).problems)
    assert problems[gone["id"]] == "it has a proof, but its line was changed or removed"
    assert any(failure.identity == gone["id"] for failure in check_library(copy, library).failures)


def test_an_added_rule_without_a_proof_is_named(copy):
    added = records(copy)[0]
    with copy.open("a") as stream:
        stream.write(json.dumps({**added, "id": "0" * 12}) + "\n")
    assert any(text.startswith("a rule has no proof") for _, text in followed(copy).problems)


def test_every_changed_line_of_the_proofs_is_noticed(copy):
    lines = proofs_path(copy).read_bytes().splitlines(keepends=True)
    for at in range(1, len(lines)):
        proofs = b"".join(lines[:at] + lines[at + 1 :])
        assert ("", "the proofs are not as they were written: a line was changed, added or removed") in check_proofs(
            copy.read_bytes(), proofs, spec_sources()
        ).problems


def test_every_step_is_needed_and_every_part_of_a_step_counts(copy):
    proofs = records(proofs_path(copy))
    tried = 0
    for at, entry in enumerate(proofs):
        for output, chain in enumerate(entry.get("chains") or ()):
            for side, steps in enumerate(chain):
                for place, step in enumerate(steps):
                    for forged in (*altered_steps(step), None):
                        new = json.loads(json.dumps(proofs))
                        new[at]["chains"][output][side][place : place + 1] = [] if forged is None else [forged]
                        seal(copy, records(copy), new)
                        assert [identity for identity, _ in followed(copy).problems] == [entry["rule"]], (
                            f"{forged} for {step}"
                        )
                        tried += 1
    assert tried > 20


def altered_steps(step):
    yield {**step, "forward": not step["forward"]}
    yield {**step, "axiom": "no_such_axiom"}
    yield {**step, "statement": "9999"}
    for name, text in step["terms"].items():
        others = [other for other in step["terms"].values() if other != text]
        if others:
            yield {**step, "terms": {**step["terms"], name: others[0]}}
    for name in step["sizes"]:
        yield {**step, "sizes": {key: value for key, value in step["sizes"].items() if key != name}}
        yield {**step, "sizes": {**step["sizes"], name: "other"}}


def test_a_changed_meaning_or_axiom_makes_the_proofs_stale(copy):
    sources = list(spec_sources())
    sources[-1] += b"\n# changed"
    findings = check_proofs(copy.read_bytes(), proofs_path(copy).read_bytes(), sources)
    assert [text.partition(":")[0] for _, text in findings.problems] == ["the proofs were made from other specs"]


def test_a_meaning_that_contradicts_the_proofs_fails_the_check_naming_both(copy, library, monkeypatch):
    squared = """
from taso_opt.spec import load_specs
other = lambda xp, x, y: xp.contract("...mk,...kn->...mn", x, xp.multiply(y, y))
load_specs().operators["MatMul"].evaluate.__code__ = other.__code__
"""
    monkeypatch.setattr(child, "BOOTSTRAP", child.BOOTSTRAP.replace("serve(pipe)", squared + "serve(pipe)"))
    result = check_library(copy, library)
    (failure,) = result.failures
    assert failure.line == 0
    assert failure.problem.startswith("expected proof and evaluation to agree")
    assert "MatMul" in failure.problem and " although " in failure.problem


def test_a_changed_axiom_is_noticed_even_with_fitting_digests(copy, library):
    axiom = library.axioms["matmul_is_associative"]
    other = replace(axiom, law=lambda op, x, y, z: (op.MatMul(op.MatMul(x, y), z), op.MatMul(op.MatMul(x, y), z)))
    changed = replace(library, axioms=MappingProxyType({**library.axioms, axiom.name: other}))
    (problem, *_) = compare_with_specs(proofs_path(copy).read_bytes(), changed).problems
    assert problem.startswith("the proofs state the axiom matmul_is_associative otherwise than the specs")


def test_a_type_that_the_specs_do_not_give_is_noticed(copy, library):
    proofs = records(proofs_path(copy))
    for line in proofs:
        if line.get("operator") == "MatMul":
            line["results"] = ["m, n, p"]
    data = "".join(json.dumps(line) + "\n" for line in proofs).encode()
    problems = compare_with_specs(data, library).problems
    assert len(problems) == sum(line.get("operator") == "MatMul" for line in proofs)
    assert problems[0].startswith("the proofs state that MatMul of")


def test_a_line_is_about_one_thing(copy, library):
    """What one reader takes for an axiom must not be a type for another."""
    proofs = records(proofs_path(copy))
    axiom, kind = (next(line for line in proofs if name in line) for name in ("axiom", "operator"))
    for added in ({**axiom, **kind}, {**kind, "note": 1}, {"note": 1}):
        data = "".join(json.dumps(line) + "\n" for line in (*proofs, added)).encode()
        told = compare_with_specs(data, library).problems
        assert any("the proofs have a line that is none of a proof file" in problem for problem in told)
    seal(copy, records(copy), [*proofs, {**axiom, **kind}])
    findings = check_proofs(copy.read_bytes(), proofs_path(copy).read_bytes(), spec_sources())
    assert not findings.followed and "expected a line about one of axiom, operator, rule" in findings.problems[0][1]


@pytest.mark.parametrize("size", ["h,1", "h ", "1+h", "2 * h", "h*2", "floor((2*h)/(2))"])
def test_sizes_can_be_read_in_one_way_only(copy, library, size):
    line = {"operator": "Transpose", "attributes": {"perm": "(-1, -2)"}, "operands": [f"n, {size}"]}
    proofs = [*records(proofs_path(copy)), {**line, "results": [f"{size}, n"]}]
    data = "".join(json.dumps(one) + "\n" for one in proofs).encode()
    (problem,) = compare_with_specs(data, library).problems
    assert problem.startswith("expected the lines of a proof file, found ValueError")


def test_an_operator_that_is_said_to_commute_is_noticed(copy, library):
    proofs = records(proofs_path(copy))
    proofs[0]["commutative"].append("MatMul")
    data = "".join(json.dumps(line) + "\n" for line in proofs).encode()
    assert (
        "the proofs let the operands of MatMul change places, the specs do not"
        in compare_with_specs(data, library).problems
    )


def test_a_witness_notices_a_meaning_that_changed_on_both_sides_alike(copy, library):
    (rule,) = [
        rule
        for rule in read_rules(copy, library.builder())
        if rule.certificate.axioms[:1] == ("matmul_is_associative",)
    ]
    (entry,) = [line for line in records(proofs_path(copy)) if line.get("rule") == rule.name]
    witness = read_witness(entry["witness"])
    assert replay(library.builder(), rule, witness) is None
    product = library.operators["MatMul"]

    def doubled(xp, x, y):
        value = product.evaluate(xp, x, y)
        return xp.add(value, value)

    changed = {**library.operators, "MatMul": replace(product, evaluate=doubled)}
    other = replace(library, operators=MappingProxyType(changed)).builder()
    assert replay(other, rule, witness).startswith("its witness gives other values")


def test_a_witness_of_other_sizes_is_none(copy, library):
    rule = next(iter(read_rules(copy, library.builder())))
    (entry,) = [line for line in records(proofs_path(copy)) if line.get("rule") == rule.name]
    witness = read_witness(entry["witness"])
    for sizes in (witness.sizes[1:], (*witness.sizes, ("extra", 2))):
        assert replay(library.builder(), rule, replace(witness, sizes=sizes)) == "its witness is for other sizes"


@pytest.mark.parametrize("name", ["Max", "Min"])
def test_the_witness_of_a_maximum_does_not_depend_on_which_operand_is_named_first(library, name):
    """Residues have no order, and the greater of two is one of them plus a positive part."""
    builder = library.builder()
    text = f"{name}(z, Concat(x, y; axis=-1)) = Concat({name}(z, x), {name}(y, z); axis=-1)"
    rule = parse_rule(f"{text} where x[*b, m], y[*b, k], z[]", builder)
    witness = make_witness(builder, rule)
    assert witness is not None
    assert any(witness.values)
    assert replay(builder, rule, witness) is None


def test_a_false_witness_is_noticed_by_the_check(copy, library):
    lines, proofs = records(copy), records(proofs_path(copy))
    for entry in proofs:
        if "witness" in entry:
            entry["witness"]["values"][0] += 1
    seal(copy, lines, proofs)
    problems = [failure.problem for failure in check_library(copy, library).failures]
    assert len([text for text in problems if "its witness gives other values" in text]) == 4


@pytest.mark.parametrize(
    "proofs", [b"", b"{}", b"[]\n", b"\xff\n", b"[" * 100_000, b'{"specs": 1}\n{"rule": 1}\n', b"null\nnull\n"]
)
def test_no_bytes_make_the_checker_fail(copy, library, proofs):
    findings = check_proofs(copy.read_bytes(), proofs, spec_sources())
    assert len(findings.problems) == 1
    assert findings.problems[0][1].startswith("expected the lines of a proof file, found")
    assert findings.followed == frozenset()
    assert len(compare_with_specs(proofs, library).problems) == 1


@pytest.mark.parametrize("key", ["line", "rule"])
def test_an_entry_about_no_rule_does_not_either(copy, key):
    header, *entries = records(proofs_path(copy))
    next(entry for entry in entries if "rule" in entry)[key] = []
    proofs = b"".join(json.dumps(one).encode() + b"\n" for one in (header, *entries))
    findings = check_proofs(copy.read_bytes(), proofs, spec_sources())
    assert findings.problems[0][1].startswith("expected the lines of a proof file, found")


def test_a_witness_at_axes_in_place_of_a_size_is_refused(library):
    builder = library.builder()
    conv = "Conv(x, w; dilations=(1, 1), group=g, pads=(0, 0, 0, 0), strides=(1, 1))"
    rule = parse_rule(f"{conv} = {conv} where x[n, g*c, h, v], w[g*m, c, 1, 1]", builder)
    witness = make_witness(builder, rule)
    assert replay(builder, rule, witness) is None
    odd = replace(witness, sizes=tuple((name, (2,) if name == "g" else size) for name, size in witness.sizes))
    assert replay(builder, rule, odd) == "its witness has axes where a size is expected, or a size for axes"


GATE = "Sigmoid(MatMul(x, y))"
KEPT = f"Mul(Sub(1, {GATE}), z)"


@pytest.mark.parametrize(
    ("target", "kind"), [("Mul(Sigmoid(MatMul(x, Neg(y))), z)", float), (f"Mul(z, Sub(1, {GATE}))", int)]
)
def test_a_witness_is_of_numbers_where_residues_do_not_tell_that_both_sides_are_equal(library, target, kind):
    builder = library.builder()
    rule = parse_rule(f"{KEPT} = {target} where x[m, k], y[k, n], z[m, n]", builder)
    witness = make_witness(builder, rule)
    assert [type(value) for value in witness.values] == [kind]
    assert replay(builder, rule, witness) is None
    false = parse_rule(f"{KEPT} = Mul({GATE}, z) where x[m, k], y[k, n], z[m, n]", builder)
    assert "gives other values" in replay(builder, false, witness)
