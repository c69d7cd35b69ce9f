"""A model whose samples were far apart is timed once more, and the steadier of both times counts."""

import pytest

from taso_opt.cost.measuring.steady import measure_steadily
from taso_opt.runtime import Failed, MeasureItem, MeasurePlan, RunSettings, Timing

CANARY = MeasureItem("canary", b"")


class Answers:
    """Stands in for a process that gives prepared answers, one after the other for each model."""

    def __init__(self, **answers):
        self.answers, self.asked = {key: list(several) for key, several in answers.items()}, []

    def request(self, message, timeout_s):
        self.asked.append(sorted(item.key for item in message.items))
        return {item.key: self.answers[item.key].pop(0) for item in message.items}


def timing(median_s, spread_s):
    return Timing(median_s, spread_s, 6, median_s, 1e-3)


def measured(process):
    items = [MeasureItem(key, b"") for key in process.answers]
    return measure_steadily(process, items, RunSettings(), MeasurePlan(), CANARY)


def test_what_was_disturbed_is_timed_once_more():
    steady, disturbed, calm = timing(2e-3, 1e-4), timing(1e-3, 4e-4), timing(1.4e-3, 1e-5)
    process = Answers(steady=[steady], disturbed=[disturbed, calm])
    assert measured(process) == {"steady": steady, "disturbed": calm}
    assert process.asked == [["disturbed", "steady"], ["disturbed"]]


@pytest.mark.parametrize("second", [timing(3e-3, 3e-3), Failed("gone")])
def test_the_first_time_counts_where_the_second_is_no_steadier(second):
    first = timing(1e-3, 4e-4)
    assert measured(Answers(disturbed=[first, second])) == {"disturbed": first}


def test_what_fails_or_takes_no_time_is_not_asked_for_again():
    process = Answers(failing=[Failed("never")], empty=[timing(0.0, 0.0)])
    assert measured(process) == {"failing": Failed("never"), "empty": timing(0.0, 0.0)}
    assert len(process.asked) == 1
