"""Definitions of operators as candidates: what the standard says, in the wordings that models use."""

import pytest

from taso_opt.generate.scalar.bounded import discover_bounded
from taso_opt.generate.scalar.functions import discover_scalars
from taso_opt.generate.schemes.definitions import discover_definitions
from taso_opt.spec import load_specs
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.derivation.prove import Prover
from taso_opt.verify.examine import examine
from taso_opt.verify.scalar_rules import is_scalar
from taso_opt.verify.scalars import ENGINE as SCALAR_ENGINE
from taso_opt.verify.verdict import Proved

LIBRARY = load_specs()
EVERY = frozenset(LIBRARY.operators)
CENTRED = "Sub(x, ReduceMean(x; axes=(-1,)))"
SQUARES = f"ReduceMean(Mul({CENTRED}, {CENTRED}); axes=(-1,))"
POWERS = f"ReduceMean(Pow({CENTRED}; exponent=(2, 1)); axes=(-1,))"
MEANS = "Sub(ReduceMean(Mul(x, x); axes=(-1,)), Mul(ReduceMean(x; axes=(-1,)), ReduceMean(x; axes=(-1,))))"
PLAIN = "epsilon[], x[*b, n]"
AFFINE = "epsilon[], scale[n], shift[n], x[*b, n]"
HEADS = "q[b, h, m, d], scale[], t[b, h, d, n], v[b, h, n, p]"
SCORES = "Mul(MatMul(q, t), scale)"
KEYS = "Transpose(t; perm=(-1, -2))"
CUBE = "Mul(Pow(x; exponent=(3, 1)), share)"


@pytest.fixture(scope="module")
def prover():
    return Prover(LIBRARY)


@pytest.fixture(scope="module")
def everything():
    scalars, bounded = discover_scalars(LIBRARY, 3, 0, EVERY), discover_bounded(LIBRARY, 3, 0, EVERY)
    return discover_definitions(LIBRARY, EVERY, (*scalars, *bounded))


def rule(text):
    return parse_rule(text, LIBRARY.builder())


@pytest.mark.parametrize(
    "text",
    [
        "Sigmoid(x) = Div(1, Add(1, Exp(Neg(x)))) where x[*a]",
        "Sigmoid(x) = Reciprocal(Add(1, Exp(Neg(x)))) where x[*a]",
        "Mul(Sigmoid(x), s) = Div(s, Add(1, Exp(Neg(x)))) where s[*any_s], x[*any_x]",
        "Softplus(x) = Log(Add(1, Exp(x))) where x[*a]",
        "Mul(x, Tanh(Log(Add(1, Exp(x))))) = Mish(x) where x[*any_x]",
        "Tanh(Log(Add(1, Exp(x)))) = Div(Sigmoid(x), Sub(Div(2, Sub(2, Sigmoid(x))), Sigmoid(x))) where x[*any_x]",
        "LeakyRelu(x, s) = Where(Less(0, x), x, Mul(x, s)) where s[], x[*a]",
        "PRelu(x, s) = Where(LessOrEqual(x, 0), Mul(x, s), x) where s[*any_s], x[*any_x]",
        "Max(x, Mul(x, s)) = Where(Less(x, 0), Mul(x, s), x) where s[*any_s], x[*any_x] and s <= 1",
        "Sub(Exp(Min(0, x)), Min(1, Sub(1, x))) = Where(LessOrEqual(0, x), x, Sub(Exp(x), 1)) where x[*any_x]",
        f"LayerNormalization(x, epsilon) = Div({CENTRED}, Sqrt(Add({MEANS}, epsilon))) where {PLAIN}",
        f"LayerNormalization(x, epsilon) = Mul({CENTRED}, Reciprocal(Sqrt(Add({SQUARES}, epsilon)))) where {PLAIN}",
        f"LayerNormalization(x, epsilon) = "
        f"Mul({CENTRED}, Pow(Add({SQUARES}, epsilon); exponent=(-1, 2))) where {PLAIN}",
        "LayerNormalization(x, epsilon, scale) = Mul(LayerNormalization(x, epsilon), scale) "
        "where epsilon[], scale[n], x[*b, n]",
        f"LayerNormalization(x, epsilon, scale, shift) = "
        f"Add(Mul(Div({CENTRED}, Sqrt(Add({POWERS}, epsilon))), scale), shift) where {AFFINE}",
        f"Add(Mul(Div({CENTRED}, Sqrt(Add({SQUARES}, epsilon))), scale), shift) = "
        f"Add(Mul(Div({CENTRED}, Sqrt(Add({POWERS}, epsilon))), scale), shift) where {AFFINE}",
        "RMSNormalization(x, epsilon) = "
        f"Mul(x, Reciprocal(Sqrt(Add(ReduceMean(Mul(x, x); axes=(-1,)), epsilon)))) where {PLAIN}",
        "RMSNormalization(x, epsilon, scale) = Mul(RMSNormalization(x, epsilon), scale) "
        "where epsilon[], scale[n], x[*b, n]",
        "Gelu(x, factor) = Mul(Mul(1/2, x), Add(1, Erf(Mul(x, factor)))) where factor[], x[*a]",
        f"Gelu(x, factor, share) = Mul(Mul(1/2, x), Add(1, Tanh(Mul(Add(x, {CUBE}), factor)))) "
        "where factor[], share[], x[*a]",
        f"Attention(q, {KEYS}, v, scale) = MatMul(Softmax({SCORES}; axis=-1), v) where {HEADS}",
        f"Attention(q, {KEYS}, v, scale, mask) = MatMul(Softmax(Add(mask, {SCORES}); axis=-1), v) "
        f"where mask[m, n], {HEADS}",
    ],
)
def test_an_operator_is_found_in_the_words_that_models_use(everything, text):
    wanted = rule(text)
    assert wanted in everything or wanted.reversed() in everything


def test_local_response_normalization_is_said_for_every_reach_power_and_size(everything):
    mean = (
        "Reshape(AveragePool(Reshape(Mul(x, x); shape=(n, 1, c, h, w)); count_include_pad=1, kernel=(2*r+1, 1, 1), "
        "pads=(r, 0, 0, r, 0, 0), strides=(1, 1, 1)); shape=(n, c, h, w))"
    )
    said = f"Div(x, Pow(Add(Mul({mean}, alpha), bias); exponent=(p, q)))"
    text = f"LRN(x, alpha, bias; beta=(p, q), reach=r) = {said} where alpha[], bias[], x[n, c, h, w]"
    assert rule(text) in everything


@pytest.mark.parametrize(("image", "channels"), [("n, c", ""), ("n, c, w", "1"), ("n, c, h, w", "1, 1")])
def test_batch_normalization_is_a_product_and_a_sum_in_no_other_words(everything, image, channels):
    factor = "Div(scale, Sqrt(Add(variance, epsilon)))"
    parts = factor, f"Sub(shift, Mul(mean, {factor}))"
    if channels:
        parts = tuple(f"Reshape({part}; shape=(c, {channels}))" for part in parts)
    said = f"Add(Mul(x, {parts[0]}), {parts[1]})"
    types = f"epsilon[], mean[c], scale[c], shift[c], variance[c], x[{image}]"
    assert rule(f"BatchNormalization(x, scale, shift, mean, variance, epsilon) = {said} where {types}") in everything
    scaled = "Add(Mul(x, scale), shift)"
    if channels:
        rows = "Reshape(scale; shape=(c,)), Reshape(shift; shape=(c,)), Expand(0; shape=(c,)), Expand(1; shape=(c,))"
        types = f"scale[c, {channels}], shift[c, {channels}], x[{image}]"
        assert rule(f"BatchNormalization(x, {rows}, 0) = {scaled} where {types}") in everything
    assert sum("BatchNormalization" in format_rule(one) for one in everything) == 6


def test_what_one_converter_says_is_what_others_say_where_the_operator_is_missing(everything):
    factor = f"Mul(Reciprocal(Sqrt(Add({SQUARES}, epsilon))), scale)"
    converted = f"Add(Mul(x, {factor}), Sub(shift, Mul(ReduceMean(x; axes=(-1,)), {factor})))"
    usual = f"Add(Mul(Div({CENTRED}, Sqrt(Add({SQUARES}, epsilon))), scale), shift)"
    assert rule(f"{converted} = {usual} where {AFFINE}") in everything


def test_every_definition_is_proved_for_all_sizes(everything, prover):
    assert len(everything) > 20
    for one in everything[:: max(len(everything) // 40, 1)]:
        verdict = examine(LIBRARY, prover, one)
        assert isinstance(verdict, Proved), format_rule(one)
        assert verdict.engine == (SCALAR_ENGINE if is_scalar(LIBRARY.builder(), one) else "index functions")
        assert verdict.instances > 0


def test_only_what_applies_functions_to_a_defined_one_is_said_in_pieces(everything):
    """Not the function alone, for which there is the definition, nor what gets long."""
    texts = [format_rule(one) for one in everything]
    assert sum("Log(Add(1, Exp(" in text for text in texts) == 3
    assert not any("Exp(Neg(x))" in text and "Sub(2, " in text for text in texts)
    assert all(text.count("Where(") <= 1 for text in texts)


@pytest.mark.parametrize(
    "text",
    [
        f"LayerNormalization(x, epsilon) = Div({CENTRED}, Sqrt(Sub({SQUARES}, epsilon))) where {PLAIN}",
        f"LayerNormalization(x, epsilon) = Div(x, Sqrt(Add({SQUARES}, epsilon))) where {PLAIN}",
        "BatchNormalization(x, s, b, m, v, e) = Add(Mul(x, s), b) where x[n, c], s[c], b[c], m[c], v[c], e[]",
        "LRN(x, a, b; beta=(3, 4), reach=1) = LRN(x, a, b; beta=(3, 4), reach=2) where a[], b[], x[n, c, h, w]",
    ],
)
def test_a_false_definition_is_not_proved(prover, text):
    assert not isinstance(examine(LIBRARY, prover, rule(text)), Proved)


def test_only_definitions_of_the_operators_asked_for_are_candidates():
    names = frozenset({"LayerNormalization", "Mul", "Add"})
    texts = [format_rule(one) for one in discover_definitions(LIBRARY, names, ())]
    assert len(texts) == 2
    assert all("ReduceMean" not in text for text in texts)
