"""Which equations can make a graph cheaper, judged by counts of work alone."""

import pytest

from taso_opt.core.term import variables
from taso_opt.generate.equations.usefulness import Work, is_useful, work_of
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule

SWAP, TURN = "perm=(-1, -2)", "perm=(-2, -3, -1)"
PLAIN = "dilations=(1, 1), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"


def parts(whole, sizes="(n, p)"):
    return f"(Split({whole}; axis=-1, sizes={sizes})[0], Split({whole}; axis=-1, sizes={sizes})[1])"


USEFUL = {
    "fewer operators": "Relu(Relu(x)) = Relu(x) where x[*b]",
    "one operator against four": "Add(Add(x, y), Add(z, w)) = Relu(x) where x[*b], y[*b], z[*b], w[*b]",
    "as many operators on fewer elements": "Add(x, Add(y, z)) = Add(Add(x, y), z) where x[*b, n], y[n], z[n]",
    "one product in place of two, whatever is moved": f"(MatMul(x, y), MatMul(x, z)) = "
    f"{parts('MatMul(x, Concat(y, z; axis=-1))')} where x[m, k], y[k, n], z[k, p]",
    "products in another order": "MatMul(x, MatMul(y, z)) = MatMul(MatMul(x, y), z) where x[m, k], y[k, n], z[n, p]",
    "a scale on the kernel, not on the image": f"Mul(Conv(x, f; {PLAIN}), s) = Conv(x, Mul(f, s); {PLAIN})"
    " where x[n, c, h, w], f[m, c, 1, 1], s[]",
    "fewer movements": f"Transpose(Transpose(x; {SWAP}); {SWAP}) = x where x[*b, m, n]",
    "a split of less": "Add(Split(x; axis=-1, sizes=(n, p))[0], Split(y; axis=-1, sizes=(n, p))[0]) ="
    " Split(Add(x, y); axis=-1, sizes=(n, p))[0] where x[m, n+p], y[m, n+p]",
    "an operator that is computed ahead of time": f"x = Conv(x, IdentityKernel(y); {PLAIN})"
    " where x[n, c, h, w], y[c, c, 1, 1]",
}
USELESS = {
    "operands in another order": "Add(Add(x, y), z) = Add(Add(x, z), y) where x[*b], y[*b], z[*b]",
    "movements in another order": f"Transpose(Transpose(Transpose(x; {SWAP}); {TURN}); {SWAP}) ="
    f" Transpose(Transpose(Transpose(x; {TURN}); {SWAP}); {TURN}) where x[*b, n, c, h]",
    "a movement on either side": f"Relu(Transpose(x; {SWAP})) = Transpose(Relu(x); {SWAP}) where x[*b, m, n]",
    "signs moved about": "MatMul(Sub(x, y), Sub(z, w)) = MatMul(Sub(y, x), Sub(w, z))"
    " where x[m, k], y[m, k], z[k, n], w[k, n]",
    "what can be read only the worse way": "Add(x, y) = Relu(Relu(Relu(x))) where x[*b], y[*b]",
    "kernels that are ready beforehand": "Enlarge(Add(x, y); pads=(1, 1, 1, 1)) ="
    " Add(Enlarge(x; pads=(1, 1, 1, 1)), Enlarge(y; pads=(1, 1, 1, 1))) where x[n, c, h, w], y[n, c, h, w]",
}


@pytest.fixture(scope="module")
def builder():
    return load_specs().builder()


@pytest.mark.parametrize("text", USEFUL.values(), ids=USEFUL)
def test_it_lessens_some_work(builder, text):
    rule = parse_rule(text, builder)
    assert is_useful(rule, builder)
    assert is_useful(rule.reversed(), builder)


@pytest.mark.parametrize("text", USELESS.values(), ids=USELESS)
def test_it_lessens_no_work(builder, text):
    rule = parse_rule(text, builder)
    assert not is_useful(rule, builder)
    assert not is_useful(rule.reversed(), builder)


def test_the_answer_does_not_depend_on_what_was_asked_before(builder):
    rule = parse_rule(USEFUL["products in another order"], builder)
    answers = {is_useful(rule, load_specs().builder()) for _ in range(3)}
    assert answers == {True}


def test_work_counts_operators_operations_and_elements_moved(builder):
    text = "Relu(MatMul(x, Concat(y, z; axis=-1))) = Concat(MatMul(x, y), MatMul(x, z); axis=-1)"
    (root,) = parse_rule(f"{text} where x[2, 3], y[3, 4], z[3, 5]", builder).source
    assert work_of((root,), (), builder) == Work(2, 2 * 2 * 9 * 3 + 2 * 9, 1, 3 * 9)
    weights = [one for one in variables((root,)) if one.name in "yz"]
    assert work_of((root,), weights, builder) == Work(2, 2 * 2 * 9 * 3 + 2 * 9, 0, 0)
    assert work_of((root,), variables((root,)), builder) == Work(0, 0, 0, 0)


def test_computing_goes_before_moving_and_no_count_may_be_worse():
    base = Work(2, 100, 2, 50)
    assert Work(1, 100, 9, 900).is_less_than(base)
    assert Work(2, 99, 9, 900).is_less_than(base)
    assert Work(2, 100, 1, 50).is_less_than(base)
    assert Work(2, 100, 2, 49).is_less_than(base)
    for worse in (Work(1, 101, 0, 0), Work(3, 10, 0, 0), Work(2, 100, 1, 51), Work(2, 100, 3, 1), base):
        assert not worse.is_less_than(base)
