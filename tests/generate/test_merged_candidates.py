"""What works along one axis works alike where the axes around it are merged, and nowhere else."""

import pytest

from taso_opt.generate.schemes.merged import FORMS, discover_merged

MEAN = "ReduceMean(x; axes=(-3,)) = Reshape(ReduceMean(Reshape(x; shape=(c, h*w)); axes=(-2,)); shape=(1, 1, h, w))"
SHARES = "Softmax(x; axis=-3) = Reshape(Softmax(Reshape(x; shape=(n, c, h*w)); axis=-2); shape=(n, c, h, w))"


@pytest.fixture(scope="module")
def candidates(library):
    return discover_merged(library, 0, frozenset(library.operators))


def test_an_axis_before_goes_where_it_has_one_element_and_those_behind_are_one(candidates, covers):
    assert covers(candidates, f"{MEAN} where x[1, c, h, w]")
    assert covers(candidates, f"{MEAN.replace('ReduceMean', 'ReduceMax')} where x[1, c, h, w]")


def test_an_axis_of_several_stays_before_what_keeps_its_elements(candidates, covers):
    assert covers(candidates, f"{SHARES} where x[n, c, h, w]")


def test_rows_are_the_columns_of_what_is_transposed(candidates, covers):
    turned = "Transpose(LogSoftmax(Transpose(x; perm=(-1, -2)); axis=-1); perm=(-1, -2))"
    assert covers(candidates, f"LogSoftmax(x; axis=-2) = {turned} where x[*b, m, k]")


def test_all_are_proved(candidates, proved):
    assert len(candidates) > len(FORMS)
    assert proved(candidates)


def test_along_another_axis_they_are_refuted(refuted):
    wrong = f"{SHARES.replace('axis=-2', 'axis=-1')} where x[n, c, h, w]"
    assert refuted(wrong)


def test_only_the_named_operators_are_tried(library):
    assert discover_merged(library, 0, frozenset({"Softmax", "ReduceMean"})) == ()
    assert len(discover_merged(library, 0, frozenset({"Reshape", "ReduceMean"}))) == 3
