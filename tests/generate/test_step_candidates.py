"""Steps that are taken out of a tensor and joined as rows are rows of it, in their order."""

import pytest

from taso_opt.generate.schemes.steps import COUNTS, discover_steps


def stacked(order="x, y"):
    """Two stacks of matrices as rows of one."""
    joined = f"Reshape(Concat({order}; axis=-3); shape=(p*q+r*q, k))"
    source = "Concat(Reshape(x; shape=(p*q, k)), Reshape(y; shape=(r*q, k)); axis=-2)"
    return f"{source} = {joined} where x[p, q, k], y[r, q, k]"


def beside(order=(0, 1, 2)):
    """Three steps that lie side by side in each row."""
    split = "Split(x; axis=-1, sizes=(n, n, n))"
    parts = ", ".join(f"{split}[{at}]" for at in order)
    turned = "Transpose(Reshape(x; shape=(b, 3, n)); perm=(-2, -3, -1))"
    return f"Concat({parts}; axis=-2) = Reshape({turned}; shape=(3*b, n)) where x[b, 3*n]"


IN_ONE_ROW = (
    "Concat(Split(x; axis=-1, sizes=(n, n))[0], Split(x; axis=-1, sizes=(n, n))[1]; axis=-2) = "
    "Reshape(x; shape=(2, n)) where x[1, 2*n]"
)
SIDE_BY_SIDE = (
    "Concat(Split(x; axis=-2, sizes=(1, 1))[0], Split(x; axis=-2, sizes=(1, 1))[1]; axis=-1) = "
    "Reshape(x; shape=(1, 2*n)) where x[2, n]"
)


@pytest.fixture(scope="module")
def candidates(library):
    return discover_steps(library, 0, frozenset(library.operators))


@pytest.mark.parametrize("law", [stacked(), beside(), IN_ONE_ROW, SIDE_BY_SIDE])
def test_steps_of_stacks_and_steps_side_by_side_are_found(candidates, covers, law):
    assert covers(candidates, law)


def test_all_are_proved(candidates, proved):
    assert len(candidates) == 2 + 4 * len(COUNTS)
    assert proved(candidates)


@pytest.mark.parametrize("text", [beside(order=(0, 2, 1)), stacked(order="y, x")])
def test_steps_in_another_order_are_refuted(refuted, text):
    assert refuted(text)


def test_only_the_named_operators_are_tried(library):
    assert len(discover_steps(library, 0, frozenset({"Concat", "Reshape", "Split"}))) == 2 + 2 * len(COUNTS)
    assert discover_steps(library, 0, frozenset({"Concat", "Split"})) == ()
