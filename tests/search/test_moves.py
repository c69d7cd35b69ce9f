"""Moves: what a step undoes is taken away at once, and what one rule does everywhere is one move, small losses too."""

from collections import Counter
from functools import reduce

import pytest

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Const, Var
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.moves import TRACE, free_moves, moves_from
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.sequences import folding as folds
from taso_opt.search.sequences.folding import folding_sequences
from taso_opt.search.trials import Trials
from taso_opt.spec.text import parse_rule
from terms import tensor

MERGE = (
    "(MatMul(x, w), MatMul(y, w)) = (Split(MatMul(Concat(x, y; axis=-2), w); axis=-2, sizes=(m, p))[0], "
    "Split(MatMul(Concat(x, y; axis=-2), w); axis=-2, sizes=(m, p))[1]) where x[*b, m, k], y[*b, p, k], w[k, n]"
)
UNDO = "Concat(Split(x; axis=-2, sizes=(n, p))[0], Split(x; axis=-2, sizes=(n, p))[1]; axis=-2) = x where x[*b, n+p, m]"
PAIR = (
    "Conv(x, y; dilations=(d_h, d_w), group=2*g, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)) = "
    "Conv(x, PairGroups(y; group=g); dilations=(d_h, d_w), group=g, pads=(p_t, p_l, p_b, p_r), strides=(s_h, s_w)) "
    "where x[n, 2*g*w, c, h], y[2*g*j, w, m, i]"
)
SPELL = "Relu(x) = Max(0, x) where x[*any_x]"


def traces(changes, bearable):
    """The prices of changes that all cost nothing."""
    return [-TRACE * change.saved for change in changes]


def moves(op, outputs, rules, price, **options):
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in rules)))
    return moves_from(Neighbourhood(outputs), rewriter, price, **options)


def test_joining_the_parts_of_a_split_again_is_undone_in_the_same_move(op):
    whole, weight = tensor(Var, "x", 2, 8), tensor(Const, "w", 8, 8)
    split = op.Split(op.Relu(whole), axis=-2, sizes=(1, 1))
    outputs = tuple(op.MatMul(op.item(split, part), weight) for part in range(2))
    single, _ = moves(op, outputs, (MERGE, UNDO), lambda changes, _: [0.0 for _ in changes])
    merge = next(move for move in single if len(move.replacements) == 2)
    assert [step.rule.rule.name for step in merge.steps] == [parse_rule(rule, op).name for rule in (MERGE, UNDO)]
    product = op.MatMul(op.Relu(whole), weight)
    merged = op.Split(product, axis=-2, sizes=(1, 1))
    assert merge.replacements == tuple((old, op.item(merged, part)) for part, old in enumerate(outputs))
    assert merge.saved == 1  # two products and a split before, one product and a split behind


def spelled(op, outputs, losses, **options):
    """The numbers of places of the joint moves of SPELL, where the changes lose so much, one after the other."""
    _, joint = moves(op, outputs, (SPELL,), lambda changes, _: losses[: len(changes)], **options)
    return [len(move.steps) for move in joint]


def test_a_rule_that_loses_a_little_everywhere_is_a_joint_move_as_far_as_the_loss_is_bearable(op):
    outputs = tuple(op.Relu(tensor(Var, name, 4)) for name in "abcd")
    losses = [0.1, 0.1, 0.4, 0.1]
    assert spelled(op, outputs, losses) == []
    assert spelled(op, outputs, losses, bearable=0.25) == [2]
    assert spelled(op, outputs, losses, bearable=0.35) == [3]
    assert spelled(op, outputs, losses, bearable=1.0) == [4]


def test_what_takes_a_product_apart_at_one_place_counts_like_a_joint_move_as_far_as_the_loss_is_bearable(op):
    x, y, w = tensor(Var, "x", 2, 4), tensor(Var, "y", 2, 4), tensor(Const, "w", 4, 3)
    apart = "MatMul(Sub(x, y), z) = Sub(MatMul(x, z), MatMul(y, z)) where x[*b, m, k], y[*b, m, k], z[k, n]"
    spelled = "Relu(x) = Max(x, Sub(x, x)) where x[*b]"

    def joint(text, outputs, loss, bearable):
        return len(moves(op, outputs, (text,), lambda changes, _: [loss] * len(changes), bearable=bearable)[1])

    once, twice = [tuple(op.MatMul(op.Sub(one, y), w) for one in sides) for sides in ((x,), (x, op.Relu(x)))]
    assert joint(apart, once, 0.1, bearable=0.2) == 1
    assert joint(apart, once, 0.3, bearable=0.2) == 0
    assert joint(apart, once, 0.0, bearable=0.2) == 0  # what costs nothing waits for nothing
    assert joint(apart, twice, 0.15, bearable=0.2) == 0  # the rule fits at two places
    assert joint(spelled, (op.Relu(x),), 0.1, bearable=0.2) == 0  # nothing opens by it


def test_what_changes_nothing_is_a_joint_move_beside_what_loses(op):
    outputs = tuple(op.Relu(tensor(Var, name, 4)) for name in "abcd")
    assert sorted(spelled(op, outputs, [0.0, 0.0, 0.1, 0.1], bearable=0.3)) == [2, 4]
    assert spelled(op, outputs, [0.0, 0.0, 0.5, 0.5], bearable=0.3) == [2]


def test_a_rule_that_fits_in_several_ways_is_a_joint_move_for_what_leads_to_the_same_everywhere(op):
    outputs = tuple(
        op.Add(
            op.Add(op.Sigmoid(tensor(Var, f"x{place}", 2, 8)), op.Tanh(tensor(Var, f"y{place}", 2, 8))),
            tensor(Const, "bias", 8),
        )
        for place in range(3)
    )
    regroup = "Add(Add(x, y), z) = Add(Add(x, z), y) where x[*b, m], y[*b, m], z[m]"
    _, joint = moves(op, outputs, (regroup,), lambda changes, _: [0.0 for _ in changes])
    outer = [[{operand.operator for operand in new.args} - {"Add"} for _, new in move.replacements] for move in joint]
    assert [{"Sigmoid"}] * 3 in outer
    assert [{"Tanh"}] * 3 in outer


ASSOCIATE = "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, k, n], y[n, p], z[*b, p, q]"
JOIN = "Add(MatMul(x, y), MatMul(x, z)) = MatMul(x, Add(y, z)) where x[*b, m, k], y[k, n], z[k, n]"


def folding(op, whole, *rules):
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in rules)))
    here = Neighbourhood((whole,))
    return list(folding_sequences(here.terms, here.only_consumer, rewriter.sums(here.terms), rewriter))


FACTOR = "Div(s, Sqrt(Add(v, e)))"
COLUMNS = (
    f"BatchNormalization(x, s, b, m, v, e) = Add(Mul(x, {FACTOR}), Sub(b, Mul(m, {FACTOR}))) "
    "where x[n, c], s[c], b[c], m[c], v[c], e[]"
)
SCALE_WITH_BIAS = (
    "Mul(Add(MatMul(x, w), b), s) = Add(MatMul(x, Mul(w, s)), Mul(b, s)) where x[*b, m, k], w[k, n], b[n], s[n]"
)
SCALE = "Mul(MatMul(x, w), s) = MatMul(x, Mul(w, s)) where x[*b, m, k], w[k, n], s[n]"
WINDOWS = "dilations=(1, 1), group=1, pads={pads}, strides=(s_h, s_w)"
NONE, ONE = (WINDOWS.format(pads=pads) for pads in ("(0, 0, 0, 0)", "(1, 1, 1, 1)"))
ENLARGE = f"Conv(x, y; {NONE}) = Conv(x, Enlarge(y; pads=(1, 1, 1, 1)); {ONE}) where x[n, c, h, w], y[m, c, i, j]"
MERGE_KERNELS = (
    f"Add(Conv(x, y; {ONE}), Conv(x, z; {ONE})) = Conv(x, Add(y, z); {ONE}) "
    "where x[n, c, h, w], y[m, c, i, j], z[m, c, i, j]"
)
NORMALIZED_AGAIN = (
    "Add(Mul(x, s), b) = BatchNormalization(x, Reshape(s; shape=(c,)), Reshape(b; shape=(c,)), Expand(0; shape=(c,)), "
    "Expand(1; shape=(c,)), 0) where x[n, c, h, w], s[c, 1, 1], b[c, 1, 1]"
)


def test_a_scale_that_a_step_lays_bare_folds_into_the_weight_below(op):
    product = op.MatMul(tensor(Var, "x", 16, 8), tensor(Const, "w", 8, 8))
    statistics = [tensor(Const, name, 8) for name in "sbmv"]
    whole = op.BatchNormalization(product, *statistics, tensor(Const, "e"))
    scale, shift, mean, variance = statistics
    factor = op.Div(scale, op.Sqrt(op.Add(variance, tensor(Const, "e"))))
    folded = op.MatMul(product.args[0], op.Mul(product.args[1], factor))
    wanted = op.Add(folded, op.Sub(shift, op.Mul(mean, factor)))
    found = folding(op, whole, COLUMNS, SCALE)
    assert [len(steps) for steps, replacements in found if replacements == ((whole, wanted),)] == [2]


def test_a_scale_that_a_step_lays_bare_folds_into_the_weight_and_the_bias_below(op):
    x, weights, bias = tensor(Var, "x", 16, 8), tensor(Const, "w", 8, 8), tensor(Const, "a", 8)
    scale, shift, mean, variance = statistics = [tensor(Const, name, 8) for name in "sbmv"]
    whole = op.BatchNormalization(op.Add(op.MatMul(x, weights), bias), *statistics, tensor(Const, "e"))
    factor = op.Div(scale, op.Sqrt(op.Add(variance, tensor(Const, "e"))))
    folded = op.Add(op.MatMul(x, op.Mul(weights, factor)), op.Mul(bias, factor))
    wanted = op.Add(folded, op.Sub(shift, op.Mul(mean, factor)))
    found = folding(op, whole, COLUMNS, SCALE_WITH_BIAS)
    assert [len(steps) for steps, replacements in found if replacements == ((whole, wanted),)] == [2]


@pytest.mark.parametrize("others", [(), (NORMALIZED_AGAIN,)])
def test_a_normalization_behind_a_convolution_is_folded_where_that_costs_nothing(op, others):
    """Also where a rule says in one word what is laid bare."""
    factor, shift = "Div(s, Sqrt(Add(v, e)))", "Reshape({}; shape=(c, 1, 1))"
    defined = (
        f"BatchNormalization(x, s, b, m, v, e) = Add(Mul(x, {shift.format(factor)}), "
        f"{shift.format(f'Sub(b, Mul(m, {factor}))')}) where x[n, c, h, w], s[c], b[c], m[c], v[c], e[]"
    )
    scaled = (
        f"Mul(Conv(x, y; {ONE}), Reshape(s; shape=(m, 1, 1))) = Conv(x, Mul(y, Reshape(s; shape=(m, 1, 1, 1))); {ONE}) "
        "where x[n, c, h, w], y[m, c, i, j], s[m]"
    )
    shifted = (
        f"Add(Conv(x, y; {ONE}), Reshape(b; shape=(m, 1, 1))) = Conv(x, y, b; {ONE}) "
        "where x[n, c, h, w], y[m, c, i, j], b[m]"
    )
    image, filters = tensor(Var, "x", 1, 4, 8, 8), tensor(Const, "f", 4, 4, 3, 3)
    convolution = op.Conv(image, filters, strides=(1, 1), pads=(1,) * 4, dilations=(1, 1), group=1)
    statistics = (*(tensor(Const, name, 4) for name in "sbmv"), tensor(Const, "e"))
    outputs = (op.Relu(op.BatchNormalization(convolution, *statistics)),)
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (*others, defined, scaled, shifted))))
    here = Neighbourhood(outputs, is_constant=rewriter.is_constant)
    free = free_moves(here, rewriter, traces, lambda change: True)
    (folded,) = {new for move in free for _, new in move.replacements}
    assert folded.operator == "Conv" and folded.args[0] is image
    assert all(rewriter.is_constant(weights) for weights in folded.args[1:]) and len(folded.args) == 3


def test_a_normalization_beside_a_convolution_goes_into_its_filters_where_that_gains(op):
    windows = "dilations=(1, 1), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"
    shape = "Reshape({}; shape=(c, 1, 1))"
    defined = (
        f"BatchNormalization(x, s, b, m, v, e) = Add(Mul(x, {shape.format(FACTOR)}), "
        f"{shape.format(f'Sub(b, Mul(m, {FACTOR}))')}) where x[n, c, h, w], s[c], b[c], m[c], v[c], e[]"
    )
    beside = (
        f"Add(Mul(x, s), Conv(x, y, b; {windows})) = Conv(x, Add(y, Mul(IdentityKernel(y), s)), b; {windows}) "
        "where x[n, c, h, w], y[c, c, 1, 1], s[c, 1, 1], b[c]"
    )
    shifted = (
        f"Add(Conv(x, y, b; {windows}), Reshape(t; shape=(m, 1, 1))) = Conv(x, y, Add(b, t); {windows}) "
        "where x[n, c, h, w], y[m, c, i, j], b[m], t[m]"
    )
    image, filters = tensor(Var, "x", 1, 4, 8, 8), tensor(Const, "f", 4, 4, 1, 1)
    convolution = op.Conv(
        image, filters, tensor(Const, "t", 4), strides=(1, 1), pads=(0,) * 4, dilations=(1, 1), group=1
    )
    normalized = op.BatchNormalization(image, *(tensor(Const, name, 4) for name in "sbmv"), tensor(Const, "e"))
    whole = op.Add(convolution, normalized)
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (defined, beside, shifted))))
    here = Neighbourhood((op.Relu(whole),), is_constant=rewriter.is_constant)
    gains = free_moves(here, rewriter, lambda changes, _=0.0: [-1.0 * one.saved for one in changes], lambda _: True)
    best = max(gains, key=lambda move: move.saved)
    ((old, new),) = best.replacements
    assert old is whole and best.saved == 2
    assert new.operator == "Conv" and new.args[0] is image and all(map(rewriter.is_constant, new.args[1:]))


def test_all_that_costs_nothing_is_one_move_and_what_does_not_is_none(op):
    products = [op.MatMul(tensor(Var, f"x{at}", 16, 8), tensor(Const, "w", 8, 8)) for at in range(3)]
    outputs = (*(op.Mul(product, tensor(Const, "s", 8)) for product in products), op.Relu(products[0]))
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (SCALE, SPELL))))
    here = Neighbourhood(outputs, is_constant=rewriter.is_constant)
    free = free_moves(here, rewriter, traces, lambda change: True)
    scaled = [{old for old, _ in move.replacements} for move in free]
    assert sorted(map(len, scaled)) == [1, 1, 2, 2]  # that of the product that is used otherwise too saves nothing
    assert all(roots <= set(outputs[1:3]) for roots in scaled)
    assert free_moves(here, rewriter, traces, lambda change: False) == []


def test_weights_that_were_combined_before_are_not_folded_by_a_step_that_keeps_them(op):
    x, weights = tensor(Var, "x", 16, 8), op.Mul(tensor(Const, "w", 8, 8), tensor(Const, "s", 8))
    once = "MatMul(Relu(Relu(x)), y) = MatMul(Relu(x), y) where x[*b, m, k], y[k, n]"
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (once, SCALE))))
    steps = rewriter.rewrites(op.MatMul(op.Relu(op.Relu(x)), weights))
    (kept,) = (step for step in steps if step.image is op.MatMul(op.Relu(x), weights))
    (folding_step,) = rewriter.rewrites(op.Mul(op.MatMul(x, weights), tensor(Const, "t", 8)))
    assert rewriter.folded(kept) == []
    assert rewriter.folded(folding_step) == [op.Mul(weights, tensor(Const, "t", 8))]


def test_combined_weights_are_not_taken_apart_to_be_combined_otherwise(op):
    x, parts = tensor(Var, "x", 16, 8), (tensor(Const, "a", 8, 8), tensor(Const, "b", 8, 8))
    joined = "MatMul(Concat(x, x; axis=-1), Concat(y, z; axis=-2))"
    doubled = f"MatMul(x, Add(y, z)) = {joined} where x[*b, m, k], y[k, n], z[k, n]"
    images = [op.MatMul(op.Concat(x, x, axis=-1), op.Concat(*pair, axis=-2)) for pair in (parts, parts[::-1])]
    whole = op.MatMul(op.Relu(op.MatMul(x, op.Add(*parts))), parts[0])
    rewriter = Rewriter(op, RuleSet((parse_rule(doubled, op),)))
    steps = rewriter.rewrites(op.MatMul(x, op.Add(*parts)))
    assert {step.image for step in steps} <= set(images) and steps
    assert all(rewriter.folded(step) and rewriter.parts_weights(step) for step in steps)
    assert folding(op, whole, doubled, SPELL) == []


def test_what_leaves_combined_weights_alone_continues_no_sequence(op):
    x, down, up = tensor(Var, "x", 16, 8), tensor(Const, "down", 8, 2), tensor(Const, "up", 2, 8)
    whole = op.Relu(op.MatMul(op.MatMul(x, down), up))
    twice = "Relu(MatMul(x, y)) = Relu(Relu(MatMul(x, y))) where x[*b, m, k], y[k, n]"
    within = "Relu(MatMul(x, y)) = Relu(MatMul(Neg(x), Neg(y))) where x[*b, m, k], y[k, n]"
    assert folding(op, whole, ASSOCIATE, SPELL) == folding(op, whole, ASSOCIATE, twice) == []
    assert [len(steps) for steps, _ in folding(op, whole, ASSOCIATE, within)][:1] == [2]


def test_an_enlarged_kernel_meets_another_one_in_a_longer_sum(op):
    x, between = tensor(Var, "x", 1, 4, 8, 8), tensor(Var, "y", 1, 4, 8, 8)
    plain = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "group": 1}
    padded, small, large = {**plain, "pads": (1,) * 4}, tensor(Const, "f", 4, 4, 1, 1), tensor(Const, "g", 4, 4, 3, 3)
    whole = op.Add(op.Add(op.Conv(x, large, **padded), between), op.Conv(x, small, **plain))
    merged = op.Conv(x, op.Add(large, op.Enlarge(small, pads=(1,) * 4)), **padded)
    found = folding(op, whole, ENLARGE, MERGE_KERNELS)
    assert ((whole, op.Add(merged, between)),) in [replacements for _, replacements in found]


ABSORB = (
    f"Add(Conv(x, y; {NONE}), x) = Conv(x, Add(y, IdentityKernel(y)); {NONE}) where x[n, c, h, w], y[c, c, 1, 1]"
).replace("(s_h, s_w)", "(1, 1)")
SMALL_AND_LARGE = (
    f"Add(Conv(x, y; {NONE}), Conv(x, z; {ONE})) = Conv(x, Add(Enlarge(y; pads=(1, 1, 1, 1)), z); {ONE}) "
    "where x[n, c, h, w], y[m, c, i, j], z[m, c, i+2, j+2]"
)


def test_an_image_that_is_added_goes_by_one_of_two_convolutions_into_the_other(op):
    x = tensor(Var, "x", 1, 4, 8, 8)
    plain = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "group": 1}
    padded, small, large = {**plain, "pads": (1,) * 4}, tensor(Const, "f", 4, 4, 1, 1), tensor(Const, "g", 4, 4, 3, 3)
    whole = op.Add(op.Add(op.Conv(x, large, **padded), op.Conv(x, small, **plain)), x)
    kernel = op.Add(op.Enlarge(op.Add(small, op.IdentityKernel(small)), pads=(1,) * 4), large)
    found = folding(op, whole, ABSORB, SMALL_AND_LARGE)
    assert [len(steps) for steps, pairs in found if pairs == ((whole, op.Conv(x, kernel, **padded)),)] == [2]


def test_the_size_of_a_graph_does_not_grow_with_what_its_weights_are_made_of(op):
    x, parts = tensor(Var, "x", 16, 8), [tensor(Const, f"w{at}", 8, 2) for at in range(4)]
    plain, joined = op.MatMul(x, tensor(Const, "w", 8, 8)), op.MatMul(x, op.Concat(*parts, axis=-1))
    is_constant = Rewriter(op, RuleSet(())).is_constant
    sizes = [Neighbourhood((op.Relu(one),), is_constant=is_constant).size for one in (plain, joined)]
    assert sizes == [4, 4]


def test_what_is_computed_before_a_model_runs_counts_for_nothing(op):
    product = op.MatMul(op.MatMul(tensor(Var, "x", 16, 8), tensor(Const, "a", 8, 4)), tensor(Const, "b", 4, 8))
    rewriter = Rewriter(op, RuleSet((parse_rule(ASSOCIATE, op),)))
    here = Neighbourhood((product,), is_constant=rewriter.is_constant)
    (step,) = rewriter.rewrites(product)
    assert here.local_change((step,), step.replacements).saved == 1


def test_combined_weights_meet_another_weight_in_a_longer_sum(op):
    x = tensor(Var, "x", 16, 8)
    down, up = tensor(Const, "down", 8, 2), tensor(Const, "up", 2, 8)
    biased = op.Add(op.MatMul(x, tensor(Const, "weight", 8, 8)), tensor(Const, "bias", 8))
    whole = op.Add(biased, op.MatMul(op.MatMul(x, down), up))
    found = folding(op, whole, ASSOCIATE, JOIN)
    weight = op.Add(tensor(Const, "weight", 8, 8), op.MatMul(down, up))
    wanted = op.Add(op.MatMul(x, weight), tensor(Const, "bias", 8))
    assert [len(steps) for steps, replacements in found if replacements == ((whole, wanted),)] == [2]


def test_what_takes_an_operator_apart_continues_no_sequence_that_combines_weights(op):
    x, down, up = tensor(Var, "x", 16, 8), tensor(Const, "down", 8, 2), tensor(Const, "up", 2, 8)
    whole = op.MatMul(op.MatMul(x, down), up)
    turned = "Transpose(MatMul(Transpose({}; perm=(-1, -2)), Transpose(x; perm=(-1, -2))); perm=(-1, -2))"
    three_more, five_more = turned.format("y"), f"Neg({turned.format('Neg(y)')})"
    images = [
        [new for _, replacements in folding(op, whole, ASSOCIATE, rule) for _, new in replacements]
        for rule in (f"MatMul(x, y) = {target} where x[m, k], y[k, n]" for target in (three_more, five_more))
    ]
    assert [any("Transpose" in repr(image) for image in found) for found in images] == [True, False]


def test_of_what_the_same_rules_do_with_the_operands_of_a_sum_the_first_few_are_looked_into(op, monkeypatch):
    x, down, up = tensor(Var, "x", 16, 8), tensor(Const, "down", 8, 2), tensor(Const, "up", 2, 8)
    products = [op.MatMul(x, tensor(Const, f"w{number}", 8, 8)) for number in range(6)]
    whole = reduce(op.Add, (*products, op.MatMul(op.MatMul(x, down), up)))

    def most_alike():
        begun = (
            (steps[0].root, *(id(step.rule) for step in steps)) for steps, _ in folding(op, whole, ASSOCIATE, JOIN)
        )
        return max(Counter(begun).values())

    assert 1 < most_alike() <= folds.SEQUENCES_ALIKE
    monkeypatch.setattr(folds, "SEQUENCES_ALIKE", 1)
    assert most_alike() == 1


def test_sequences_at_places_that_look_alike_are_looked_into_where_the_first_one_gains(op):
    rule = parse_rule(ASSOCIATE, op)
    weights = [tensor(Const, name, 8, 8) for name in "abc"]
    towers = [reduce(op.MatMul, weights, tensor(Var, f"x{at}", 4, 8)) for at in range(6)]
    gaining, priced = [], []
    for gain in (-1.0, 0.0):
        rewriter, asked = Rewriter(op, RuleSet((rule,))), []

        def price(changes, bearable, gain=gain, asked=asked):
            asked += [change for change in changes if len(change.steps) > 1]
            return [gain if len(change.steps) > 1 else 0.0 for change in changes]

        single, _ = moves_from(Neighbourhood(tuple(towers)), rewriter, price, Trials())
        gaining.append({move.replacements[0][0] for move in single if len(move.steps) > 1})
        priced.append(len(asked))
    assert gaining[0] >= set(towers) and not gaining[1]
    assert priced[0] == 6 * priced[1] > 0


def test_at_places_that_look_alike_only_what_gains_at_the_first_one_is_priced(op):
    weights = [tensor(Const, name, 8, 8) for name in "abcd"]

    def asked(count):
        """How many sequences are priced with JOIN, which never gains, and without it."""
        inputs = [tensor(Var, f"x{at}", 4, 8) for at in range(count)]
        graph = tuple(op.Add(reduce(op.MatMul, weights[:3], x), op.MatMul(x, weights[3])) for x in inputs)
        rewriter = Rewriter(op, RuleSet(tuple(parse_rule(rule, op) for rule in (ASSOCIATE, JOIN))))
        found: Counter[bool] = Counter()

        def price(changes, bearable=0.0):
            joins = [any(step.rule.rule.source[0].operator == "Add" for step in change.steps) for change in changes]
            found.update(join for join, change in zip(joins, changes, strict=True) if len(change.steps) > 1)
            return [1.0 if join else -1.0 for join in joins]

        moves_from(Neighbourhood(graph), rewriter, price, Trials())
        return found[True], found[False]

    (joined, others), (joined_of_six, others_of_six) = asked(1), asked(6)
    assert 0 < joined_of_six < 3 * joined  # one of the six, built first, has a look of its own
    assert others_of_six == 6 * others > 0


def test_groups_are_paired_twice_where_doing_so_once_loses(op):
    window = {"strides": (1, 1), "pads": (1,) * 4, "dilations": (1, 1)}
    image, kernel = tensor(Var, "x", 1, 64, 8, 8), tensor(Const, "w", 64, 8, 3, 3)
    whole = op.Conv(image, kernel, **window, group=8)
    twice = op.Conv(image, op.PairGroups(op.PairGroups(kernel, group=4), group=2), **window, group=2)
    seconds = {8: 0.0, 4: 1.0, 2: -1.0, 1: 2.0}

    def price(changes, bearable=0.0):
        return [seconds[change.replacements[0][1].attribute("group")] for change in changes]

    single, _ = moves(op, (whole,), (PAIR,), price, trials=Trials())
    assert [move.replacements for move in single if move.change < 0] == [((whole, twice),)]
