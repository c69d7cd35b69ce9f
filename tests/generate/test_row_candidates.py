"""What is computed row by row passes another shape that keeps the rows whole, and nothing else passes."""

import pytest

from taso_opt.generate.schemes.rows import discover_rows


@pytest.fixture(scope="module")
def candidates(library):
    return discover_rows(library, 0, frozenset(library.operators))


def row_by_row(name, others="", where="", attributes=""):
    inner = f"{name}(x{others}{attributes})"
    behind = f"{name}(Reshape(x; shape=(*s, m)){others}{attributes})"
    return f"{behind} = Reshape({inner}; shape=(*s, m)) where x[*b, m]{where}"


@pytest.mark.parametrize(
    "law",
    [
        row_by_row("LayerNormalization", ", y", ", y[]"),
        row_by_row("LayerNormalization", ", y, z", ", y[], z[m]"),
        row_by_row("LayerNormalization", ", y, z, w", ", y[], z[m], w[m]"),
        row_by_row("RMSNormalization", ", y", ", y[]"),
        row_by_row("RMSNormalization", ", y, z", ", y[], z[m]"),
        row_by_row("Softmax", attributes="; axis=-1"),
        row_by_row("LogSoftmax", attributes="; axis=-1"),
    ],
)
def test_what_is_computed_row_by_row_passes(candidates, covers, law):
    assert covers(candidates, law)


@pytest.mark.parametrize(
    "law",
    [
        "Add(Reshape(x; shape=(*s,)), y) = Reshape(Add(x, Reshape(y; shape=(*b,))); shape=(*s,))",
        "Mul(Reshape(x; shape=(*s,)), y) = Reshape(Mul(x, Reshape(y; shape=(*b,))); shape=(*s,))",
        "Sub(Reshape(x; shape=(*s,)), y) = Reshape(Sub(x, Reshape(y; shape=(*b,))); shape=(*s,))",
        "Sub(y, Reshape(x; shape=(*s,))) = Reshape(Sub(Reshape(y; shape=(*b,)), x); shape=(*s,))",
    ],
)
def test_either_operand_may_be_laid_out_as_the_other_is(candidates, covers, law):
    assert covers(candidates, f"{law} where x[*b], y[*s]")


def test_all_are_proved(candidates, proved):
    assert proved(candidates)
    assert len(candidates) == 7 + 4


@pytest.mark.parametrize(
    "text",
    [
        "Softmax(Reshape(x; shape=(m, k)); axis=-1) = Reshape(Softmax(x; axis=-1); shape=(m, k)) where x[k, m]",
        "LayerNormalization(Reshape(x; shape=(m, k)), y) = Reshape(LayerNormalization(x, y); shape=(m, k)) "
        "where x[k, m], y[]",
        "Add(Reshape(x; shape=(m, k)), y) = Reshape(Add(x, Transpose(y; perm=(-1, -2))); shape=(m, k)) "
        "where x[k, m], y[m, k]",
    ],
)
def test_shapes_that_break_rows_up_are_refuted(refuted, text):
    assert refuted(text)


def test_only_the_named_operators_are_tried(library):
    assert len(discover_rows(library, 0, frozenset({"Softmax", "Reshape"}))) == 1
    assert discover_rows(library, 0, frozenset({"Softmax", "Add"})) == ()
