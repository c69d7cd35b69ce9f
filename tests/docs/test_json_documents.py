"""The tables of docs/json.md name the fields of every document that a command prints, and no others."""

import json
import re

import onnx
import onnx.parser
import pytest

from documentation.pages import ROOT
from taso_opt.cli import main
from taso_opt.spec import load_specs
from taso_opt.verify.index_functions import axioms
from taso_opt.verify.verdict import Unknown

PAGE = ROOT / "docs" / "json.md"
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S))
HEAD = {"schema_version", "command"}
MODEL = '<ir_version: 8, opset_import: ["": 17]> g (float[2, 8] x) => (float[2, 8] y) { a = Relu(x) y = Relu(a) }'
TRUE = "Relu(Relu(x)) = Relu(x) where x[*a]"
FALSE = "Relu(Add(x, y)) = Add(Relu(x), Relu(y)) where x[*a], y[*a]"
OPEN = "Relu(Mul(x, x)) = Mul(x, x) where x[*a]"
THRICE = "Relu(Relu(Relu(x))) = Relu(x) where x[*a]"
CONDITIONAL = "Relu(Mul(x, s)) = Mul(Relu(x), s) where s[*any_s], x[*any_x]"
LAWS = ("relu_is_idempotent", "averagepool_of_add")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.setenv("TASOOPT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def printed(capsys):
    """Run a command; gives the document that it prints."""

    def call(*words):
        main(list(words))
        return json.loads(capsys.readouterr().out)

    return call


def in_page(section):
    rows = re.findall(r"^\| (`.+?) \|", SECTIONS[section], re.M)
    return {field for row in rows for field in re.findall(r"`(.+?)`", row)}


def fields(value, path=""):
    """The paths of all parts of a document that are not made of parts; those of an empty list or object too."""
    if isinstance(value, dict) and value:
        return {one for name, part in value.items() for one in fields(part, f"{path}.{name}".lstrip("."))}
    if isinstance(value, list):
        return {one for part in value for one in fields(part, f"{path}[]")} or {f"{path}[]"}
    return {path}


def require_told(section, *documents):
    """Each field is told, or within one that is told as a whole, or it is empty here; each that is told occurs."""
    told, found = in_page(section), set().union(*map(fields, documents)) - HEAD
    whole = {one for one in told if not any(within(other, one) for other in told)}
    covered = {one for one in found if one in whole or any(within(one, name) for name in whole)}
    assert {one for one in found - covered if not any(within(name, one) for name in told)} == set()
    assert {one for one in told if not any(one == name or within(name, one) for name in found)} == set()
    assert all(document["schema_version"] == 1 for document in documents)
    assert {document["command"] for document in documents} <= {section, section.partition(" ")[0]}


def within(field, other):
    return field.startswith((f"{other}.", f"{other}["))


def test_fields_of_compare_are_told(printed, tmp_path):
    for name, text in (("a.onnx", MODEL), ("b.onnx", MODEL.replace("y = Relu", "y = Neg"))):
        onnx.save(onnx.parser.parse_model(text), tmp_path / name)
    different = printed("compare", "a.onnx", "b.onnx", "--rounds", "3", "--json")
    assert not different["agrees"] and different["reasons"]
    require_told("compare", different, printed("compare", "a.onnx", "a.onnx", "--rounds", "3", "--json"))


def test_fields_of_explain_are_told(printed, tmp_path):
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "a.onnx")
    document = printed("explain", "a.onnx", "--at", "y", "--json")
    require_told("explain", document)
    verdicts = re.search(r"considered\[\]\.verdict` \| (.+) \|", SECTIONS["explain"])[1]
    assert {one["verdict"] for one in document["considered"]} <= set(re.findall(r"`(\w+)`", verdicts))


def test_fields_of_verify_are_told(printed, tmp_path):
    (tmp_path / "first.rules").write_text(f"{TRUE}\n")
    (tmp_path / "more.rules").write_text("\n".join([THRICE, CONDITIONAL, FALSE, OPEN]))
    first = printed("verify", "first.rules", "-o", "first.jsonl", "--jobs", "1", "--json")
    more = printed("verify", "more.rules", "--given", "first.jsonl", "-o", "b.jsonl", "--jobs", "1", "--json")
    assert more["following"] and all(more["summary"].values())
    require_told("verify", first, more)


def test_fields_of_a_check_are_told(printed, tmp_path):
    (tmp_path / "a.rules").write_text(f"{TRUE}\n")
    printed("verify", "a.rules", "-o", "a.jsonl", "--jobs", "1", "--json")
    library = tmp_path / "a.jsonl"
    library.write_text(library.read_text().replace('"fp_class": "E1"', '"fp_class": "E0"'))
    document = printed("verify", "--check", "a.jsonl", "--jobs", "1", "--json")
    assert document["failures"]
    require_told("verify --check", document)


def test_fields_of_axioms_are_told(printed, monkeypatch):
    answers = [*axioms.prove_axioms(load_specs(), LAWS), ("a_false_law", Unknown("the sides differ"))]
    monkeypatch.setattr(axioms, "prove_axioms", lambda library: answers)
    document = printed("verify", "--axioms", "--json")
    assert document["summary"]["proved"] and document["summary"]["unproved"]
    require_told("verify --axioms", document)


def test_fields_of_exported_costs_are_told(printed, tmp_path):
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "a.onnx")
    printed("explain", "a.onnx", "--at", "y", "--json")
    document = printed("cost", "export")
    assert document["costs"]
    require_told("cost export", document)


def test_fields_of_doctor_are_told(printed, tmp_path, monkeypatch):
    monkeypatch.setenv("TASOOPT_CACHE", str(tmp_path / "a.file" / "cache"))
    (tmp_path / "a.file").touch()
    document = printed("doctor", "--json")
    assert document["problems"]
    require_told("doctor", document)
