"""Channels that lead to nothing are added from the convolutions that give them to those that read them."""

import pytest

from fake_cost import FakeCost
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Var, postorder
from taso_opt.cost import Layouts
from taso_opt.onnx_io import PLAIN
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.moves import moves_from, widening_moves
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.plan import SearchLimits
from taso_opt.search.prices import Prices
from taso_opt.search.sequences.widening import widenings
from taso_opt.search.trials import Trials
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules
from terms import assert_same_values, tensor

SAME = {"dilations": (1, 1), "pads": (1, 1, 1, 1), "strides": (1, 1)}
POINT = {"dilations": (1, 1), "pads": (0, 0, 0, 0), "strides": (1, 1)}
WINDOW = {"kernel": (3, 3), "pads": (1, 1, 1, 1), "strides": (1, 1)}


@pytest.fixture(scope="module")
def rewriter(op):
    return Rewriter(op, read_rules(None, op))


def conv(op, x, name, outputs, kernel=1, bias=True):
    """A convolution of all channels that keeps the size of an image."""
    weights = tensor(Const, f"w_{name}", outputs, op.type(x).shape[1], kernel, kernel)
    biases = [tensor(Const, f"b_{name}", outputs)] if bias else []
    return op.Conv(x, weights, *biases, group=1, **(SAME if kernel == 3 else POINT))


def separable(op, x, name, outputs):
    channels = op.type(x).shape[1]
    deep = op.Conv(op.Relu(x), tensor(Const, f"d_{name}", channels, 1, 3, 3), group=channels, **SAME)
    return conv(op, deep, name, outputs)


def cell(op, x, channels):
    """What a cell of a found architecture has between its first convolution and its join."""
    first = conv(op, x, "first", channels)
    smooth = op.AveragePool(first, count_include_pad=1, **WINDOW)
    largest = op.MaxPool(first, dilations=(1, 1), **WINDOW)
    sums = op.Add(separable(op, first, "one", channels), first), op.Add(smooth, separable(op, first, "two", channels))
    return op.Concat(*sums, largest, axis=-3)


def found(op, rewriter, *outputs, channels=6):
    terms = postorder(outputs)
    converted = [term for term in terms if rewriter.size(term, -3) == channels]
    return list(widenings(terms, outputs, converted, rewriter))


def image_sizes(op, roots):
    """The numbers of channels of all images that are computed."""
    return {op.type(term).shape[1] for term in live(roots) if op.type(term).rank == 4}


def cuts(roots):
    return [term for term in live(roots) if term.operator in ("Slice", "Split", "Pad")]


def live(roots):
    """The operators that are computed when the model runs."""
    return [term for term in postorder(roots) if isinstance(term, Apply) and Var in map(type, postorder([term]))]


def replaced(rewriter, root, replacements):
    return rewriter.replaced(root, dict(replacements))


@pytest.mark.parametrize("bias", [False, True])
def test_a_cell_is_widened_up_to_what_reads_its_join(op, rewriter, bias):
    x = tensor(Var, "x", 1, 12, 5, 5)
    root = conv(op, op.Relu(cell(op, x, 6)), "last", 4, 3, bias)
    sequences = found(op, rewriter, root)
    widths = []
    for _, replacements in sequences:
        new = replaced(rewriter, root, replacements)
        widths.append(image_sizes(op, [new]) - {4})
        assert cuts([new]) == []
        assert_same_values(op, [root], [new])
    assert widths == [{8, 24}, {16, 48}]


def test_what_two_read_is_widened_once(op, rewriter):
    joined = cell(op, tensor(Var, "x", 1, 16, 5, 5), 6)
    roots = [conv(op, op.Relu(joined), name, 8) for name in ("left", "right")]
    sequences = found(op, rewriter, *roots)
    assert sequences
    for _, replacements in sequences:
        new = [replaced(rewriter, root, replacements) for root in roots]
        assert len({term.args[0] for term in new}) == 1
        assert len(postorder(new)) < 2 * len(postorder(new[:1]))


def test_every_step_is_one_of_a_rule_and_gives_equal_types(op, rewriter):
    root = conv(op, op.Relu(cell(op, tensor(Var, "x", 1, 16, 5, 5), 6)), "last", 4)
    sequences = found(op, rewriter, root)
    assert sequences
    for steps, _ in sequences:
        for step in steps:
            assert step.rule.rule.certificate is not None
            for old, new in step.replacements:
                assert op.types(old) == op.types(new)


READERS = {
    "an output": lambda op, x: x,
    "a sum over channels": lambda op, x: op.Softmax(x, axis=-3),
    "another shape": lambda op, x: op.Reshape(x, shape=(1, 2, 3, 4, 4)),
    "a group of channels": lambda op, x: op.Conv(x, tensor(Const, "g", 4, 3, 1, 1), group=2, **POINT),
}


@pytest.mark.parametrize("reader", READERS)
def test_images_are_not_cut_again(op, rewriter, reader):
    """Where something needs the channels as they were, all stays as it is."""
    narrow = op.Relu(conv(op, tensor(Var, "x", 1, 16, 4, 4), "first", 6))
    read = conv(op, narrow, "last", 4)
    assert found(op, rewriter, read) != []
    assert found(op, rewriter, read, READERS[reader](op, narrow)) == []


def test_single_numbers_behind_a_mean_are_cut(op, rewriter):
    narrow = op.Relu(conv(op, tensor(Var, "x", 1, 16, 4, 4), "first", 6))
    root = op.Reshape(op.GlobalAveragePool(narrow), shape=(1, 6))
    sequences = found(op, rewriter, root)
    assert len(sequences) == 2
    for _, replacements in sequences:
        new = replaced(rewriter, root, replacements)
        (cut,) = cuts([new])
        assert op.type(cut.args[0]).shape[2:] == (1, 1)
        assert_same_values(op, [root], [new])


def test_scales_slopes_and_biases_of_channels_are_widened(op, rewriter):
    x = conv(op, tensor(Var, "x", 1, 16, 4, 4), "first", 6)
    scaled = op.Add(op.Mul(x, tensor(Const, "s", 6, 1, 1)), tensor(Const, "t", 1, 6, 1, 1))
    root = conv(op, op.PRelu(scaled, tensor(Const, "p", 6, 1, 1)), "last", 4)
    sequences = found(op, rewriter, root)
    assert len(sequences) == 2
    for _, replacements in sequences:
        assert_same_values(op, [root], [replaced(rewriter, root, replacements)])


@pytest.mark.parametrize(("channels", "added"), [(6, [2, 10]), (8, [8]), (32, []), (40, [8]), (44, [4])])
def test_channels_fill_blocks(op, rewriter, channels, added):
    root = conv(op, op.Relu(conv(op, tensor(Var, "x", 1, 16, 4, 4), "first", channels)), "last", 4)
    sequences = found(op, rewriter, root, channels=channels)
    sizes = [image_sizes(op, [replaced(rewriter, root, pairs)]) for _, pairs in sequences]
    assert sizes == [{4, channels + more} for more in added]


class InBlocks(FakeCost):
    """A runtime that converts images whose channels do not fill blocks of eight, which takes much longer."""

    def execution(self, outputs):
        terms = postorder(outputs)
        odd = {term: {user: PLAIN for user in terms if term in user.children} for term in terms if self._is_odd(term)}
        return (), Layouts(frozenset(odd), odd)

    def known(self, unit):
        return super().known(unit) * (10 if self._is_odd(unit) else 1)

    def _is_odd(self, term):
        kinds = self._builder.types(term) if isinstance(term, Apply) else ()
        return any(kind.rank == 4 and kind.shape[1] % 8 != 0 for kind in kinds)


def test_the_search_widens_what_is_converted_and_only_that(op, rewriter):
    root = conv(op, op.Relu(cell(op, tensor(Var, "x", 1, 16, 5, 5), 6)), "last", 8)
    limits = SearchLimits(expansions=3)
    for cost, sizes in ((InBlocks(op), {8, 24}), (FakeCost(op), {6, 8, 18})):
        search = BacktrackingSearch(op, rewriter, cost, lambda term: True, 1.05, limits)
        best = search.run((root,)).plans[0]
        assert image_sizes(op, best.outputs) == sizes
        assert_same_values(op, [root], [best.outputs[0]])


def test_channels_are_padded_when_all_else_is_done(op, rewriter):
    """Padded convolutions would be joined with their zeros: in place of 8 channels there would be 16."""
    x, cost = tensor(Var, "x", 1, 16, 5, 5), InBlocks(op)
    root = conv(op, op.Relu(op.Concat(conv(op, x, "left", 4), conv(op, x, "right", 4), axis=-3)), "last", 8)
    here = Neighbourhood((root,), layouts=cost.execution((root,))[1], is_constant=rewriter.is_constant)
    padded = widening_moves(here, rewriter, Prices(cost).of)
    assert padded
    single, joint = moves_from(here, rewriter, Prices(cost).of, Trials())
    assert single
    assert not {move.steps for move in padded} & {move.steps for move in (*single, *joint)}
    search = BacktrackingSearch(op, rewriter, cost, lambda term: True, 1.05, SearchLimits(expansions=5))
    best = search.run((root,)).plans[0]
    assert image_sizes(op, best.outputs) == {8}
    assert_same_values(op, [root], [best.outputs[0]])


def test_a_search_whose_time_is_over_does_not_widen(monkeypatch):
    op = load_specs().builder()
    asked = []
    monkeypatch.setattr("taso_opt.search.backtracking.widening_moves", lambda *given: asked.append(given) or [])
    for budget in (0.0, 40.0):
        space = op, Rewriter(op, RuleSet(())), FakeCost(op), lambda term: True, 1.05
        BacktrackingSearch(*space, SearchLimits(budget=budget)).run((op.Relu(tensor(Var, "x", 4)),))
        assert len(asked) == (budget > 0)
