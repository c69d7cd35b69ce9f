"""Who is ahead on a model, and the tables that say so."""

import pytest

from benchmarks import standings
from benchmarks.standings import FAILS, OURS, UNCHANGED, WRONG, Figure, Standing

CONTROL = Figure(1.0, 0.99, 1.01)


def standing(ours, control=CONTROL, **others):
    figures = {tool: figure if isinstance(figure, Figure) else Figure(*figure) for tool, figure in others.items()}
    ours = ours if isinstance(ours, Figure) else Figure(*ours)
    return Standing(control, {**dict.fromkeys(standings.TOOLS, FAILS), **figures, OURS: ours})


@pytest.mark.parametrize(
    ("ours", "theirs", "place"),
    [
        ((1.5, 1.45, 1.55), (1.1, 1.05, 1.15), "ahead"),
        ((1.0, 0.99, 1.01), (1.3, 1.25, 1.35), "behind"),
        ((1.3, 1.295, 1.305), (1.28, 1.275, 1.285), "level"),
        ((1.3, 1.1, 1.5), (1.2, 1.0, 1.4), "level"),
        (UNCHANGED, (1.1, 1.05, 1.15), "behind"),
        (UNCHANGED, (1.1, 0.98, 1.22), "level"),
        (UNCHANGED, UNCHANGED, "level"),
        (UNCHANGED, FAILS, "level"),
        ((1.5, 1.45, 1.55), FAILS, "ahead"),
        (WRONG, FAILS, "behind"),
    ],
)
def test_ahead_and_behind_need_more_than_the_noise(ours, theirs, place):
    assert standing(ours, onnxsim=theirs, onnxslim=WRONG).place == place


def test_the_noise_is_that_of_the_control_and_two_percent_at_least():
    assert standing(UNCHANGED).noise == pytest.approx(1.02)
    assert standing(UNCHANGED, Figure(1.0, 0.8, 1.1)).noise == pytest.approx(1.25)
    narrow = (1.2, 1.19, 1.21), (1.0, 0.99, 1.01)
    assert standing(narrow[0], onnxsim=narrow[1]).place == "ahead"
    assert standing(narrow[0], Figure(1.0, 0.8, 1.1), onnxsim=narrow[1]).place == "level"


def test_the_best_of_the_others_is_the_fastest_that_is_right():
    found = standing((2.0, 1.9, 2.1), onnxsim=(1.1, 1.0, 1.2), onnxslim=WRONG, onnxscript=(1.05, 1.0, 1.1))
    assert found.best_of_others.ratio == 1.1
    assert standing((2.0, 1.9, 2.1)).best_of_others == UNCHANGED


def test_the_fastest_results_are_bold_and_others_are_words():
    found = standing((1.5, 1.4, 1.6), onnxsim=(1.49, 1.4, 1.6), onnxslim=(1.0, 0.9, 1.1), onnxscript=WRONG)
    assert standings.line("net", found) == (
        "| net | **1.500** | **1.490** | 1.000 | wrong | fails | 0.990 to 1.010 | level |"
    )
    noisy = standing((1.1, 1.01, 1.2), Figure(1.0, 0.85, 1.05), onnxsim=UNCHANGED)
    assert (
        standings.line("net", noisy) == "| net | 1.100 | unchanged | fails | fails | fails | 0.850 to 1.050 | level |"
    )


def test_tools_are_counted_by_what_they_gain_beyond_the_noise():
    found = (
        standing((1.5, 1.4, 1.6), onnxsim=(0.8, 0.7, 0.9), onnxslim=WRONG),
        standing((6.0, 5.0, 7.0), onnxsim=(1.25, 0.9, 1.6)),
    )
    lines = [standings.tool_line(tool, found) for tool in standings.TOOLS]
    assert lines[:3] == [
        "| tasoopt | 2 | 0 | 0 | 0 | 3.000 |",
        "| onnxsim | 0 | 1 | 0 | 0 | 1.000 |",
        "| onnxslim | 0 | 0 | 1 | 1 |  |",
    ]


def test_the_part_of_the_page_says_on_which_models_others_are_ahead():
    ahead = standing((1.5, 1.4, 1.6), onnxsim=UNCHANGED)
    lines = standings.section({"net": ahead, "other": standing(UNCHANGED, onnxsim=(1.3, 1.25, 1.35))})
    assert lines[0] == (
        "Beside the best of four other tools this one is ahead on 1 of 2 models, level on 0 and behind on other."
    )
    assert standings.section({"net": ahead})[0].endswith("ahead on 1 of 1 models, level on 0 and behind on none.")
    heads, _, *rows = lines[-5:-1]
    assert heads == ("| model | tasoopt | onnxsim | onnxslim | onnxscript | transformers | A/A control | we are |")
    assert [row.split()[1] for row in rows] == ["net", "other"]
    assert "{" not in "".join(lines)
    assert standings.section({}) == []
