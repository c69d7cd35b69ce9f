"""The visit of all graphs that rules reach, and the page that compares the search with the cheapest of them."""

from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import onnx
import pytest

import bench_optimum
from bench_optimum import Row
from benchmarks import exhaustive
from benchmarks.exhaustive import Visitor, cheapest, described
from fake_cost import FakeCost
from networks.small import SMALL
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import OPAQUE, Apply, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.onnx_io import read_model
from taso_opt.rewrite.patterns.apply import substitute_terms
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule

ASSOCIATIVE = "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[*b, k, n], z[*b, n, p]"
SIZES = (30, 35, 15, 5, 10, 20)


def chain(sizes=SIZES):
    """A product of matrices bracketed from the left, with what rewrites it."""
    op = load_specs().builder()
    matrices = [Var(f"m{at}", TensorType("float32", pair)) for at, pair in enumerate(pairwise(sizes))]
    product = matrices[0]
    for matrix in matrices[1:]:
        product = op.MatMul(product, matrix)
    return op, Rewriter(op, RuleSet((parse_rule(ASSOCIATIVE, op),))), (product,)


def visit(op, rewriter, outputs, limit=1000, most=100, admissible=lambda term: True):
    return Visitor(op, rewriter, admissible, limit).visit(outputs, most)


@pytest.mark.parametrize(("matrices", "brackets"), [(2, 1), (3, 2), (4, 5), (5, 14), (6, 42)])
def test_every_way_to_bracket_a_product_is_visited_once(matrices, brackets):
    op, rewriter, outputs = chain((2,) * matrices + (3,))
    found = visit(op, rewriter, outputs)
    assert found.exhausted
    assert len(found.origins) == brackets


def test_the_cheapest_bracketing_is_that_of_dynamic_programming():
    op, rewriter, outputs = chain()

    @cache
    def least(first, last):
        if first == last:
            return 0.0
        cuts = range(first, last)
        ends = SIZES[first] * SIZES[last + 1] * 0.01
        return min(least(first, cut) + least(cut + 1, last) + 5 + ends * SIZES[cut + 1] for cut in cuts)

    cost = FakeCost(op)
    found = visit(op, rewriter, outputs)
    best = cheapest(cost, found.origins, outputs)
    assert cost.cost(best) == pytest.approx(least(0, len(SIZES) - 2))
    assert cost.cost(best) == pytest.approx(4 * 5 + 11875 * 0.01)
    assert cost.cost(best) < cost.cost(outputs)


def test_the_steps_to_a_graph_lead_there_one_by_one():
    op, rewriter, outputs = chain()
    found = visit(op, rewriter, outputs)
    lengths = set()
    for graph in found.origins:
        here = outputs
        for step in found.path(graph):
            here = substitute_terms(op, here, step.mapping)
        assert here == graph
        lengths.add(len(found.path(graph)))
    assert lengths == {0, 1, 2, 3}


def test_a_visit_that_ends_early_says_so():
    op, rewriter, outputs = chain()
    found = visit(op, rewriter, outputs, limit=5)
    assert (len(found.origins), found.exhausted, found.everything) == (5, False, False)
    assert visit(op, rewriter, outputs, limit=14).everything


def test_what_cannot_be_written_is_not_passed_through():
    op, rewriter, outputs = chain((2, 2, 2, 3))
    assert list(visit(op, rewriter, outputs, admissible=lambda term: False).origins) == [outputs]


def growing():
    """A product with a sum of three, which distributes in two steps, one operator more each."""
    op = load_specs().builder()
    rule = "MatMul(x, Add(y, z)) = Add(MatMul(x, y), MatMul(x, z)) where x[*b, m, k], y[*b, k, n], z[*b, k, n]"
    x, *others = (Var(name, TensorType("float32", (2, 2))) for name in "xabc")
    outputs = (op.MatMul(x, op.Add(op.Add(others[0], others[1]), others[2])),)
    return op, Rewriter(op, RuleSet((parse_rule(rule, op),))), outputs


def test_graphs_of_too_many_operators_are_left_out_and_missed():
    op, rewriter, outputs = growing()
    sizes = [len(visit(op, rewriter, outputs, most=most).origins) for most in (3, 4, 5)]
    assert sizes[0] == 1 < sizes[1] < sizes[2]
    assert [visit(op, rewriter, outputs, most=most).everything for most in (3, 4, 5)] == [False, False, True]
    assert visit(op, rewriter, outputs, most=3).exhausted


def test_a_visit_is_widened_until_it_has_everything_or_too_much():
    op, rewriter, outputs = growing()
    visits, more = Visitor(op, rewriter, lambda term: True, 1000).widening(outputs)
    assert (more, len(visits), visits[-1].everything) == (2, 3, True)
    visits, more = Visitor(op, rewriter, lambda term: True, 1).widening(outputs)
    assert (more, len(visits), visits[-1].exhausted) == (0, 2, False)


def test_a_visit_around_the_result_does_not_stand_for_one_that_was_cut_off():
    op, rewriter, outputs = growing()
    alone = (Var("y", TensorType("float32", (2, 2))),)
    for graphs, expected in ((1000, None), (1, 0)):
        visitor = Visitor(op, rewriter, lambda term: True, graphs)
        model = SimpleNamespace(graph=SimpleNamespace(outputs=outputs))
        here = SimpleNamespace(
            model=model, visitor=lambda graphs, one=visitor: one, work=lambda graph: 0, cost=FakeCost(op)
        )
        best, visits, more = bench_optimum.visited(here, {bench_optimum.DEFAULT_ALPHA: alone}, graphs)
        assert more == expected
        assert best == alone and any(alone in one.origins for one in visits)  # though no single step leads there


class LazyCost(FakeCost):
    """Knows only the kernels that it was asked to prepare."""

    def __init__(self, builder):
        super().__init__(builder)
        self.prepared = {}

    def prepare(self, units):
        self.prepared.update((unit, FakeCost.known(self, unit)) for unit in units)

    def cost(self, outputs):
        units = self.units(outputs)
        self.prepare(units)
        return sum(self.prepared[unit] for unit in units)

    def known(self, unit):
        return self.prepared.get(unit)


def test_only_kernels_of_graphs_that_may_be_the_cheapest_are_measured(monkeypatch):
    monkeypatch.setattr(exhaustive, "AT_ONCE", 1)
    op, rewriter, outputs = chain((1, 1, 400, 400, 400, 400, 1))
    found, cost = visit(op, rewriter, outputs), LazyCost(op)
    best = cheapest(cost, found.origins, outputs)
    kernels = {unit for graph in found.origins for unit in cost.units(graph)}
    assert cost.cost(best) == min(FakeCost(op).cost(graph) for graph in found.origins)
    assert len(cost.prepared) < len(kernels)


def test_steps_are_told_with_the_operators_that_they_touch():
    op, rewriter, outputs = chain((2, 2, 2, 3))
    found = visit(op, rewriter, outputs)
    (step,) = found.path(list(found.origins)[1])
    assert described([step]) == [": MatMul(MatMul(m0, m1), m2) -> MatMul(m0, MatMul(m1, m2))"]


def row(name="net", all_up_to=None, optimum=1e-6, steps=("id: Relu(x) -> x",), started_at_result=False):
    found = {1.0: 1.2e-6, 1.05: 1.1e-6, 1.1: 1e-6}
    return Row(
        name, 5, 123, all_up_to, 2e-6, found, optimum, steps, started_at_result, 1.0, 0.5, 9.0, (0.0, 0.021, 0.019)
    )


def test_gaps_are_shares_of_the_optimum():
    cells = [cell.strip() for cell in bench_optimum.line(row()).split("|")]
    assert cells[1:11] == ["net", "5", "123", "all", "2.0", "1.1", "1.0", "10.0%", "20.0%", "0.0%"]
    assert cells[-2] == "1 of 3"


def test_the_page_counts_hits_and_tells_misses(tmp_path):
    page = tmp_path / "page.md"
    rows = [row(), row("hit", optimum=1.1e-6), row("far", all_up_to=2, started_at_result=True)]
    bench_optimum.write(rows, page, 200)
    text = page.read_text()
    assert "at most 200 graphs a visit. On 1 networks of 3 the search finds" in text
    assert "| far | 5 | 123 | +2 |" in text
    assert "`net`, 10.0%, from the original:\n\n1. `id: Relu(x) -> x`" in text
    assert "`far`, 10.0%, from what the search found:" in text
    assert "`hit`" not in text


def opaque_nodes(outputs):
    terms = [term for term in postorder(outputs) if isinstance(term, Apply) and term.operator == OPAQUE]
    return [term.attribute("node") for term in terms]


@pytest.mark.parametrize("name", SMALL)
def test_every_small_network_is_valid_and_read_with_operators_that_rules_know(name, tmp_path):
    path = tmp_path / "small.onnx"
    proto = SMALL[name]()
    onnx.checker.check_model(proto, full_check=True)
    onnx.save(proto, path)
    model = read_model(path, load_specs(), {})
    assert len(proto.graph.node) <= 16
    opaque = {proto.graph.node[number].op_type for number in opaque_nodes(model.graph.outputs)}
    assert opaque <= {"BatchNormalization"}
