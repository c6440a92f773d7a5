"""The exact text of a graph without memory tiles, and of the function of a tile of it."""

import numpy as np
import pytest

from match_aie.codegen import render_template
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.join import Member
from match_aie.targets.aie_ml.graph.stack import join_stack
from match_aie.targets.aie_ml.graph.stack_plan import stack_plan
from match_aie.targets.aie_ml.graph.tiling import tiling
from match_aie.targets.aie_ml.kernels.spec import C_TYPES
from match_aie.targets.aie_ml.known import device
from tests.aie_timed import layer


@pytest.fixture(scope="module")
def graph():
    """Two layers, a tile each."""
    rng = np.random.default_rng(7)
    made = [layer(rng, 5, k, n) for k, n in ((120, 100), (100, 110))]
    plan = stack_plan([dense_layer(workload) for workload, _ in made], "vck190", "throughput")
    members = [
        Member(each.graph(f"l{at}", *one), ("x",), each.timed)
        for at, (one, each) in enumerate(zip(made, plan.plans, strict=True))
    ]
    return join_stack("net", members, device("vck190")).graph


def test_graph(golden, graph):
    values = {
        "g": graph,
        "layers": ["net"],
        "column": 3,
        "stack": 1024,
        "c_type": C_TYPES.__getitem__,
        "tiling": tiling,
    }
    golden("aie_straight_graph.h", render_template("aie/graph.h.mako", **values))


def test_function(golden, graph):
    call = graph.kernels[0].call
    golden("aie_straight_tile.cpp", render_template(call.template, call=call))
