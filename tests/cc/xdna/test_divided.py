"""Layers beside the array that are divided over the processor's cores."""

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.cpu.machine import executes, machine
from match_aie.targets.xdna.target import ARCH, XDNA
from tests.networks.graph import Graph
from tests.networks.quantised import unsigned

pytestmark = [
    pytest.mark.skipif(not executes(machine(ARCH)), reason=f"this machine is no {ARCH}"),
]


def test_a_project_with_threads_is_built_and_right(tmp_path):
    graph = Graph(1)
    weight, bias = graph.normal(16, 8, 1, 1, deviation=0.3), graph.normal(16, deviation=0.1)
    y = graph.add("Conv", "x", weight, bias, kernel_shape=[1, 1])
    model = unsigned(graph.model("one", {"x": (1, 8, 20, 20)}, {y: (1, 16, 20, 20)}))
    net = match.compile(model, XDNA("npu1", cores=2), name="one")
    assert "one_layer1_part" in net.sources()["src/one.c"].decode()
    x = np.random.default_rng(0).standard_normal((1, 8, 20, 20)).astype(np.float32)
    assert net.write(tmp_path / "one").run({"x": x}, quick=True).matches_reference
