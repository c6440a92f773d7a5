"""Pipelines with norms, tables and sums: the emitted project, built and run here."""

import numpy as np

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.networks.blocks import Block, block_network


def test_a_block_as_one_pipeline_equals_its_reference(tmp_path):
    """Any scale, zero points everywhere."""
    block = Block(24, 64, 96, "before", odd=True, point=-5)
    target = VersalAIEML(
        memory="plio", optimize_for="throughput", modules=("array",), columns_per_layer=2
    )
    net = match.compile(block_network(block), target, cache=False)
    assert {layer.module for layer in net.program.schedule.layers} == {"array"}
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(0, 32, (block.rows, block.width)), -128, 127).astype(np.int8)
    result = net.write(tmp_path).run(x)
    assert result.matches_reference
    assert result.layers_checked == 5
