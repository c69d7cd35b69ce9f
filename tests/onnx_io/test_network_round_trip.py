"""Every benchmark network survives reading and writing: untouched byte for byte, re-spelled with the same outputs."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from networks import NETWORKS
from taso_opt.core.term import Apply
from taso_opt.onnx_io import check_fidelity, write_model
from taso_opt.spec import OPAQUE

SMALL = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "test_networks.py"))["SMALL"]


IN_A_BODY = ("lstm_scan",)
"""Networks of which the graph is one node with a body."""


@pytest.fixture(params=list(NETWORKS))
def network(request, read):
    return read(NETWORKS[request.param](**SMALL[request.param]))


def test_a_network_that_was_not_rewritten_is_written_byte_for_byte(network):
    assert write_model(network, network.graph).SerializeToString() == network.path.read_bytes()


@pytest.mark.parametrize("network", [name for name in NETWORKS if name not in IN_A_BODY], indirect=True)
def test_a_network_whose_known_nodes_are_all_spelled_anew_gives_the_same_outputs(network, run, feed_of, respelled):
    known = sum(isinstance(term, Apply) and term.operator != OPAQUE for term in network.graph.terms())
    assert known > len(network.proto.graph.node) // 3
    result = respelled(network)
    check_fidelity(network.proto, result)
    assert {node.output[0] for node in result.graph.node} & {f"tasoopt_{number}" for number in range(100)}
    feed = feed_of(network)
    before, after = run(network.proto, feed), run(result, feed)
    for name, value in before.items():
        np.testing.assert_allclose(after[name], value, rtol=1e-3, atol=1e-5 * np.abs(value).max())
