"""What a search has found is the same when it is recalled, and is not recalled where anything is missing."""

import zlib
from dataclasses import replace

import pytest

from fake_cost import FakeCost
from networks import NETWORKS
from taso_opt.core.rule import RuleSet
from taso_opt.cost import CostTable
from taso_opt.onnx_io import read_model, spellable
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.plan import SearchLimits
from taso_opt.search.remembered import RememberedSearch
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules


@pytest.fixture(scope="module")
def rules(op):
    return CompiledRules(RuleSet(tuple(read_rules(None, op))), op)


@pytest.fixture(scope="module")
def found(tmp_path_factory, rules):
    """What a search finds that takes several rules, some on many terms at once, made of others, or right to left."""
    path = tmp_path_factory.mktemp("searched") / "model.onnx"
    path.write_bytes(NETWORKS["towers"](count=4, width=64, layers=2).SerializeToString())
    model = read_model(path, load_specs(), {})
    cost = FakeCost(load_specs().builder(model.bindings))
    space = model.builder, Rewriter.of_model(model, rules), cost, spellable(model), 1.05
    result = BacktrackingSearch(*space, SearchLimits(budget=600.0, expansions=6)).run(model.graph.outputs)
    assert len(result.plans) > 1 and result.plans[0].steps
    return replace(result, doubted=(result.plans[0].outputs,), runner_up=None)


@pytest.fixture
def table(tmp_path):
    with CostTable(tmp_path / "costs.sqlite") as table:
        yield table


def outputs(found):
    return found.plans[-1].outputs


def test_a_search_is_recalled_as_it_was(table, found, rules):
    memory = RememberedSearch(table, "cpu", "question")
    assert memory.recall(outputs(found), rules) is None
    memory.remember(found)
    recalled = memory.recall(outputs(found), rules)
    assert recalled.recalled_from.startswith("20")
    for plan, again in zip(found, recalled, strict=True):
        assert again.outputs == plan.outputs and again.cost == plan.cost
        assert [step.replacements for step in again.steps] == [step.replacements for step in plan.steps]
        assert [(step.rule.rule.name, step.rule.rule) for step in again.steps] == [
            (step.rule.rule.name, step.rule.rule) for step in plan.steps
        ]
    assert replace(recalled, plans=found.plans, recalled_from="") == found


def test_another_question_and_another_device_have_other_answers(table, found, rules):
    RememberedSearch(table, "cpu", "question").remember(found)
    assert RememberedSearch(table, "cpu", "another").recall(outputs(found), rules) is None
    assert RememberedSearch(table, "cuda", "question").recall(outputs(found), rules) is None
    assert RememberedSearch(table, "cpu", "question").recall(found.plans[0].outputs, rules) is None
    table.clear()
    assert RememberedSearch(table, "cpu", "question").recall(outputs(found), rules) is None


def test_a_search_whose_rules_are_gone_is_made_again(table, found, op, caplog):
    memory = RememberedSearch(table, "cpu", "question")
    memory.remember(found)
    assert memory.recall(outputs(found), CompiledRules(RuleSet(()), op)) is None
    assert "searched for again" in caplog.text


@pytest.mark.parametrize("kept", [b"", b"no JSON", zlib.compress(b"[]"), zlib.compress(b'{"terms": [["var"]]}')])
def test_what_cannot_be_read_is_searched_for_again(table, found, rules, kept, caplog):
    table.remember_search("cpu", "question", kept)
    assert RememberedSearch(table, "cpu", "question").recall(outputs(found), rules) is None
    assert "searched for again" in caplog.text
