"""Rule files and samples of strangers."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import numpy as np
from kinds import BUDGET, kind, save

RULE = {
    "id": "r",
    "rule": "Relu(Relu(x)) = Relu(x) where x[*a]",
    "fp_class": "E1",
    "axioms": [],
    "engine": "",
    "specs": "",
}


@kind(3, "expected a JSON object, found \"__import__('os').system('touch pwned')\" in line 1 of rules.jsonl")
def rules_that_are_no_json(folder: Path) -> list[object]:
    return _rules(folder, b"__import__('os').system('touch pwned')")


@kind(
    3,
    "expected the fields id, rule, fp_class, axioms, engine, specs, found …in line 1 of rules.jsonl",
)
def rules_with_other_fields(folder: Path) -> list[object]:
    return _rules(folder, json.dumps({**RULE, "run": "touch pwned"}).encode())


@kind(3, "expected UTF-8, found byte 0xff in line 1 of {folder}/rules.jsonl")
def rules_that_are_not_text(folder: Path) -> list[object]:
    return _rules(folder, b"\xff\xfe")


@kind(3, "expected at most 40000 bytes a line, found 50000 in line 1 of {folder}/rules.jsonl")
def rules_of_a_line_without_end(folder: Path) -> list[object]:
    return _rules(folder, b" " * 50_000)


@kind(3, "expected a rule file of at most 67108864 bytes, found more in {folder}/rules.jsonl")
def rules_of_a_file_without_end(folder: Path) -> list[object]:
    with (folder / "rules.jsonl").open("wb") as stream:
        stream.truncate(1 << 36)
    return _rules(folder, None)


@kind(3, "expected a rule file, found no regular file: {folder}/rules.jsonl")
def rules_from_a_pipe(folder: Path) -> list[object]:
    os.mkfifo(folder / "rules.jsonl")
    return _rules(folder, None)


@kind(3, "expected a JSON object, found '…' in line 1 of rules.jsonl")
def rules_of_json_nested_too_deep(folder: Path) -> list[object]:
    return _rules(folder, b"[" * 20_000)


@kind(3, "expected at most 64 nested operators, found more in line 1 of rules.jsonl")
def a_rule_nested_too_deep(folder: Path) -> list[object]:
    return _rules(folder, _rule("Relu(" * 99 + "x" + ")" * 99 + " = x where x[n]"))


@kind(3, "expected an operator that specs/ declares, found Exec in 'Exec(x) = x where x[n]' in line 1 of rules.jsonl")
def a_rule_with_an_operator_that_nobody_declares(folder: Path) -> list[object]:
    return _rules(folder, _rule("Exec(x) = x where x[n]"))


@kind(
    3,
    "expected a permutation of the last axes that moves the first of them, found (1, 0) …in line 1 of rules.jsonl",
)
def a_rule_whose_sides_have_different_types(folder: Path) -> list[object]:
    return _rules(folder, _rule("Transpose(x; perm=(1, 0)) = x where x[m, n]"))


@kind(
    3,
    "expected a permutation of the last axes that moves the first of them, found <script> …in line 1 of rules.jsonl",
)
def a_rule_with_an_attribute_of_the_wrong_form(folder: Path) -> list[object]:
    return _rules(folder, _rule('Transpose(x; perm="<script>") = x where x[m, n]'))


@kind(3, "expected a number of at most 100 digits at character 6, found ' 999…' in line 1 of rules.jsonl")
def a_rule_with_a_number_of_thousands_of_digits(folder: Path) -> list[object]:
    return _rules(folder, _rule(f"Mul(x, {'9' * 5000}) = x where x[n]"))


@kind(3, "expected a permutation of the last axes that moves the first of them, found (0, 0, …in line 1 of rules.jsonl")
def a_rule_with_a_rank_that_no_tensor_has(folder: Path) -> list[object]:
    return _rules(folder, _rule(f"Transpose(x; perm=({'0, ' * 3000})) = x where x[m, n]"))


@kind(3, "expected one rule r, found a second in line 2 of rules.jsonl")
def two_rules_of_one_name(folder: Path) -> list[object]:
    return _rules(folder, b"\n".join([json.dumps(RULE).encode()] * 2))


@kind(3, "expected more of the equation at character 15, found '' in line 1 of wrong.rules")
def equations_that_are_cut_off(folder: Path) -> list[object]:
    (folder / "wrong.rules").write_text("Relu(x) = Tanh( where x[*b]\n")
    return ["verify", folder / "wrong.rules"]


@kind(
    3, "expected an .npz file of arrays, found {folder}/x.npz: Object arrays cannot be loaded when allow_pickle=False"
)
def samples_that_would_run_code(folder: Path) -> list[object]:
    np.save(folder / "x.npy", np.array([_Pickled()], object), allow_pickle=True)
    with zipfile.ZipFile(folder / "x.npz", "w") as archive:
        archive.write(folder / "x.npy", "x.npy")
    return _sampled(folder)


@kind(3, "expected at most 8589934592 bytes of arrays, found 17179869176 in {folder}/x.npz")
def samples_that_unpack_without_end(folder: Path) -> list[object]:
    with zipfile.ZipFile(folder / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\x93NUMPY" + bytes(1 << 20))
    packed = bytearray((folder / "x.npz").read_bytes())
    at = packed.rindex(b"PK\x01\x02")
    packed[at + 24 : at + 28] = (2**32 - 2).to_bytes(4, "little")
    with zipfile.ZipFile(folder / "x.npz") as archive:
        count = 1 + (8 << 30) // (2**32 - 2)
    entry, end = packed[at : packed.rindex(b"PK\x05\x06")], packed.rindex(b"PK\x05\x06")
    repeated = b"".join(entry.replace(b"x.npy", b"%c.npy" % (97 + number)) for number in range(count + 1))
    tail = bytearray(packed[end:])
    tail[8:12] = (count + 1).to_bytes(2, "little") * 2
    tail[12:16] = len(repeated).to_bytes(4, "little")
    (folder / "x.npz").write_bytes(packed[:at] + repeated + tail)
    del archive
    return _sampled(folder)


@kind(3, "expected names of inputs (x) in {folder}/x.npz, found '\\x1b[31m'")
def samples_of_an_input_that_there_is_not(folder: Path) -> list[object]:
    np.savez(folder / "x.npz", **{"\x1b[31m": np.zeros(2, np.float32)})
    return _sampled(folder)


@kind(3, "expected float32[2] for input 'x' in {folder}/x.npz, found float32[3, 3]")
def samples_of_another_shape(folder: Path) -> list[object]:
    np.savez(folder / "x.npz", x=np.zeros((3, 3), np.float32))
    return _sampled(folder)


@kind(3, "expected an .npz file of arrays, found {folder}/x.npz: a file of another kind")
def samples_that_are_no_archive(folder: Path) -> list[object]:
    (folder / "x.npz").write_bytes(b"PK\x03\x04 and no more")
    return _sampled(folder)


class _Pickled:
    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("touch pwned",)


def _rule(text: str) -> bytes:
    return json.dumps({**RULE, "rule": text}).encode()


def _rules(folder: Path, content: bytes | None) -> list[object]:
    if content is not None:
        (folder / "rules.jsonl").write_bytes(content + b"\n")
    save(folder)
    return ["optimize", folder / "model.onnx", "--rules", folder / "rules.jsonl", *BUDGET]


def _sampled(folder: Path) -> list[object]:
    save(folder)
    return ["optimize", folder / "model.onnx", "--inputs", folder / "x.npz", *BUDGET]
