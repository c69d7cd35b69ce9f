"""The scripts behind the benchmark pages: their arithmetic and their tables."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import bench
import bench_cost
import bench_generate
import bench_intervals
import bench_openvino
import bench_search
from benchmarks import peers, rule_usage, standings
from taso_opt.api import OptimizeSettings
from taso_opt.errors import TasoError
from taso_opt.report.record import Comparison, MeasuredLatency, MeasuredSpeedup, Record, SearchSummary
from taso_opt.spec.rule_file import read_records


def test_the_rank_correlation_is_spearmans():
    assert bench_cost.rank_correlation([1, 2, 3, 4], [10, 20, 30, 1000]) == pytest.approx(1)
    assert bench_cost.rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert bench_cost.rank_correlation([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]) == pytest.approx(0.8207826817)
    assert bench_cost.rank_correlation([1, 1, 1], [1, 2, 3]) == 0
    assert bench_cost.rank_correlation([1], [1]) == 0


def test_errors_of_rewrites_are_taken_beyond_that_of_the_network():
    points = [bench_cost.Point(8.0, 10.0, ())] + [bench_cost.Point(8.0, 5.0, ("Add",))] * 5
    found = bench_cost.Row("net", tuple(points), 1.02)
    assert found.points[0].error == pytest.approx(-0.2)
    assert found.beyond(found.points[1]) == pytest.approx(1.0)
    assert found.spread == 2.0
    alone = bench_cost.Row("net", tuple(points[:1]), 1.02)
    assert bench_cost.line(alone) == "| net | 8.000 | 10.000 | -20% | 0 |  |  | (0.00) | 1.00 | 1.020 |"
    assert bench_cost.worst_kernels([found]) == ["| Add | 5 | +100.0% |"]


def test_shares_of_the_library_are_parts_of_each_other():
    shares = [set(bench_search.share_of(share)) for share in (0.1, 0.25, 1.0)]
    assert shares[0] < shares[1] < shares[2]
    assert len(shares[0]) == round(0.1 * len(shares[2]))


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_a_share_of_the_library_is_a_library(tmp_path, share):
    path = tmp_path / "rules.jsonl"
    path.write_text("".join(bench_search.share_of(share)), encoding="utf-8")
    assert len(list(read_records(path))) == round(share * len(list(read_records(None))))


USAGES = [
    rule_usage.Usage("first & <last>", {"b": (3, "Relu(Relu(x)) = Relu(x) where x[*b]"), "a": (1, "A(x) = x")}),
    rule_usage.Usage("second", {"b": (100, "Relu(Relu(x)) = Relu(x) where x[*b]")}),
]


def test_the_map_has_a_cell_for_each_model_and_rule_and_darker_means_more():
    order = rule_usage.columns(USAGES)
    assert order == ["b", "a"]
    drawing = ElementTree.fromstring(rule_usage.heat_map(USAGES, order))
    cells = [element for element in drawing if element.find("{*}title") is not None]
    assert len(cells) == 4
    assert cells[0].find("{*}title").text == "first & <last>: rule 1 (b), 3 times"
    brightness = [int(cell.get("fill")[1:3], 16) for cell in cells]
    assert brightness[2] < brightness[0] < brightness[1] < brightness[3] == 0xF2


def test_the_page_of_the_map_says_what_each_column_is(tmp_path):
    rule_usage.write(USAGES, tmp_path / "page.md", tmp_path / "map.svg")
    text = (tmp_path / "page.md").read_text()
    assert "| 1 | `Relu(Relu(x)) = Relu(x)` (b) | 2 | 103 |" in text
    assert "(map.svg)" in text and (tmp_path / "map.svg").is_file()


def comparison(ratio, low, high, noise=1.01):
    latency, speedup = (
        MeasuredLatency(2.0, 0.1, 2.0, 2.0),
        MeasuredSpeedup(ratio, low, high, 1.0, 1 / noise, noise, 1.0),
    )
    return Comparison("a", "b", True, (), 0.0, 0.0, "cpu", latency, latency, speedup, ())


def test_a_result_for_another_runtime_is_a_speed_up_or_a_word():
    row = bench_openvino.Row("net", comparison(0.66, 0.64, 0.68), "unchanged")
    assert bench_openvino.line(row) == "| net | 2.000 | 0.660 (0.640 to 0.680) | unchanged |"
    assert bench_openvino.line(bench_openvino.Row("net", "no", "unchanged")) == "| net |  | no | unchanged |"


def test_only_what_is_beyond_the_noise_counts_as_faster_or_slower():
    found = [comparison(1.5, 1.4, 1.6), comparison(1.005, 1.004, 1.006), comparison(0.7, 0.6, 0.8), "unchanged"]
    assert bench_openvino.counts(found) == "3 were rewritten, 1 of them are faster in OpenVINO and 1 slower"


def benched(result, ratio):
    """A row of the benchmarks, of a model that could not be optimized where there is no result."""
    if result is None:
        return bench.Row("net", "network", None, "no such operator", 1.0)
    search, speedup = (
        SearchSummary(2.0, 1.0, 1, 1, 1.0, 1, 0.5, "patience"),
        MeasuredSpeedup(ratio, 0.9, 9.0, 1, 1, 1, 1),
    )
    record = Record(
        result, "", "a", "b", {"Add": 2}, {"Add": 1}, (), search, {}, {}, speedup=speedup, max_rel_error=0.0
    )
    return bench.Row("net", "network", record, "", 1.0)


def test_the_benchmarks_say_how_many_models_became_faster_and_by_how_much():
    rows = [benched("improved", 2.0), benched("improved", 8.0), benched("unchanged", 1.1)]
    assert bench.summary(rows) == ("Of 3 models 2 became faster, by 4.00 in the geometric mean; 1 came back unchanged.")
    assert bench.summary([benched(None, 0.0)]) == (
        "Of 1 models 0 became faster; 0 came back unchanged. 1 could not be optimized."
    )


def test_what_cannot_be_timed_at_another_number_of_threads_has_no_figure_there(monkeypatch, tmp_path):
    def fails(*_):
        raise TasoError("no time")

    monkeypatch.chdir(tmp_path)  # where records say that outputs are
    monkeypatch.setattr(bench, "optimize_file", written(b"same"))
    monkeypatch.setattr(bench, "compare_files", fails)
    found = bench.measure("net", "network", tmp_path / "net.onnx", OptimizeSettings())
    assert (found.record.speedup.ratio, found.beside, found.again) == (2.0, None, "0")


def written(*contents):
    """What stands in for optimize_file, and writes these contents one after the other, the last one ever again."""
    left = list(contents)

    def optimize_file(path, settings, *_):
        record = benched("improved", 2.0).record
        output = Path(settings.output or record.output)
        output.write_bytes(left.pop(0) if len(left) > 1 else left[0])
        return replace(record, output=str(output))

    return optimize_file


def test_a_second_run_that_writes_another_file_is_told(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "optimize_file", written(b"first", b"second"))
    compared = []
    monkeypatch.setattr(bench, "comparison", lambda record, _: compared.append(Path(record.output).read_bytes()))
    found = bench.measure("net", "network", tmp_path / "net.onnx", OptimizeSettings())
    assert found.again == "0, another file" and set(compared) == {b"first"}
    assert bench.line(found).endswith(" 0, another file |")


@pytest.mark.parametrize("script", [bench, bench_cost, bench_openvino, bench_intervals])
def test_names_that_no_model_has_are_refused(script, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "missing", list)  # as if all other tools were installed
    found = CliRunner().invoke(script.main, ["towers", "nosuch", "--output", str(tmp_path / "page.md")])
    assert found.exit_code == 2
    assert "expected names of networks or models, found nosuch" in found.output


def test_the_benchmarks_say_which_other_tools_are_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "versions", lambda: {"onnxscript": "1", "transformers": "2"})
    found = CliRunner().invoke(bench.main, ["towers", "--output", str(tmp_path / "page.md")])
    assert found.exit_code == 2
    assert "found no onnxsim, onnxslim: install them by `pip install -e '.[bench]'`" in " ".join(found.output.split())
    assert not (tmp_path / "page.md").exists()


@pytest.mark.parametrize(("options", "measured"), [((), True), (("--no-peers",), False)])
def test_other_tools_are_measured_unless_they_are_left_out(options, measured, tmp_path, monkeypatch):
    beside = standings.Standing(standings.Figure(1.0, 0.99, 1.01), dict.fromkeys(standings.TOOLS, standings.UNCHANGED))
    monkeypatch.setattr(bench, "missing", list)
    monkeypatch.setattr(bench, "measure", lambda *_: benched("improved", 2.0))
    monkeypatch.setattr(bench, "side_by_side", lambda *_: beside)
    page = tmp_path / "page.md"
    found = CliRunner().invoke(bench.main, ["towers", *options, "--output", str(page)])
    assert found.exit_code == 0, found.output
    assert ("\n| model | tasoopt | onnxsim |" in page.read_text()) == measured
    assert ("\n| net | unchanged | unchanged |" in page.read_text()) == measured
    assert "\n| net | network | 2 to 1 | improved |" in page.read_text()


def test_a_model_that_cannot_be_timed_beside_other_tools_keeps_its_own_row(monkeypatch, tmp_path, capsys):
    def fails(*_):
        raise TasoError("no memory")

    monkeypatch.setattr(bench, "side_by_side", fails)
    row = benched("improved", 2.0)
    assert bench.beside_peers(row, tmp_path / "net.onnx", OptimizeSettings()) is None
    assert capsys.readouterr().err == "net: not timed beside other tools, no memory\n"


def test_repetitions_are_counted_against_intervals():
    found = [MeasuredSpeedup(ratio, ratio - 0.1, ratio + 0.1, 1, 1, 1, 1) for ratio in (1.0, 1.05, 1.3)]
    row = bench_intervals.Row("net", tuple(found))
    assert (row.median, row.holding, row.repeated) == (1.05, 2, pytest.approx(2 / 6))
    assert bench_intervals.line(row) == "| net | 1.050 | 1.000 | 1.300 | 0.200 | 2 of 3 | 33% |"


def test_growth_is_that_between_neighbouring_sizes():
    rows = {f"full-{size}": {"cpu_seconds": 10.0**size} for size in (1, 3)}
    assert "full-3" not in "".join(bench_generate.extrapolated(rows))
    rows["full-2"] = {"cpu_seconds": 500.0}
    assert "| full-3 | 2.0 | 0.6 | 0.03 |" in bench_generate.extrapolated(rows)


def test_a_row_shows_what_the_result_gains_at_another_number_of_threads():
    found = replace(benched("improved", 2.0), beside=MeasuredSpeedup(1.7, 1.6, 1.8, 1, 1, 1, 1))
    heads, cells = (
        [cell.strip() for cell in text.split("|")] for text in (bench.HEADER.splitlines()[0], bench.line(found))
    )
    assert dict(zip(heads, cells, strict=True))["at 2 threads"] == "1.700 (1.600 to 1.800)"
    assert bench.line(benched(None, 0.0)).count("|") == bench.line(found).count("|") == bench.HEADER.count("|") / 2


def test_the_page_of_benchmarks_has_a_row_for_each_model(tmp_path):
    bench.write([benched("improved", 2.0), benched(None, 0.0)], tmp_path / "page.md", threads=1, budget=None)
    *_, improved, failed = (tmp_path / "page.md").read_text().splitlines()
    assert improved.startswith("| net | network | 2 to 1 | improved | 2.000 (0.900 to 9.000) |")
    assert failed.startswith("| net | network | | error: no such operator |")
