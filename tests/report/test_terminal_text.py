"""What a terminal says of a run and of a comparison, at 80 columns."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from documentation.sample_reports import SAMPLES, improved
from taso_opt.report.record import Comparison, MeasuredSpeedup
from taso_opt.report.text import comparison_lines, print_report


def said(record, width=80):
    out = io.StringIO()
    print_report(record, Console(file=out, width=width, highlight=False))
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("improved", "1.47x faster: wrote model.opt.onnx in 11 s"),
        ("unchanged", "unchanged: no rewriting is predicted to be faster by more than 1%;"),
        ("not_ahead", "unchanged: the best rewriting is not ahead of the original by more than the"),
        ("mismatch", "a check failed, nothing written: candidate 1 does not compute what the model"),
        ("dry_run", "dry run, nothing written: predicted 2.500 ms before, 1.500 ms after"),
    ],
)
def test_the_verdict_comes_last(name, verdict):
    lines = said(SAMPLES[name]())
    assert verdict in lines
    assert lines.index(verdict) >= len(lines) - 2


def test_the_figures_of_a_candidate_that_did_not_win_are_not_called_after():
    text = "\n".join(said(SAMPLES["not_ahead"]()))
    assert "best candidate" in text
    assert "after" not in text


def test_a_timing_of_an_earlier_run_says_when_it_was():
    assert not any("as of" in line for line in said(improved()))
    earlier = replace(improved().speedup_free_threads, measured_at="2026-11-28T08:00:00+00:00")
    (line,) = (line for line in said(replace(improved(), speedup_free_threads=earlier)) if "as of" in line)
    assert line.split() == ["as", "of", "2026-11-28"]


def test_five_hundred_steps_of_fifty_rules_fit_two_screens():
    lines = said(SAMPLES["crowded"]())
    assert max(map(len, lines)) <= 80
    assert len(lines) < 50
    assert any(line.split() == ["and", "38", "more", "(--json", "lists", "them)", "380"] for line in lines)


def test_a_wide_terminal_needs_fewer_lines():
    long = replace(improved().rules[0], text=f"{'Relu(' * 12}x{')' * 12} = Relu(x) where x[*b]")
    record = replace(improved(), rules=(long,))
    assert len(said(record, 120)) < len(said(record, 80))


def compared(ratio, low, high, control=(0.98, 1.02), agrees=True):
    record = improved()
    speedup = MeasuredSpeedup(ratio, low, high, 1.0, *control, ratio)
    return Comparison(
        "a.onnx", "b.onnx", agrees, (), 0.0, 0.0, "cpu", record.latency_before, record.latency_after, speedup, ()
    )


@pytest.mark.parametrize(
    ("comparison", "faster", "verdict"),
    [
        (compared(1.5, 1.4, 1.6), "second", "same; the second is faster, 1.50x"),
        (compared(0.5, 0.4, 0.6), "first", "same; the first is faster, 2.00x"),
        (compared(1.03, 0.99, 1.07), None, "same; neither is faster by more than the noise"),
        (compared(1.03, 1.01, 1.05, control=(0.9, 1.01)), None, "same; neither is faster by more than the noise"),
        (compared(1.5, 1.4, 1.6, agrees=False), "second", "not the same; the second is faster, 1.50x"),
    ],
)
def test_a_comparison_answers_both_questions_in_its_last_line(comparison, faster, verdict):
    assert comparison.faster == comparison.document()["faster"] == faster
    assert comparison_lines(comparison)[-1] == verdict


def test_a_result_in_memory_was_not_written_anywhere():
    told = "\n".join(said(replace(improved(), output=None)))
    assert "1.47x faster in 11 s" in told and "None" not in told
