"""Prints a digest of every file that a search leads to, with made-up costs; run in processes of their own by a test.

Usage: PYTHONPATH=scripts python plan_digests.py NETWORK EXPANSIONS
"""

import hashlib
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from fake_cost import FakeCost
from networks import NETWORKS
from taso_opt.api.session import usable_rules
from taso_opt.core.graph import Graph
from taso_opt.core.rule import FpClass
from taso_opt.onnx_io import read_model, save_atomically, spellable, write_model
from taso_opt.rewrite.steps import Rewriter
from taso_opt.search.backtracking import BacktrackingSearch
from taso_opt.search.plan import SearchLimits
from taso_opt.spec import load_specs


class CostWithLaunches(FakeCost):
    """Every kernel costs something besides, so that merging small ones is a gain."""

    def known(self, unit):
        return 1000 + super().known(unit)


def main(network, expansions):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(NETWORKS[network](), path)
        model = read_model(path, load_specs(), {})
        bound = load_specs().builder(model.bindings)
        rewriter = Rewriter.of_model(model, usable_rules(None, FpClass.E3))
        limits = SearchLimits(budget=600.0, expansions=expansions)
        finder = BacktrackingSearch(model.builder, rewriter, CostWithLaunches(bound), spellable(model), 1.05, limits)
        found = finder.run(model.graph.outputs)
        print(found.explored, found.expanded, found.stopped_by)
        for number, plan in enumerate(found):
            place = Path(folder) / f"plan{number}.onnx"
            save_atomically(write_model(model, Graph(model.graph.inputs, plan.outputs)), place, original=path)
            rules = [step.rule.rule.name for step in plan.steps]
            print(plan.cost, len(rules), rules[:3], hashlib.sha256(place.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
