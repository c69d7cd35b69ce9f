"""Which rules are about layouts, and the page that compares searches with and without them."""

import json

import pytest

import bench_layouts
from bench_layouts import IN_TURN, JOINTLY, LAYOUTS, OTHERS, Result, Row
from benchmarks.rule_parts import is_layout_rule
from taso_opt.report.record import MeasuredSpeedup
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.text import parse_rule

SWAP = "perm=(-1, -2)"
ABOUT_LAYOUTS = (
    f"Transpose(Transpose(x; {SWAP}); {SWAP}) = x where x[*b, m, n]",
    f"Transpose(MatMul(x, y); {SWAP}) = MatMul(Transpose(y; {SWAP}), Transpose(x; {SWAP})) "
    "where x[*b, m, k], y[*b, k, n]",
    f"Relu(Transpose(x; {SWAP})) = Transpose(Relu(x); {SWAP}) where x[*b, m, n]",
    "Concat(Split(x; axis=-2, sizes=(n, p))[0], Split(x; axis=-2, sizes=(n, p))[1]; axis=-2) = x where x[*b, n+p, m]",
)
OTHER = (
    "Relu(Relu(x)) = Relu(x) where x[*a]",
    "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[*b, k, n], z[*b, n, p]",
    "Concat(Relu(x), Relu(y); axis=-2) = Relu(Concat(x, y; axis=-2)) where x[*b, m, k], y[*b, n, k]",
    "Relu(Slice(x; axis=-1, sizes=(0, n, p))) = Slice(Relu(x); axis=-1, sizes=(0, n, p)) where x[*b, m, n+p]",
    f"Transpose(Relu(Relu(x)); {SWAP}) = Relu(Transpose(x; {SWAP})) where x[*b, m, n]",
    "Max(0, x) = Relu(x) where x[*a]",
)


@pytest.mark.parametrize("text", ABOUT_LAYOUTS)
def test_rules_that_only_move_data_are_about_layouts_in_both_directions(text):
    op = load_specs().builder()
    rule = parse_rule(text, op)
    assert is_layout_rule(rule, op)
    assert is_layout_rule(rule.reversed(), op)


@pytest.mark.parametrize("text", OTHER)
def test_rules_that_compute_otherwise_or_move_nothing_are_not(text):
    op = load_specs().builder()
    rule = parse_rule(text, op)
    assert not is_layout_rule(rule, op)
    assert not is_layout_rule(rule.reversed(), op)


def test_the_parts_of_a_library_are_its_lines_in_two_files(tmp_path):
    fields = {"fp_class": "E2", "axioms": [], "engine": "", "specs": ""}
    rules = (OTHER[0], ABOUT_LAYOUTS[0], ABOUT_LAYOUTS[1], OTHER[1])
    lines = [json.dumps({"id": str(number), "rule": rule, **fields}) + "\n" for number, rule in enumerate(rules)]
    library = tmp_path / "library.jsonl"
    library.write_text("".join(lines))
    parts = bench_layouts.parted(library, tmp_path)
    assert parts.layouts.read_text() == lines[1] + lines[2]
    assert parts.others.read_text() == lines[0] + lines[3]
    assert parts.counts == (2, 2)
    assert [rule.name for rule in read_rules(parts.layouts, load_specs().builder())] == ["1", "2"]


def result(ratio, spread=0.01, predicted=1.5):
    measured = None if ratio is None else MeasuredSpeedup(ratio, ratio - spread, ratio + spread, 1, 1, 1, ratio)
    return Result(measured, predicted, 1.0)


def row(layouts, others, in_turn, jointly):
    ratios = {LAYOUTS: layouts, OTHERS: others, IN_TURN: in_turn, JOINTLY: jointly}
    return Row("net", 9, {name: result(ratio) for name, ratio in ratios.items()})


@pytest.mark.parametrize(
    ("ratios", "ahead"),
    [
        ((1.0, 1.1, 1.2, 1.5), "1.250"),
        ((None, 1.2, 1.2, 1.205), "(1.004)"),
        ((None, None, None, 1.3), "1.300"),
        ((None, None, None, None), "(1.000)"),
        ((1.5, None, 1.5, 1.2), "0.800"),
    ],
)
def test_jointly_is_compared_with_the_best_of_the_others_and_noise_stands_in_brackets(ratios, ahead):
    assert row(*ratios).ahead == ahead


def test_a_row_has_the_measured_speed_up_of_each_strategy():
    cells = [cell.strip() for cell in bench_layouts.line(row(None, 1.1, 1.2, 1.5)).split("|")]
    assert cells[1:5] == ["net", "9", "unchanged", "1.100 (1.090 to 1.110)"]
    assert cells[6:9] == ["1.500 (1.490 to 1.510)", "1.250", "1.50, 1.50, 1.50, 1.50"]
