"""Plots put figures where they belong."""

from dataclasses import replace

from documentation.sample_reports import SAMPLES, improved, place, progress
from taso_opt.report.plots import LEFT, RIGHT, WIDTH, heat_map, latency_plot, progress_plot, ratio_plot


def test_latencies_share_one_axis_that_begins_at_zero():
    plot = latency_plot(improved())
    before, after = plot.rows
    assert plot.ticks[0].label.startswith("0") and plot.ticks[0].at == LEFT
    assert abs((before.middle - LEFT) / (after.middle - LEFT) - 2.447 / 1.698) < 1e-9
    assert before.high == WIDTH - RIGHT


def test_ratios_show_where_one_is():
    plot = ratio_plot(improved())
    speedup, control = plot.rows
    assert control.low < plot.unity < control.high < speedup.low < speedup.high < WIDTH


def test_ticks_are_round_and_inside():
    labels = [tick.label for tick in ratio_plot(improved()).ticks]
    assert labels == ["1.0", "1.2", "1.4", "1.6"]


def test_without_a_measurement_there_is_no_plot():
    record = SAMPLES["unchanged"]()
    assert latency_plot(record) is ratio_plot(record) is progress_plot(record.search.progress) is None


def test_the_staircase_ends_where_the_search_ended():
    plot = progress_plot(progress())
    assert plot.points[-1][0] == WIDTH - RIGHT
    assert plot.points[0][1] < plot.points[-1][1] == plot.points[-2][1]
    assert plot.points[1][2] == "1.800 ms after 4 graphs, 0.5 s"


def test_a_cost_that_is_not_finite_gives_no_plot():
    first, *rest = progress()
    assert progress_plot((replace(first, best_ms=float("inf")), *rest)) is None


def test_the_heat_of_a_rule_is_relative_to_the_most_used():
    places = [place(at, at % 2, position=0.99 if at < 6 else 0.0) for at in range(1, 8)]
    heat = heat_map(places)
    assert heat[f"{0:012x}"].counts[-1] == 2 and heat[f"{1:012x}"].counts[-1] == 3
    assert heat[f"{0:012x}"].shades[-1] == 2 / 3 and heat[f"{1:012x}"].shades[0] == 1 / 3
