"""A quantised block of a transformer: its norms are layers from bytes to bytes, in place or not."""

import numpy as np
import pytest
from layer_harness import COMPILERS
from test_vectors import ARCH, has_vectors

import match_aie as match
from match_aie.targets.cpu import CPU
from tests.networks.blocks import Block, block_network

pytestmark = [
    pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang"),
    pytest.mark.skipif(not has_vectors(), reason="this machine has no AVX2"),
]


@pytest.mark.parametrize(
    "block",
    [
        Block(37, 96, 192, norm="before"),
        Block(20, 65, 130, norm="after", odd=True, point=-5, heads=5),
    ],
    ids=["before", "after"],
)
def test_a_block_is_what_onnxruntime_computes(block, tmp_path):
    """Within a step: onnxruntime, unoptimised, adds rows in another order."""
    runtime = pytest.importorskip("onnxruntime")
    model = block_network(block)
    net = match.compile(model, target=CPU(ARCH))
    norms = [x.workload for x in net.program.schedule.layers if x.workload.kind == "layer_norm"]
    assert norms
    assert all(norm.output.dtype == "int8" for norm in norms)
    project = net.write(tmp_path / "block")
    project.build()
    x = np.random.default_rng(0).integers(-128, 128, (block.rows, block.width)).astype(np.int8)
    y = next(iter(project.run({"x": x}).outputs.values()))
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    (wanted,) = runtime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})
    apart = np.abs(y.astype(int) - wanted.astype(int))
    assert apart.max() <= 1
    assert np.mean(apart > 0) < 0.01
