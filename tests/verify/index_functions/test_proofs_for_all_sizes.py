from pathlib import Path

import pytest

from taso_opt.core.dims import symbol
from taso_opt.core.term import Apply, Var
from taso_opt.core.types import TensorType, parse_scheme
from taso_opt.spec import OPAQUE, Builder, Operator, load_specs, plain_spelling
from taso_opt.spec.rule_file import read_record, read_records
from taso_opt.spec.text import parse_rule
from taso_opt.verify.evaluation.refute import refute
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.prove import ProvedForAllSizes, prove_axiom, prove_for_all_sizes
from taso_opt.verify.scalar_rules import is_scalar
from taso_opt.verify.verdict import Counterexample, Unknown

LIBRARY = load_specs()
SHARES = 4
"""The rules that rest on axioms are proved in so many tests, which several processes may share."""

BAD = Path(__file__).parents[2] / "rules" / "bad"


def answer(text):
    builder = LIBRARY.builder()
    rule = parse_rule(text, builder)
    return prove_for_all_sizes(builder, rule.source, rule.target)


@pytest.mark.parametrize("name", sorted(LIBRARY.axioms))
def test_an_axiom_is_proved_for_all_sizes(name):
    axiom = LIBRARY.axioms[name]
    proof = prove_axiom(axiom, LIBRARY)
    assert isinstance(proof, ProvedForAllSizes), proof.reason
    assert proof.instances == len(list(axiom.instances(LIBRARY.builder())))


def test_only_idempotence_rests_on_a_declared_fact():
    facts = {name: prove_axiom(axiom, LIBRARY).facts for name, axiom in LIBRARY.axioms.items()}
    assert {name: used for name, used in facts.items() if used} == {"relu_is_idempotent": ("relu(relu(a)) = relu(a)",)}


def test_a_proof_says_what_its_operators_need():
    proof = prove_axiom(LIBRARY.axioms["averagepool_of_shifted_image"], LIBRARY)
    assert "pads below the kernel size: k_h >= p_t+1" in proof.conditions
    assert "a window is no larger than the padded image: h+p_b+p_t >= k_h" in proof.conditions
    assert prove_axiom(LIBRARY.axioms["transpose_undoes_itself"], LIBRARY).conditions == ()


def test_few_proofs_lean_on_what_operators_need_and_then_both_sides_need_it(monkeypatch):
    # so a chain of axioms may pass through a term that is undefined at some sizes at which its ends are defined
    monkeypatch.setattr(Facts, "suppose", lambda self, margin, reason: None)
    leaning = [name for name, axiom in LIBRARY.axioms.items() if isinstance(prove_axiom(axiom, LIBRARY), Unknown)]
    assert leaning == [
        *(f"averagepool_of_{image}" for image in ("image_below", "lowered_image", "shifted_image")),
        "average_of_conv",
        "averagepool_is_a_convolution",
    ]


@pytest.mark.parametrize("share", range(SHARES))
def test_every_rule_of_the_library_that_rests_on_axioms_is_proved_for_all_sizes(share):
    """The library's check follows their proofs from axioms, and proves all others for all sizes itself."""
    resting = [record for record in read_records(None) if record.certificate.axioms]
    assert len(resting) > 100
    for record in resting[share::SHARES]:
        builder = LIBRARY.builder()
        rule = read_record(record, builder, None)
        if is_scalar(builder, rule):
            continue
        answer = prove_for_all_sizes(builder, rule.source, rule.target, rule.conditions)
        assert isinstance(answer, ProvedForAllSizes), record.text


WINDOWS = "dilations=(1, 1), group={group}, pads=(1, 1, 1, 1), strides=({stride}, {stride})"
CONV, STRIDED = WINDOWS.format(group=1, stride=1), WINDOWS.format(group=1, stride=3)
TWO, FOUR = WINDOWS.format(group=2, stride=1), WINDOWS.format(group=4, stride=1)
DILATED = CONV.replace("dilations=(1, 1)", "dilations=(2, 2)")
OFFSET = CONV.replace("pads=(1, 1, 1, 1)", "pads=(0, 2, 2, 0)")
POOL = "kernel=(3, 3), pads=({pad}, {pad}, {pad}, {pad}), strides=({stride}, {stride})"
AVERAGE, COUNTED = (f"count_include_pad={counted}, {POOL.format(pad=1, stride=1)}" for counted in (0, 1))
ROWS = "dilations=(1, 1), kernel=(3, 1), pads=(1, 0, 1, 0), strides=(1, 1)"
COLUMNS = "dilations=(1, 1), kernel=(1, 3), pads=(0, 1, 0, 1), strides=(1, 1)"
PARTS = "Split({}; axis=-3, sizes=({}))[{}]"
IMAGES = "x[n, c, h, w], y[n, c, h, w]"

FALSE = {
    "grouped convolutions of one input merge": f"Concat(Conv(x, f; {TWO}), Conv(x, g; {TWO}); axis=-3) ="
    f" Conv(x, Concat(f, g; axis=-4); {TWO}) where x[n, 2*c, h, w], f[2*m, c, i, j], g[2*m, c, i, j]",
    "grouped convolutions add up along channels": f"Add(Conv(x, f; {TWO}), Conv(y, g; {TWO})) ="
    f" Conv(Concat(x, y; axis=-3), Concat(f, g; axis=-3); {TWO})"
    " where x[n, 2*c, h, w], y[n, 2*c, h, w], f[2*m, c, i, j], g[2*m, c, i, j]",
    "groups give unequal outputs": f"Concat(Conv(x, f; {CONV}), Conv(y, g; {CONV}); axis=-3) ="
    f" Conv(Concat(x, y; axis=-3), Concat(f, g; axis=-4); {TWO}) where {IMAGES}, f[4, c, i, j], g[2, c, i, j]",
    "a third of groups is a half": f"Conv(x, f; {TWO}) = Conv(x, g; {TWO})"
    " where x[n, 6, h, w], f[6, 3, i, j], g[6, 3, i, j]",
    "two groups are three": f"Conv(x, f; {TWO}) = Conv(x, Concat(f, f; axis=-3); {CONV}) where x[n, 2*c, h, w],"
    " f[2*m, c, i, j]",
    "kernels are flipped": f"Conv(x, Transpose(f; perm=(-1, -2)); {CONV}) = Conv(x, f; {CONV})"
    " where x[n, c, h, h], f[m, c, i, i]",
    "dilation is ignored": f"Conv(x, f; {CONV}) = Conv(x, f; {DILATED.replace('(1, 1, 1, 1)', '(2, 2, 2, 2)')})"
    " where x[n, c, h, w], f[m, c, 3, 3]",
    "pads are moved": f"Conv(x, f; {CONV}) = Conv(x, f; {OFFSET}) where x[n, c, h, w], f[m, c, i, j]",
    "bias is added before a stride": f"Conv(x, f, a; {STRIDED}) = Conv(Add(x, Reshape(a; shape=(c, 1, 1))), f;"
    f" {STRIDED}) where x[n, c, h, w], f[c, c, i, j], a[c]",
    "images are stacked in height": f"Concat(Conv(x, f; {CONV}), Conv(y, f; {CONV}); axis=-2) ="
    f" Conv(Concat(x, y; axis=-2), f; {CONV}) where x[n, c, h, w], y[n, c, h, w], f[m, c, 3, 3]",
    "parts are swapped": "Concat(x, y; axis=-1) = Concat(y, x; axis=-1) where x[*b, n], y[*b, n]",
    "the axis of a concatenation does not matter": "Concat(Relu(x), Relu(y); axis=-1) ="
    " Reshape(Concat(Relu(x), Relu(y); axis=-2); shape=(n, 2*n)) where x[n, n], y[n, n]",
    "sizes of a split are swapped": "Split(Concat(x, y; axis=-1); axis=-1, sizes=(n, n))[0] ="
    " Split(Concat(x, y; axis=-1); axis=-1, sizes=(n, n))[1] where x[*b, n], y[*b, n]",
    "cuts at other places": "Split(x; axis=-1, sizes=(n, p, n))[0] = Split(x; axis=-1, sizes=(n, p, n))[2]"
    " where x[*b, 2*n+p]",
    "a split along channels counts groups": f"{PARTS.format(f'Conv(x, f; {TWO})', 'm, m', 1)} ="
    f" Conv({PARTS.format('x', 'c, c', 0)}, Split(f; axis=-4, sizes=(m, m))[1]; {CONV})"
    " where x[n, 2*c, h, w], f[2*m, c, i, j]",
    "averages are convolutions": f"AveragePool(Conv(x, f; {CONV.replace('(1, 1, 1, 1)', '(0, 0, 0, 0)')}); {AVERAGE}) ="
    f" Conv(AveragePool(x; {AVERAGE}), f; {CONV.replace('(1, 1, 1, 1)', '(0, 0, 0, 0)')})"
    " where x[n, c, h, w], f[m, c, 2, 2]",
    "padding counts": f"AveragePool(x; {AVERAGE}) = AveragePool(x; {COUNTED}) where x[n, c, h, w]",
    "a shift leaves an average that counts padding": f"AveragePool(Add(x, s); {COUNTED}) ="
    f" Add(AveragePool(x; {COUNTED}), s) where x[n, c, h, w], s[]",
    "greatest is average": f"MaxPool(x; dilations=(1, 1), {POOL.format(pad=1, stride=1)}) = AveragePool(x; {AVERAGE})"
    " where x[n, c, h, w]",
    "the greatest of columns is that of rows": f"MaxPool(MaxPool(x; {ROWS}); {COLUMNS}) ="
    f" MaxPool(MaxPool(x; {ROWS}); {ROWS}) where x[n, c, h, w]",
    "greatest elements add up": f"MaxPool(Add(x, y); dilations=(1, 1), {POOL.format(pad=0, stride=2)}) ="
    f" Add(MaxPool(x; dilations=(1, 1), {POOL.format(pad=0, stride=2)}),"
    f" MaxPool(y; dilations=(1, 1), {POOL.format(pad=0, stride=2)})) where {IMAGES}",
    "a scale leaves the greatest": f"MaxPool(Mul(x, s); dilations=(1, 1), {POOL.format(pad=0, stride=2)}) ="
    f" Mul(MaxPool(x; dilations=(1, 1), {POOL.format(pad=0, stride=2)}), s) where x[n, c, h, w], s[]",
    "matrices commute": "MatMul(x, y) = MatMul(y, x) where x[*b, n, n], y[*b, n, n]",
    "a transpose keeps the order": "Transpose(MatMul(x, y); perm=(-1, -2)) ="
    " MatMul(Transpose(x; perm=(-1, -2)), Transpose(y; perm=(-1, -2))) where x[n, n], y[n, n]",
    "a cycle is its own inverse": "Transpose(Transpose(x; perm=(-2, -1, -3)); perm=(-2, -1, -3)) = x where x[n, n, n]",
    "a scale of columns is one of rows": "MatMul(Mul(x, s), y) = Mul(MatMul(x, y), s) where x[n, n], y[n, n], s[n]",
    "inner blocks are crossed": "MatMul(Concat(x, y; axis=-1), Concat(v, u; axis=-2)) ="
    " Add(MatMul(x, u), MatMul(y, v)) where x[n, k], y[n, k], u[k, m], v[k, m]",
    "a negative scale leaves relu": "Relu(Mul(x, s)) = Mul(Relu(x), s) where x[*a], s[]",
    "relu is linear": "Relu(Sub(x, y)) = Sub(Relu(x), Relu(y)) where x[*a], y[*a]",
    "tanh is idempotent": "Tanh(Tanh(x)) = Tanh(x) where x[*a]",
    "subtraction is associative": "Sub(Sub(x, y), z) = Sub(x, Sub(y, z)) where x[*a], y[*a], z[*a]",
    "a product of sums is the sum of products": "Mul(Add(x, y), Add(x, y)) = Add(Mul(x, x), Mul(y, y))"
    " where x[*a], y[*a]",
    "a reshape transposes": "Reshape(x; shape=(n, m)) = Transpose(x; perm=(-1, -2)) where x[m, n]",
    "rows are mixed up by a reshape": "Reshape(MatMul(x, y); shape=(n*m,)) ="
    " Reshape(MatMul(Transpose(y; perm=(-1, -2)), Transpose(x; perm=(-1, -2))); shape=(n*m,)) where x[m, k], y[k, n]",
    "a scalar may be a vector of one": "Sub(Add(x, y), y) = x where x[*a], y[1]",
    "a mean of sums is one of all": "ReduceMean(ReduceSum(x; axes=(-1,)); axes=(-2,)) = ReduceMean(x; axes=(-2, -1))"
    " where x[*b, h, w]",
    "everything is equal": "x = y where x[*a], y[*a]",
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_law_is_refuted_by_evaluation_and_not_proved(name):
    builder = LIBRARY.builder()
    rule = parse_rule(FALSE[name], builder)
    assert isinstance(refute(builder, rule), Counterexample)
    assert isinstance(prove_for_all_sizes(builder, rule.source, rule.target), Unknown)


@pytest.mark.parametrize("path", sorted(BAD.glob("*.rule")), ids=lambda path: path.stem)
def test_a_refuted_rule_is_not_proved(path):
    (text,) = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert isinstance(answer(text), Unknown)


TRUE = {
    "a batch of one is a matrix": "Reshape(MatMul(x, y); shape=(m, n)) = MatMul(Reshape(x; shape=(m, k)), y)"
    " where x[1, m, k], y[k, n]",
    "a batch is rows": "Reshape(MatMul(x, y); shape=(b*m, n)) = MatMul(Reshape(x; shape=(b*m, k)), y)"
    " where x[b, m, k], y[k, n]",
    "heads are cut and merged": "Reshape(Transpose(Transpose(Reshape(x; shape=(s, h, d)); perm=(-2, -3, -1));"
    " perm=(-2, -3, -1)); shape=(s, h*d)) = x where x[s, h*d]",
    "four groups are two pairs": f"Split(Conv(x, f; {FOUR}); axis=-3, sizes=(2*m, 2*m))[0] ="
    f" Conv(Split(x; axis=-3, sizes=(2*c, 2*c))[0], Split(f; axis=-4, sizes=(2*m, 2*m))[0]; {TWO})"
    " where x[n, 4*c, h, w], f[4*m, c, 3, 3]",
    "a pointwise convolution is a product": "Reshape(Conv(x, f; dilations=(1, 1), group=1, pads=(0, 0, 0, 0),"
    " strides=(1, 1)); shape=(n, m, h*w)) = MatMul(Reshape(f; shape=(m, c)), Reshape(x; shape=(n, c, h*w)))"
    " where x[n, c, h, w], f[m, c, 1, 1]",
    "a product is a sum of products of parts": "MatMul(x, y) = Add(MatMul(Split(x; axis=-1, sizes=(n, p))[0],"
    " Split(y; axis=-2, sizes=(n, p))[0]), MatMul(Split(x; axis=-1, sizes=(n, p))[1],"
    " Split(y; axis=-2, sizes=(n, p))[1])) where x[m, n+p], y[n+p, k]",
    "halves of channels are added": f"Conv(x, f; {CONV}) = Add(Conv({PARTS.format('x', 'c, c', 0)},"
    f" {PARTS.format('f', 'c, c', 0)}; {CONV}), Conv({PARTS.format('x', 'c, c', 1)}, {PARTS.format('f', 'c, c', 1)};"
    f" {CONV})) where x[n, 2*c, h, w], f[m, 2*c, 3, 3]",
    "a mean of means is one of all": "ReduceMean(ReduceMean(x; axes=(-1,)); axes=(-2,)) = ReduceMean(x; axes=(-2, -1))"
    " where x[*b, h, w]",
    "three squares": "Mul(Sub(x, y), Add(x, y)) = Sub(Mul(x, x), Mul(y, y)) where x[*a], y[*a]",
}


@pytest.mark.parametrize("name", TRUE)
def test_a_true_law_that_is_no_axiom_is_proved_directly(name):
    assert answer(TRUE[name]) == ProvedForAllSizes(1, answer(TRUE[name]).conditions, ())


def test_what_grows_without_end_is_given_up_with_a_reason():
    builder = LIBRARY.builder()
    x = Var("x", parse_scheme("*a"))
    doubled, squared, mapped = x, x, x
    for _ in range(40):
        doubled, squared = builder.Add(doubled, doubled), builder.Mul(squared, squared)
        mapped = builder.Relu(builder.Add(mapped, mapped))
    for term, part in ((doubled, "products"), (squared, "factors"), (mapped, "others")):
        found = prove_for_all_sizes(builder, (builder.Tanh(term),), (x,))
        assert isinstance(found, Unknown) and found.reason.startswith("expected ") and part in found.reason


def test_an_operator_without_a_meaning_is_not_looked_into():
    kind = parse_scheme("n")
    x = Var("x", kind)
    opaque = Apply(OPAQUE, (x,), (("types", (kind,)),))
    found = prove_for_all_sizes(LIBRARY.builder(), (opaque,), (opaque,))
    assert found == Unknown("Opaque has no meaning")


def test_the_reason_shows_an_element_that_differs():
    reason = answer("MatMul(x, y) = MatMul(y, x) where x[n, n], y[n, n]").reason
    assert "x[i~0, ~1.0] y[~1.0, i~1]" in reason and "x[~1.0, i~1] y[i~0, ~1.0]" in reason


def enlarge_infer(x, by):
    top, left, bottom, right = by
    return TensorType(x.dtype, (*x.shape[:2], x.shape[2] + top + bottom, x.shape[3] + left + right))


def enlarge_evaluate(xp, x, by):
    return xp.pad(x, [(by[0], by[2]), (by[1], by[3])])


ENLARGE = Operator(
    "Enlarge", infer=enlarge_infer, evaluate=enlarge_evaluate, spelling=plain_spelling("Enlarge"), arity=1
)
GROWN = tuple(symbol(f"a_{side}") for side in "tlbr")
STRIDES = symbol("s_h"), symbol("s_w")
PADS = tuple(symbol(f"p_{side}") for side in "tlbr")


def enlarged(pads, by, new_pads, strides=STRIDES, dilations=(1, 1), sizes="h w", kernel="i j"):
    """What is found of a convolution whose kernel is enlarged by zeros."""
    op = Builder({**LIBRARY.operators, "Enlarge": ENLARGE})
    x, f = Var("x", parse_scheme(f"n c {sizes}")), Var("f", parse_scheme(f"m c {kernel}"))
    windows = {"strides": strides, "dilations": dilations, "group": 1}
    small = op.Conv(x, f, pads=pads, **windows)
    return prove_for_all_sizes(op, (small,), (op.Conv(x, op.Enlarge(f, by=by), pads=new_pads, **windows),))


def grown(dilations=(1, 1)):
    steps = (*dilations, *dilations)
    return tuple(step * more + pad for pad, more, step in zip(PADS, GROWN, steps, strict=True))


def test_an_enlarged_kernel_computes_the_same_when_all_pads_grow_with_it_at_every_stride():
    assert isinstance(enlarged(PADS, GROWN, grown()), ProvedForAllSizes)


def test_pads_grow_by_the_dilation_times_what_the_kernel_grows():
    dilations = (symbol("d_h"), symbol("d_w"))
    assert isinstance(enlarged(PADS, GROWN, grown(dilations), dilations=dilations), ProvedForAllSizes)
    assert isinstance(enlarged(PADS, GROWN, grown(), dilations=(2, 2)), Unknown)


def test_an_enlarged_kernel_at_stride_3_under_automatic_pads_is_not_the_same():
    # SAME pads of an image of 6 at stride 3 are 0 for a kernel of 1 and of 3: nothing grows
    assert isinstance(enlarged((0,) * 4, (1,) * 4, (0,) * 4, (3, 3), sizes="6 6", kernel="1 1"), Unknown)
    assert isinstance(enlarged((0,) * 4, (1,) * 4, (1,) * 4, (3, 3), sizes="6 6", kernel="1 1"), ProvedForAllSizes)


def test_an_even_kernel_enlarged_on_one_side_has_to_be_padded_on_that_side():
    more = (0, 0, 1, 1)
    upper = tuple(pad + one for pad, one in zip(PADS, more, strict=True))
    lower = tuple(pad + one for pad, one in zip(PADS, more[::-1], strict=True))
    assert isinstance(enlarged(PADS, more, upper), ProvedForAllSizes)
    assert isinstance(enlarged(PADS, more, lower), Unknown)


def test_a_sum_that_leaves_a_greatest_element_does_not_bind_what_another_function_sums():
    scale, window = "Sigmoid(ReduceSum(u; axes=(-1,)))", "kernel=(2, 2), strides=(1, 1), pads=(0, 0, 0, 0)"
    pooled = f"MaxPool({{}}; {window}, dilations=(1, 1))"
    source = f"Mul({scale}, {pooled.format('Add(x, ReduceSum(z; axes=(-1,)))')})"
    target = f"Add(Mul({scale}, {pooled.format('x')}), {{}})"
    where = "where x[b, c, h, w], u[3], z[3]"
    true = target.format(f"Mul({scale}, ReduceSum(z; axes=(-1,)))")
    false = target.format("ReduceSum(Mul(Sigmoid(Mul(u, 3)), z); axes=(-1,))")
    assert isinstance(answer(f"{source} = {true} {where}"), ProvedForAllSizes)
    assert isinstance(answer(f"{source} = {false} {where}"), Unknown)
