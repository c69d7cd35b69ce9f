"""Rows become pixels from one product to the next, where products with weights and maps alone lie between."""

from dataclasses import replace

import pytest

from fake_cost import FakeCost
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Var, postorder
from taso_opt.generate.schemes.moved import discover_moved
from taso_opt.generate.schemes.pixels import discover_pixels
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.plan import SearchLimits
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule
from terms import assert_same_values, tensor

MAPS = ("Relu", "Sigmoid", "Tanh")
TURNED = "perm=(-1, -2)"
ENUMERATED = (
    f"x = Transpose(Transpose(x; {TURNED}); {TURNED}) where x[*b, m, k]",
    "x = Reshape(Reshape(x; shape=(*s,)); shape=(*b,)) where x[*b]",
    *(f"{name}(Transpose(x; {TURNED})) = Transpose({name}(x); {TURNED}) where x[*b, m, k]" for name in MAPS),
    *(f"{name}(Reshape(x; shape=(*s,))) = Reshape({name}(x); shape=(*s,)) where x[*b]" for name in MAPS),
    f"Mul(Transpose(x; {TURNED}), Transpose(y; {TURNED})) = Transpose(Mul(x, y); {TURNED}) "
    "where x[*b, m, k], y[*b, m, k]",
    "Mul(Reshape(x; shape=(*s,)), Reshape(y; shape=(*s,))) = Reshape(Mul(x, y); shape=(*s,)) where x[*b], y[*b]",
)
"""What the enumeration finds about transpositions and reshapes."""


@pytest.fixture(scope="module")
def rules(op):
    library = load_specs()
    names = frozenset(library.operators)
    enumerated = [parse_rule(text, op) for text in ENUMERATED]
    found = (*discover_pixels(library, 0, names), *discover_moved(library, 0, names & {"Erf", "Reshape", "Transpose"}))
    return [replace(rule, name=f"rule{number}") for number, rule in enumerate((*enumerated, *found))]


@pytest.fixture(scope="module")
def rewriter(op, rules):
    return Rewriter(op, RuleSet(rules))


def linear(op, x, name, size, bias=False):
    product = op.MatMul(x, tensor(Const, f"w_{name}", op.type(x).shape[-1], size))
    return op.Add(product, tensor(Const, f"b_{name}", size)) if bias else product


def rewritten(op, rewriter, *outputs):
    """For each region the outputs with its rows as pixels; they compute the same."""
    here = Neighbourhood(outputs, is_constant=rewriter.is_constant)
    found = []
    for steps, replacements in here.pictured(rewriter):
        for step in steps:
            for old, new in step.replacements:
                assert op.types(old) == op.types(new)
        new = [rewriter.replaced(output, dict(replacements)) for output in outputs]
        assert_same_values(op, outputs, new)
        found.append(new)
    return found


def counted(roots, *names):
    """How many operators of these names are computed of inputs."""
    live = [one for one in postorder(roots) if isinstance(one, Apply) and Var in map(type, postorder([one]))]
    return [sum(one.operator == name for one in live) for name in names]


@pytest.mark.parametrize("shape", [(6, 4), (2, 6, 4)])
@pytest.mark.parametrize("bias", [False, True])
def test_rows_are_turned_once_before_several_products_and_once_behind_them(op, rewriter, shape, bias):
    root = tensor(Var, "x", *shape)
    for at, size in enumerate((8, 4, 8)):
        root = op.Relu(linear(op, root, str(at), size, bias))
    (new,) = rewritten(op, rewriter, root)
    assert counted(new, "Conv", "MatMul", "Add", "Transpose", "Reshape") == [3, 0, 0, 2, 2]
    ((_, replacements),) = Neighbourhood((root,), is_constant=rewriter.is_constant).pictured(rewriter)
    assert [old for old, _ in replacements] == [root]


def test_gates_of_one_input_are_one_region(op, rewriter):
    x = tensor(Var, "x", 6, 4)
    gated = op.Mul(op.Sigmoid(linear(op, x, "gate", 8)), op.Erf(linear(op, x, "value", 8)))
    (new,) = rewritten(op, rewriter, op.Tanh(linear(op, gated, "out", 4)))
    assert counted(new, "Conv", "MatMul", "Transpose") == [3, 0, 2]


def test_what_no_rule_takes_rows_past_ends_a_region(op, rewriter):
    x = tensor(Var, "x", 6, 4)
    one = op.Relu(linear(op, op.Relu(linear(op, x, "a", 8)), "b", 4))
    between = op.Softmax(one, axis=-1)
    two = linear(op, op.Relu(linear(op, between, "c", 8)), "d", 4)
    first, second = rewritten(op, rewriter, two)
    assert counted(first, "Conv", "MatMul") == counted(second, "Conv", "MatMul") == [2, 2]
    assert first != second


def test_a_single_product_stays_as_it_is(op, rewriter):
    x = tensor(Var, "x", 6, 4)
    assert rewritten(op, rewriter, op.Relu(linear(op, x, "a", 8, bias=True))) == []
    assert rewritten(op, rewriter, op.MatMul(x, op.MatMul(tensor(Var, "y", 4, 8), tensor(Var, "z", 8, 4)))) == []


def test_what_is_used_beyond_a_region_is_turned_back(op, rewriter):
    x = tensor(Var, "x", 6, 4)
    inner = op.Relu(linear(op, x, "a", 8))
    outer = linear(op, inner, "b", 4)
    (new,) = rewritten(op, rewriter, outer, op.Softmax(inner, axis=-1))
    assert counted(new, "Conv", "MatMul", "Transpose") == [2, 0, 3]


def test_a_product_that_is_used_without_its_bias_too_keeps_it_apart(op, rewriter):
    x = tensor(Var, "x", 6, 4)
    product = linear(op, x, "a", 8)
    biased = op.Add(product, tensor(Const, "b_a", 8))
    (new,) = rewritten(op, rewriter, linear(op, op.Relu(product), "b", 4), op.Softmax(biased, axis=-1))
    assert counted(new, "Conv", "MatMul", "Add") == [2, 0, 1]


@pytest.mark.parametrize("number", ["Gelu", "pieces"])
def test_images_with_channels_last_between_others_stay_images(op, rewriter, number):
    image, back, front = tensor(Var, "x", 2, 3, 4, 5), (-2, -1, -3), (-1, -3, -2)
    last = op.Transpose(image, perm=back)
    wide = linear(op, last, "a", 6, bias=True)
    half, factor = tensor(Const, "half"), tensor(Const, "factor")
    pieces = op.Mul(op.Mul(wide, half), op.Erf(op.Mul(wide, factor)))
    active = op.Gelu(wide, factor) if number == "Gelu" else pieces
    root = op.Transpose(linear(op, active, "b", 3, bias=True), perm=front)
    (new,) = rewritten(op, rewriter, root)
    assert counted(new, "Conv", "MatMul", "Add", "Transpose", "Reshape") == [2, 0, 0, 0, 0]


def test_what_a_gate_is_made_of_becomes_an_image_wherever_it_is_used(op, rewriter):
    active = op.Relu(linear(op, tensor(Var, "x", 6, 4), "a", 8))
    columns = op.Softmax(op.Transpose(active, perm=(-1, -2)), axis=-1)
    gate = linear(op, op.Transpose(columns, perm=(-1, -2)), "b", 8)
    (new,) = rewritten(op, rewriter, op.Mul(active, gate))
    assert counted(new, "Conv", "Transpose") == [2, 2]


def test_the_search_takes_a_region_where_that_gains(op, rewriter):
    root = tensor(Var, "x", 6, 4)
    for at, size in enumerate((8, 4)):
        root = op.Relu(linear(op, root, str(at), size))

    search = BacktrackingSearch(op, rewriter, FakeCost(op), lambda term: True, 1.05, SearchLimits(expansions=5))
    (new,) = search.run((root,)).plans[0].outputs
    assert counted([new], "Conv", "MatMul") == [2, 0]
    assert_same_values(op, [root], [new])


class DearPixels(FakeCost):
    """Products cost ten, their convolutions a little more, activations one, and what moves elements next to nothing."""

    def known(self, unit):
        return {"MatMul": 10.0, "Conv": 10.3, "Relu": 1.0}.get(unit.operator, 0.01)

    def work(self, unit):
        return 1000 * (unit.operator in ("MatMul", "Conv"))


def test_rows_as_pixels_stand_by_where_they_lose_little(op, rules, monkeypatch):
    root = op.Relu(op.Relu(tensor(Var, "x", 6, 4)))
    for at, size in enumerate((8, 4)):
        root = op.Relu(linear(op, root, str(at), size))
    rewriter = Rewriter(op, RuleSet((*rules, parse_rule("Relu(Relu(x)) = Relu(x) where x[*b]", op))))

    def plans():
        space = op, rewriter, DearPixels(op), lambda term: True, 1.001, SearchLimits(expansions=5)
        return BacktrackingSearch(*space).run((root,)).plans

    best, pixels, original = plans()
    assert [counted(plan.outputs, "Conv", "MatMul", "Relu") for plan in (best, pixels)] == [[0, 2, 3], [2, 0, 3]]
    assert best.cost < pixels.cost < original.cost
    assert_same_values(op, [root], pixels.outputs)
    monkeypatch.setattr("taso_opt.search.backtracking.BEARABLE", 0.001)
    assert [plan.outputs for plan in plans()] == [best.outputs, original.outputs]


def test_a_product_without_rows_is_no_convolution(op, rewriter):
    assert rewriter.with_pixels(op.MatMul(tensor(Var, "x", 4, 64), tensor(Const, "w", 64, 32))) is not None
    assert rewriter.with_pixels(op.MatMul(tensor(Var, "x", 0, 64), tensor(Const, "w", 64, 32))) is None
