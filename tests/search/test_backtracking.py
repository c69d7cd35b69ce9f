"""The search finds what the rules allow, keeps values, and stops when it should."""

import pytest

from fake_cost import FakeCost
from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Term, Var, operator_count, postorder
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.clock import Clock
from taso_opt.search.moves import moves_from
from taso_opt.search.neighbourhood import Neighbourhood
from taso_opt.search.plan import Patience, Plan, SearchLimits, Shortlist
from taso_opt.search.trials import Trials
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule
from terms import assert_same_values, tensor

RULES = (
    "(MatMul(x, w), MatMul(y, w)) = (Split(MatMul(Concat(x, y; axis=-2), w); axis=-2, sizes=(m, p))[0], "
    "Split(MatMul(Concat(x, y; axis=-2), w); axis=-2, sizes=(m, p))[1]) where x[*b, m, k], y[*b, p, k], w[k, n]",
    "(Relu(Split(x; axis=-2, sizes=(n, p))[0]), Relu(Split(x; axis=-2, sizes=(n, p))[1])) = "
    "(Split(Relu(x); axis=-2, sizes=(n, p))[0], Split(Relu(x); axis=-2, sizes=(n, p))[1]) where x[*b, n+p, m]",
    "Concat(Split(x; axis=-2, sizes=(n, p))[0], Split(x; axis=-2, sizes=(n, p))[1]; axis=-2) = x where x[*b, n+p, m]",
    "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[*b, k, n], z[*b, n, p]",
    "MatMul(x, Add(y, z)) = Add(MatMul(x, y), MatMul(x, z)) where x[*b, m, k], y[*b, k, n], z[*b, k, n]",
)


all_steps = Rewriter.steps


def search(outputs, alpha=1.05, **limits):
    op = load_specs().builder()
    rules = RuleSet(tuple(parse_rule(text, op) for text in RULES))
    finder = BacktrackingSearch(op, Rewriter(op, rules), FakeCost(op), lambda term: True, alpha, SearchLimits(**limits))
    return op, finder.run(outputs)


def towers(count, layers):
    op = load_specs().builder()
    outputs = []
    for tower in range(count):
        value = tensor(Var, f"x{tower}", 1, 8)
        for layer in range(layers):
            value = op.Relu(op.MatMul(value, tensor(Const, f"w{layer}", 8, 8)))
        outputs.append(value)
    return tuple(outputs)


def test_towers_that_share_weights_become_one_stack():
    outputs = towers(5, 3)
    op, result = search(outputs)
    best = result.plans[0]
    assert operator_count(best.outputs) == 2 + 2 * 3
    assert_same_values(op, outputs, best.outputs)


class Associated(FakeCost):
    """A whole graph costs less when products are associated to the right, though its kernels cost the same."""

    def __init__(self, builder, adds_up):
        super().__init__(builder)
        self.adds_up = adds_up

    def cost(self, outputs):
        left = outputs[0].args[0]
        return 100 + super().cost(outputs) + (isinstance(left, Apply) and left.operator == "MatMul")


@pytest.mark.parametrize("adds_up", [True, False])
def test_what_kernels_do_not_gain_is_noise_unless_graphs_cost_more_than_their_kernels(adds_up):
    op = load_specs().builder()
    x, y, z = (tensor(Var, name, 8, 8) for name in "xyz")
    outputs = (op.MatMul(op.MatMul(x, y), z),)
    rules = Rewriter(op, RuleSet((parse_rule(RULES[3], op),)))
    result = BacktrackingSearch(op, rules, Associated(op, adds_up), lambda term: True, 1.05, SearchLimits()).run(
        outputs
    )
    assert result.plans[0].outputs == (outputs if adds_up else (op.MatMul(x, op.MatMul(y, z)),))


class FreeNegation(FakeCost):
    """The runtime is said to compute the negation of a negation for nothing."""

    def known(self, unit):
        return 0.0 if unit.operator == "Neg" else super().known(unit)


def test_what_costs_nothing_and_leaves_fewer_operators_is_done_before_the_search():
    op = load_specs().builder()
    rules = ("Neg(Neg(x)) = x where x[*any_x]", "Max(Max(x, y), y) = Max(x, y) where x[*a], y[*a]")
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(text, op) for text in rules)))
    x, y = tensor(Var, "x", 4), tensor(Var, "y", 4)
    outputs = (op.Max(op.Neg(op.Neg(op.Max(x, y))), y),)
    space = op, rewriter, FreeNegation(op), lambda term: True, 1.05
    found = BacktrackingSearch(*space, SearchLimits(expansions=2)).run(outputs)
    assert found.plans[0].outputs == (op.Max(x, y),)
    assert [step.rule.rule.source[0].operator for step in found.plans[0].steps] == ["Neg", "Max"]
    (untouched,) = BacktrackingSearch(*space, SearchLimits(expansions=2)).run((op.Neg(op.Neg(x)),)).plans
    assert untouched.outputs == (op.Neg(op.Neg(x)),), "what only costs nothing is no gain"


class WaitingForWeights(FakeCost):
    """A product takes as long as its weights take to arrive, however many rows it has; the rest costs nothing."""

    def known(self, unit):
        return float(self._builder.type(unit.args[1]).elements) if unit.operator == "MatMul" else 0.0


def test_products_that_cost_as_much_joined_are_not_joined_before_the_search():
    op = load_specs().builder()
    joined = (
        "Add(MatMul(x, y), MatMul(z, w)) = MatMul(Concat(x, z; axis=-1), Concat(y, w; axis=-2)) "
        "where x[*b, m, k], y[k, n], z[*b, m, p], w[p, n]"
    )
    state, of_input, of_state = tensor(Var, "h", 1, 8), tensor(Const, "u", 8, 8), tensor(Const, "w", 8, 8)
    for step in range(3):
        product = op.MatMul(tensor(Var, f"x{step}", 1, 8), of_input)
        state = op.Tanh(op.Add(product, op.MatMul(state, of_state)))
    others = (op.MatMul(tensor(Var, name, 1, 16), tensor(Const, "v", 16, 16)) for name in "ab")
    rules = RuleSet(tuple(parse_rule(text, op) for text in (*RULES, joined)))
    cost, rewriter = WaitingForWeights(op), Rewriter(op, rules)
    finder = BacktrackingSearch(op, rewriter, cost, lambda term: True, 1.05, SearchLimits(expansions=2))
    result = finder.run((state, *others))
    assert result.plans[-1].cost == 6 * 64 + 2 * 256
    assert result.plans[0].cost == 4 * 64 + 256  # the inputs of all steps have one product, which a joined one has not


class PricesOfFunctions(FakeCost):
    """Each function has its price."""

    def known(self, unit):
        return {"Tanh": 10.0, "Relu": 5.0, "Neg": 6.0, "Abs": 1.0}[unit.operator]


@pytest.mark.parametrize(("budget", "ends_in", "stopped_by"), [(40.0, "Abs", "exhausted"), (0.0, "Tanh", "budget")])
def test_what_gains_less_at_once_is_followed_in_the_end(budget, ends_in, stopped_by):
    """Neither rule can be undone within alpha, and only the one that gains less leads on."""
    op = load_specs().builder()
    made_up = ("Tanh(x) = Relu(x)", "Tanh(x) = Neg(x)", "Neg(x) = Abs(x)")
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(f"{text} where x[*any_x]", op) for text in made_up)))
    outputs = tuple(op.Tanh(tensor(Var, name, 4)) for name in "xy")
    space = op, rewriter, PricesOfFunctions(op), lambda term: True, 1.05
    found = BacktrackingSearch(*space, SearchLimits(budget=budget)).run(outputs)
    assert [output.operator for output in found.plans[0].outputs] == [ends_in] * 2
    assert found.stopped_by == stopped_by


class WholeDearerThanItsParts(PricesOfFunctions):
    """Moves promise a little more than the graphs that they lead to keep."""

    def cost(self, outputs):
        return super().cost(outputs) * (1.0 if all(output.operator == "Tanh" for output in outputs) else 1.02)


def test_no_graph_is_expanded_twice():
    op = load_specs().builder()
    made_up = ("Tanh(x) = Relu(x)", "Tanh(x) = Neg(x)", "Neg(x) = Abs(x)")
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(f"{text} where x[*any_x]", op) for text in made_up)))
    outputs = tuple(op.Tanh(tensor(Var, name, 4)) for name in "xyz")
    expanded = []
    cost = WholeDearerThanItsParts(op)
    search = BacktrackingSearch(op, rewriter, cost, lambda term: True, 1.5, SearchLimits())
    moves = search._expand
    search._expand = lambda plan, *others: expanded.append(plan.outputs) or moves(plan, *others)
    found = search.run(outputs)
    assert len(expanded) == len(set(expanded)) == found.expanded
    assert found.history[0].cost == cost.cost(outputs)


class RoundingUp(FakeCost):
    """Only Tanh costs anything, and a graph without Neg a little more than that, as a sum in another order may."""

    def cost(self, outputs):
        there = {unit.operator for unit in self.units(outputs)}
        return super().cost(outputs) * (1.0 if "Neg" in there else 1 + 1e-15)

    def known(self, unit):
        return 0.7 if unit.operator == "Tanh" else 0.0


def test_what_costs_nothing_is_done_first_though_sums_are_rounded():
    op = load_specs().builder()
    rewriter = Rewriter(op, RuleSet((parse_rule("Neg(Neg(x)) = x where x[*any_x]", op),)))
    cost, outputs = RoundingUp(op), (op.Tanh(op.Neg(op.Neg(tensor(Var, "x", 4)))),)
    original = Plan(outputs, cost.cost(outputs))
    finder = BacktrackingSearch(op, rewriter, cost, lambda term: True, 1.05, SearchLimits())
    settled = finder._settled(original, lambda: False)
    assert settled.cost > original.cost
    assert settled.outputs == (op.Tanh(tensor(Var, "x", 4)),)


def test_of_what_was_left_behind_at_about_one_cost_the_graph_with_fewer_operators_is_followed_first(monkeypatch):
    op = load_specs().builder()
    chains, term = [], tensor(Var, "x", 4)
    for _ in range(8):
        term = op.Tanh(term)
        chains.append((term,))
    finder = BacktrackingSearch(op, Rewriter(op, RuleSet(())), FakeCost(op), lambda term: True, 1.05, SearchLimits())
    many, few, dear = Plan(chains[7], 1.0), Plan(chains[1], 1.02), Plan(chains[0], 1.9)
    finder._first_steps = [dear, many, few]
    followed = []
    monkeypatch.setattr(finder, "_explore", lambda start, patience, kept, heard: followed.append(kept.best))
    finder._descend(Patience(SearchLimits()), Shortlist(Plan(chains[7], 2.0)), lambda best, expanded: None)
    assert followed == [few, many, dear]


def test_a_graph_of_which_the_expansion_is_all_the_work_of_a_descent_is_not_descended_from(monkeypatch):
    op = load_specs().builder()
    x = tensor(Var, "x", 4)
    small, large = (op.Tanh(x),), (op.Tanh(op.Tanh(x)),)
    finder = BacktrackingSearch(op, Rewriter(op, RuleSet(())), FakeCost(op), lambda term: True, 1.05, SearchLimits())
    finder._first_steps = [Plan(large, 1.0), Plan(small, 1.5)]
    followed = []
    monkeypatch.setattr("taso_opt.search.backtracking.MOST_DESCENDED", 1)
    monkeypatch.setattr(finder, "_explore", lambda start, patience, kept, heard: followed.append(kept.best.outputs))
    finder._descend(Patience(SearchLimits()), Shortlist(Plan((x,), 2.0)), lambda best, expanded: None)
    assert followed == [small]


def test_the_steps_of_a_graph_are_looked_for_once(monkeypatch):
    asked: list[tuple[Term, ...]] = []
    monkeypatch.setattr(Rewriter, "steps", lambda self, terms: asked.append(tuple(terms)) or all_steps(self, terms))
    _, result = search(towers(3, 2), expansions=4)
    assert len(asked) >= result.expanded == 4
    assert len(set(asked)) == len(asked), "the start is looked at before the search, and expanded by it"


def test_moves_that_there_is_no_time_to_find_are_left_out():
    outputs = towers(8, 4)
    op = load_specs().builder()
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(text, op) for text in RULES)))
    here, asked = Neighbourhood(outputs), iter([False] * 2)
    some, _ = moves_from(
        here, rewriter, lambda changes, _: [0.0 for _ in changes], Trials(), expired=lambda: next(asked, True)
    )
    everything, _ = moves_from(here, rewriter, lambda changes, _: [0.0 for _ in changes], Trials())
    assert len(some) == 2 < len(everything)


def test_what_a_change_leaves_of_a_graph_is_the_graph_without_what_dies():
    outputs = towers(2, 2)
    here = Neighbourhood(outputs)
    change = here.local_change((), ((outputs[0], outputs[1]),))
    assert set(change.kept) == set(postorder([outputs[1]]))
    assert len(change.kept) == len(set(change.kept))
    assert outputs[1] in change.kept and outputs[0] not in change.kept


class CautiousCost(FakeCost):
    """Promises a fifth of what a change gains, as far as it is judged locally."""

    def cost(self, outputs):
        return sum(FakeCost.known(self, unit) for unit in self.units(outputs))

    def known(self, unit):
        return 0.2 * super().known(unit)


def test_a_joint_move_that_gains_more_than_it_promised_is_followed():
    """The first joint moves beat every promise, so that alpha rules all promises out; what they reached must stay."""
    op, outputs = load_specs().builder(), towers(5, 3)
    rules = RuleSet(tuple(parse_rule(text, op) for text in RULES))
    finder = BacktrackingSearch(op, Rewriter(op, rules), CautiousCost(op), lambda term: True, 1.05, SearchLimits())
    assert operator_count(finder.run(outputs).plans[0].outputs) == 2 + 2 * 3


class WaitingCost(FakeCost):
    """A product takes the time of reading its weights and a little more, whatever the number of its rows."""

    def known(self, unit):
        if unit.operator == "MatMul":
            return 0.15 + 0.01 * self._builder.type(unit.args[1]).elements
        return 0.02 * super().known(unit)


def test_what_loses_everywhere_but_opens_the_way_goes_before_what_leads_nowhere():
    """Products of joined rows, taken apart, lose a little; then those with rows of the same weights can be stacked."""
    op = load_specs().builder()
    texts = (
        RULES[0],
        "MatMul(Concat(x, z; axis=-1), Concat(y, w; axis=-2)) = Add(MatMul(x, y), MatMul(z, w)) "
        "where x[*b, m, k], z[*b, m, p], y[*b, k, n], w[*b, p, n]",
        "Mul(x, Add(y, z)) = Add(Mul(x, y), Mul(x, z)) where x[*b], y[*b], z[*b]",
    )
    weights = op.Concat(tensor(Const, "u", 16, 16), tensor(Const, "v", 16, 16), axis=-2)
    state, outputs = tensor(Var, "h", 1, 16), []
    for step in range(6):
        joined = op.Concat(tensor(Var, f"x{step}", 1, 16), state, axis=-1)
        state = op.Relu(op.MatMul(joined, weights))
        leading_nowhere = (tensor(Var, f"{name}{step}", 1, 2) for name in "abc")
        first, second, third = leading_nowhere
        outputs += [state, op.Mul(first, op.Add(second, third))]
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(text, op) for text in texts)))
    cost = WaitingCost(op)
    finder = BacktrackingSearch(op, rewriter, cost, lambda term: True, 1.05, SearchLimits(expansions=6))
    best = finder.run(tuple(outputs)).plans[0]
    assert best.cost < 0.7 * cost.cost(tuple(outputs))
    assert_same_values(op, tuple(outputs), best.outputs)


def test_the_last_plan_is_the_original():
    outputs = towers(3, 1)
    _, result = search(outputs)
    assert result.plans[-1].outputs == outputs
    assert result.plans[-1].steps == ()
    costs = [plan.cost for plan in result.plans]
    assert costs == sorted(costs)


def test_a_matrix_chain_is_put_in_the_cheap_order():
    op = load_specs().builder()
    x, y, z = tensor(Var, "x", 32, 32), tensor(Var, "y", 32, 32), tensor(Var, "z", 32, 1)
    outputs = (op.MatMul(op.MatMul(x, y), z),)
    op, result = search(outputs)
    assert result.plans[0].outputs == (op.MatMul(x, op.MatMul(y, z)),)


def test_a_weight_is_folded_into_another_through_a_worse_graph():
    """x W + (x A) B: folding A B alone costs more than the two thin products; merging with W then pays."""
    op = load_specs().builder()
    x = tensor(Var, "x", 4, 32)
    w, a, b = tensor(Const, "w", 32, 32), tensor(Const, "a", 32, 4), tensor(Const, "b", 4, 32)
    outputs = (op.Add(op.MatMul(x, w), op.MatMul(op.MatMul(x, a), b)),)
    op, result = search(outputs, alpha=1.0)
    assert result.plans[0].outputs == (op.MatMul(x, op.Add(w, op.MatMul(a, b))),)
    assert_same_values(op, outputs, result.plans[0].outputs)


def test_a_worse_graph_within_alpha_is_passed_through():
    """(X Y) v + (X Y) u: sharing makes each reordering alone a loss, both together gain."""
    op = load_specs().builder()
    x, y = tensor(Var, "x", 20, 20), tensor(Var, "y", 20, 20)
    shared = op.MatMul(x, y)
    outputs = tuple(op.MatMul(shared, tensor(Var, name, 20, 1)) for name in "uv")
    op, greedy = search(outputs, alpha=1.0)
    op, result = search(outputs, alpha=1.5)
    assert greedy.plans[0].outputs == outputs
    assert all(shared not in postorder([output]) for output in result.plans[0].outputs)
    assert_same_values(op, outputs, result.plans[0].outputs)


def test_two_runs_give_the_same_plan():
    outputs = towers(4, 2)
    first, second = search(outputs)[1], search(outputs)[1]
    assert first.plans[0].outputs == second.plans[0].outputs
    assert [len(step.replacements) for step in first.plans[0].steps] == [
        len(step.replacements) for step in second.plans[0].steps
    ]


def test_a_search_that_runs_out_of_time_within_its_last_step_says_so(monkeypatch):
    class Watch(Clock):
        seconds = 0.0

    op, watch = load_specs().builder(), Watch()
    rules = RuleSet(tuple(parse_rule(text, op) for text in RULES))
    monkeypatch.setattr(BacktrackingSearch, "_widen", lambda *asked: setattr(watch, "seconds", 41.0))
    space = op, Rewriter(op, rules), FakeCost(op), lambda term: True, 1.05
    assert BacktrackingSearch(*space, SearchLimits(budget=40.0), watch).run(towers(2, 1)).stopped_by == "budget"


@pytest.mark.parametrize(("limits", "reason"), [({"expansions": 1}, "expansions"), ({"budget": 0.0}, "budget")])
def test_limits_stop_the_search_and_are_named(limits, reason):
    outputs = towers(4, 3)
    _, result = search(outputs, **limits)
    assert result.stopped_by == reason
    assert result.plans[-1].outputs == outputs


def test_the_history_begins_at_the_original_and_falls_to_the_best():
    outputs = towers(5, 3)
    op, result = search(outputs)
    costs = [point.cost for point in result.history]
    assert costs[0] == FakeCost(op).cost(outputs) > costs[-1] == result.plans[0].cost
    assert costs == sorted(costs, reverse=True)
    last = result.history[-1]
    assert (last.explored, last.expanded) == (result.explored, result.expanded)


def interrupted_after(expansions, outputs):
    def progress(best, expanded):
        if expanded == expansions:
            raise KeyboardInterrupt

    op = load_specs().builder()
    rules = RuleSet(tuple(parse_rule(text, op) for text in RULES))
    finder = BacktrackingSearch(op, Rewriter(op, rules), FakeCost(op), lambda term: True, 1.05, SearchLimits())
    return finder.run(outputs, progress)


def test_an_interrupt_gives_the_best_plan_found_so_far():
    outputs = towers(5, 3)
    result = interrupted_after(3, outputs)
    assert result.stopped_by == "interrupt"
    assert result.plans[0].cost < result.plans[-1].cost
    assert_same_values(load_specs().builder(), outputs, result.plans[0].outputs)


def test_an_interrupt_before_anything_is_found_is_raised():
    with pytest.raises(KeyboardInterrupt):
        interrupted_after(1, towers(5, 3))


JOINED = "Split(MatMul(x, Concat(y, z; axis=-1)); axis=-1, sizes=(n, p))"
COLUMNS = (
    f"(MatMul(x, y), MatMul(x, z)) = ({JOINED}[0], {JOINED}[1]) where x[*b, m, k], y[k, n], z[k, p]",
    "(Relu(Split(x; axis=-1, sizes=(n, p))[0]), Relu(Split(x; axis=-1, sizes=(n, p))[1])) = "
    "(Split(Relu(x); axis=-1, sizes=(n, p))[0], Split(Relu(x); axis=-1, sizes=(n, p))[1]) where x[*b, m, n+p]",
)


class DearJoins(FakeCost):
    """Products of joined weights look a little dearer than those with a part each; activations cost by their number."""

    def known(self, unit):
        width = self._builder.types(unit)[0].shape[-1]
        return {"MatMul": 10.0 * width / 4 + (3.5 if width > 4 else 0), "Relu": 3.0}.get(unit.operator, 0.0)


def test_a_narrow_loss_everywhere_is_passed_over_for_what_gains_behind_it(monkeypatch):
    op = load_specs().builder()
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(text, op) for text in COLUMNS)))
    weights = [tensor(Const, f"w{number}", 4, 4) for number in range(3)]
    outputs = tuple(op.Relu(op.MatMul(tensor(Var, name, 1, 4), weight)) for name in "xy" for weight in weights)
    space = op, rewriter, DearJoins(op), lambda term: True, 1.01, SearchLimits()
    best = BacktrackingSearch(*space).run(outputs).plans[0]
    assert best.cost == 2 * (30 + 3.5 + 3) < 2 * 3 * (10 + 3)
    assert_same_values(op, outputs, best.outputs)
    monkeypatch.setattr("taso_opt.search.backtracking.NARROW", 0.08)
    assert BacktrackingSearch(*space).run(outputs).plans[0].outputs == outputs


def test_what_costs_a_little_has_its_turn_before_all_spellings_that_change_nothing():
    """Forty differences can each be taken in two orders at one cost; a gain waits behind one step that loses."""
    op = load_specs().builder()
    texts = (
        "Sub(Sub(x, y), z) = Sub(Sub(x, z), y) where x[*b], y[*b], z[*b]",
        "Relu(Neg(x)) = Neg(Neg(Neg(Min(0, x)))) where x[*b]",
        "Neg(Neg(Neg(Neg(x)))) = x where x[*b]",
    )
    rewriter = Rewriter(op, RuleSet(tuple(parse_rule(text, op) for text in texts)))
    orders = [[tensor(Var, f"{name}{place}", 1) for name in "abc"] for place in range(40)]
    outputs = (op.Neg(op.Relu(op.Neg(tensor(Var, "x", 8)))), *(op.Sub(op.Sub(a, b), c) for a, b, c in orders))
    finder = BacktrackingSearch(op, rewriter, FakeCost(op), lambda term: True, 1.05, SearchLimits(patience=30))
    best = finder.run(outputs).plans[0]
    assert best.cost < FakeCost(op).cost(outputs)
    assert_same_values(op, outputs, best.outputs)
